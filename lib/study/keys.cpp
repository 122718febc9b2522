#include "study/keys.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "core/numbers.hpp"

namespace attnscale {
namespace {

constexpr std::array kKeys = {
    Key{"methods", KeyKind::words, "exact.streaming",
        "methods with parameters, as in window:w=64..512x2 topk:k=64, or all; peers: those of the workers"},
    Key{"n", KeyKind::sizes, "", "sequence length: a list, a range as in 512..16384@2, or own for a file's own"},
    Key{"queries", KeyKind::sizes, "", "number of queries, when it differs from the number of keys"},
    Key{"keys", KeyKind::sizes, "", "number of keys"},
    Key{"dim", KeyKind::sizes, "", "size of a query and a key (64, or the file's own)"},
    Key{"value-dim", KeyKind::sizes, "", "size of a value (dim, or the file's own)"},
    Key{"heads", KeyKind::sizes, "", "query heads (1, or the file's own)"},
    Key{"kv-heads", KeyKind::sizes, "", "key/value heads (heads, or the file's own)"},
    Key{"batch", KeyKind::sizes, "", "batch items (1, or the file's own)"},
    Key{"causal", KeyKind::flag, "false", "a query sees the keys up to its own position only"},
    Key{"input", KeyKind::words, "gaussian", "gaussian, clustered, local, needle, or npy:PREFIX"},
    Key{"temperature", KeyKind::reals, "1", "scores are divided by it"},
    Key{"seed", KeyKind::sizes, "0", "seed of everything random"},
    Key{"seeds", KeyKind::number, "1", "how many seeds, counted up from seed"},
    Key{"threads", KeyKind::sizes, "1", "threads that run a method"},
    Key{"first-head", KeyKind::number, "0", "index of the first head in a larger problem"},
    Key{"simd", KeyKind::word, "", "SIMD target (avx512, avx2, sse4, neon, scalar) instead of the best"},
    Key{"pin", KeyKind::flag, "false", "hold each thread on a core of its own"},
    Key{"cache", KeyKind::word, "warm", "warm, or cold: empty the caches before every sample, which is then one call"},
    Key{"precision", KeyKind::real, "0.01", "stop at this half width of the ratio's confidence interval"},
    Key{"max-time", KeyKind::seconds, "2s", "measuring time of one cell; never cuts below min-rounds"},
    Key{"min-rounds", KeyKind::number, "7", "rounds at least"},
    Key{"rounds", KeyKind::number, "", "exactly this many rounds"},
    Key{"cell-budget", KeyKind::seconds, "60s", "a call predicted to last longer becomes a row over_budget"},
    Key{"plugin", KeyKind::words, "", "shared libraries that add methods, as in ./libx.so"},
    Key{"worker", KeyKind::words, "", "command of a process that offers methods (docs/workers.md); repeatable"},
    Key{"peer", KeyKind::words, "", "the same, or a plugin (X.so); one that cannot be had is left out with its reason"},
    Key{"worker-timeout", KeyKind::seconds, "60s", "longest wait for a worker, beside what its work may take"},
};

void erase_all(Settings& settings, std::initializer_list<const char*> names) {
  for (const char* name : names) settings.erase(name);
}

}  // namespace

std::span<const Key> run_keys() {
  return kKeys;
}

const Key* find_key(std::string_view name) {
  const auto at = std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& key) { return key.name == name; });
  return at == kKeys.end() ? nullptr : &*at;
}

Settings overlay(const Settings& base, const Settings& over) {
  Settings merged = base;
  if (over.contains("n")) erase_all(merged, {"queries", "keys"});
  if (over.contains("queries") || over.contains("keys")) {
    if (merged.contains("n")) {
      // What the other side leaves open keeps the old length.
      merged["queries"] = merged["keys"] = merged["n"];
    }
    merged.erase("n");
  }
  if (over.contains("min-rounds")) merged.erase("rounds");
  if (over.contains("rounds")) merged.erase("min-rounds");
  for (const auto& [key, values] : over) merged[key] = values;
  return merged;
}

Settings settings_of_environment() {
  Settings settings;
  for (const Key& key : kKeys) {
    std::string variable = "ATTNSCALE_";
    for (const char c : key.name)
      variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (const char* value = std::getenv(variable.c_str()); value != nullptr) settings[std::string(key.name)] = {value};
  }
  return settings;
}

double parse_seconds(const std::string& text, const std::string& what) {
  constexpr double kLongest = 1e7;
  if (text.size() > 2 && text.ends_with("ms"))
    return parse_real(text.substr(0, text.size() - 2), what, 0, kLongest) / 1e3;
  if (text.size() > 1 && text.ends_with("s")) return parse_real(text.substr(0, text.size() - 1), what, 0, kLongest);
  return parse_real(text, what, 0, kLongest);
}

}  // namespace attnscale
