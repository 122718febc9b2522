#include "study/study.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/numbers.hpp"
#include "core/ranges.hpp"
#include "core/suggest.hpp"
#include "inputs/inputs.hpp"
#include "kernels/strip.hpp"
#include "run/executor.hpp"

namespace attnscale {
namespace {

constexpr std::int64_t kMostHeads = 1 << 16;
constexpr std::int64_t kMostRounds = 1'000'000;
constexpr double kHuge = std::numeric_limits<double>::max();

// Reads one run's texts by key, with the default of the table for what was not given.
class Reader {
 public:
  explicit Reader(const Settings& settings) : settings_(settings) {}

  [[nodiscard]] bool has(std::string_view name) const { return settings_.contains(name); }

  // Several texts of a list are one list.
  [[nodiscard]] std::string text(std::string_view name, char separator) const {
    const auto at = settings_.find(name);
    if (at == settings_.end()) return std::string(find_key(name)->fallback);
    std::string joined;
    for (const std::string& part : at->second) joined += (joined.empty() ? "" : std::string(1, separator)) + part;
    return joined;
  }

  // A single value: the last one counts when a flag is repeated.
  [[nodiscard]] std::string single(std::string_view name) const {
    const auto at = settings_.find(name);
    return at == settings_.end() || at->second.empty() ? std::string(find_key(name)->fallback) : at->second.back();
  }

  [[nodiscard]] std::vector<std::string> words(std::string_view name) const {
    std::vector<std::string> words;
    for (const std::string& word : split(text(name, ' '), ' ')) {
      if (!word.empty()) words.push_back(word);
    }
    if (words.empty()) throw InputError(fmt::format("{} is empty: give at least one, as in {}", name, example(name)));
    return words;
  }

  // Texts as they are: a path may hold spaces.
  [[nodiscard]] std::vector<std::string> items(std::string_view name) const {
    const auto at = settings_.find(name);
    return at == settings_.end() ? std::vector<std::string>{single(name)} : at->second;
  }

  [[nodiscard]] std::vector<std::int64_t> sizes(std::string_view name, Bounds bounds) const {
    const std::string typed = text(name, ',');
    return typed.empty() && !has(name) ? std::vector<std::int64_t>{} : parse_range(typed, std::string(name), bounds);
  }

  [[nodiscard]] std::int64_t number(std::string_view name, Bounds bounds) const {
    return parse_integer(single(name), std::string(name), bounds.lowest, bounds.highest);
  }

  [[nodiscard]] bool flag(std::string_view name) const {
    const std::string typed = single(name);
    if (typed == "true" || typed == "1") return true;
    if (typed == "false" || typed == "0") return false;
    throw InputError(fmt::format("{} is {}: write true or false", name, quoted(typed)));
  }

 private:
  static std::string example(std::string_view name) { return fmt::format("--{} {}", name, find_key(name)->fallback); }
  const Settings& settings_;
};

std::vector<MethodSpec> read_methods(const Reader& reader) {
  std::vector<MethodSpec> methods;
  const auto add = [&](const std::string& typed) {
    for (MethodSpec& spec : parse_method(typed)) {
      const auto same = [&](const MethodSpec& other) { return other.str() == spec.str(); };
      if (std::none_of(methods.begin(), methods.end(), same)) methods.push_back(std::move(spec));
    }
  };
  for (const std::string& word : reader.words("methods")) {
    const bool all = word == "all";
    if (!all && word != "peers") {
      add(word);
      continue;
    }
    for (const Method* method : catalog()) {
      if (all || !method->origin.empty()) add(std::string(method->name));
    }
  }
  return methods;
}

std::vector<std::int64_t> read_lengths(const Reader& reader, std::string_view name) {
  if (reader.text(name, ',') == "own") return {0};
  return reader.sizes(name, {1, kLongestSequence});
}

std::vector<Lengths> lengths_of(const Reader& reader) {
  const bool apart = reader.has("queries") || reader.has("keys");
  if (apart && reader.has("n"))
    throw InputError("n is given together with queries or keys: give either n, or queries and keys");
  std::vector<Lengths> lengths;
  if (!apart) {
    for (const std::int64_t n : read_lengths(reader, "n")) lengths.push_back({n, n});
    if (lengths.empty()) lengths.push_back({});
    return lengths;
  }
  if (!reader.has("queries")) throw InputError("keys is given without queries: give both, or n");
  if (!reader.has("keys")) throw InputError("queries is given without keys: give both, or n");
  for (const std::int64_t queries : read_lengths(reader, "queries")) {
    for (const std::int64_t keys : read_lengths(reader, "keys")) lengths.push_back({queries, keys});
  }
  return lengths;
}

std::vector<std::uint64_t> read_seeds(const Reader& reader) {
  constexpr std::int64_t kMostSeeds = 4096;
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max() - kMostSeeds;
  const std::int64_t count = reader.number("seeds", {1, kMostSeeds});
  std::vector<std::uint64_t> seeds;
  for (const std::int64_t first : reader.sizes("seed", {0, kLargest})) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto seed = static_cast<std::uint64_t>(first + i);
      if (std::find(seeds.begin(), seeds.end(), seed) == seeds.end()) seeds.push_back(seed);
    }
  }
  return seeds;
}

std::vector<double> read_temperatures(const Reader& reader) {
  std::vector<double> values;
  for (const std::string& part : split(reader.text("temperature", ','), ',')) {
    values.push_back(parse_real(part, "temperature", 0, kHuge));
    if (values.back() == 0) throw InputError("temperature is 0: give a number above 0");
  }
  return values;
}

RunOptions read_options(const Reader& reader) {
  RunOptions options;
  options.precision = parse_real(reader.single("precision"), "precision", 0, 1);
  options.max_time_s = parse_seconds(reader.single("max-time"), "max-time");
  options.min_rounds = static_cast<int>(reader.number("min-rounds", {1, kMostRounds}));
  options.cell_budget_s = parse_seconds(reader.single("cell-budget"), "cell-budget");
  if (reader.has("rounds")) {
    if (reader.has("min-rounds"))
      throw InputError("rounds and min-rounds are both given: rounds alone fixes their number");
    options.min_rounds = static_cast<int>(reader.number("rounds", {1, kMostRounds}));
    options.max_time_s = 0;
  }
  options.pin = reader.flag("pin");
  const std::string cache = reader.single("cache");
  options.cold = cache == "cold";
  if (!options.cold && cache != "warm")
    throw InputError(unknown_name("value of cache:", cache, std::vector<std::string>{"cold", "warm"}));
  options.simd = reader.single("simd");
  const std::vector<std::string> targets = kernels::available_targets();
  if (!options.simd.empty() && std::find(targets.begin(), targets.end(), options.simd) == targets.end()) {
    throw InputError(unknown_name("SIMD target (of this machine)", options.simd, targets));
  }
  return options;
}

}  // namespace

Run parse_run(const Settings& settings) {
  const Reader reader(settings);
  Run run;
  run.methods = read_methods(reader);
  run.lengths = lengths_of(reader);
  run.dims = reader.sizes("dim", {1, kMostHeads});
  run.value_dims = reader.sizes("value-dim", {1, kMostHeads});
  run.heads = reader.sizes("heads", {1, kMostHeads});
  run.kv_heads = reader.sizes("kv-heads", {1, kMostHeads});
  run.batches = reader.sizes("batch", {1, kMostHeads});
  run.causal = reader.flag("causal");
  run.inputs = reader.items("input");
  for (const std::string& input : run.inputs) check_input(input);
  run.temperatures = read_temperatures(reader);
  run.seeds = read_seeds(reader);
  for (const std::int64_t threads : reader.sizes("threads", {1, Executor::kMostThreads}))
    run.threads.push_back(static_cast<int>(threads));
  run.first_head = reader.number("first-head", {0, kMostHeads});
  run.options = read_options(reader);
  return run;
}

}  // namespace attnscale
