#include "workers.hpp"

#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/ranges.hpp"
#include "plugin/plugin.hpp"
#include "worker/worker.hpp"

namespace attnscale::cli {
namespace {

std::vector<std::string> texts_of(const Settings& settings, const char* key) {
  const auto at = settings.find(key);
  return at == settings.end() ? std::vector<std::string>{} : at->second;
}

double timeout_of(const Settings& settings) {
  constexpr const char* kKey = "worker-timeout";
  const std::vector<std::string> typed = texts_of(settings, kKey);
  const double seconds = parse_seconds(typed.empty() ? std::string(find_key(kKey)->fallback) : typed.back(), kKey);
  if (seconds > 0) return seconds;
  throw InputError(fmt::format("{} is 0: give a time above 0, as in {}", kKey, find_key(kKey)->fallback));
}

using Names = std::vector<std::string>;

// Adds a worker, or a plugin among the peers, at its first call; several runs of a study name the same ones. None when
// a peer cannot be had.
const Names& names_of(const std::string& command, double timeout_s, bool optional) {
  static std::map<std::string, Names> loaded;
  const auto [at, is_new] = loaded.try_emplace(command);
  if (!is_new) return at->second;
  try {
    at->second = optional && command.ends_with(".so") ? load_plugin(command).methods : add_worker(command, timeout_s);
  } catch (const InputError& reason) {
    if (!optional) throw;
    fmt::print(stderr, "attnscale: a peer is left out: {}\n", reason.what());
  }
  return at->second;
}

void replace_word(Settings& settings, const Names& names) {
  const auto methods = settings.find("methods");
  if (methods == settings.end() || !(settings.contains("worker") || settings.contains("peer"))) return;
  Names words;
  for (const std::string& text : methods->second) {
    for (const std::string& word : split(text, ' ')) {
      if (word == "peers") {
        words.insert(words.end(), names.begin(), names.end());
      } else {
        words.push_back(word);
      }
    }
  }
  if (words.empty()) words = {"exact.streaming"};  // of peers alone, none of which is here
  methods->second = words;
}

}  // namespace

void load_workers(Settings& settings) {
  const double timeout_s = timeout_of(settings);
  Names names;
  for (const char* key : {"worker", "peer"}) {
    for (const std::string& command : texts_of(settings, key)) {
      const Names& offered = names_of(command, timeout_s, std::string_view(key) == "peer");
      names.insert(names.end(), offered.begin(), offered.end());
    }
  }
  replace_word(settings, names);
}

}  // namespace attnscale::cli
