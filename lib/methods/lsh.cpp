// LSH attention: a query sees the keys that fall into its bucket in any of `rounds` random hashes, and each such key
// counts once. B = 2 max(1, round(n_k / (2 bucket))) buckets hold about `bucket` keys each; one bucket when bucket >=
// n_k, and then one round is enough. With `rounds` and `bucket` fixed, O(n) pairs; hashing takes O(sqrt n) columns per
// vector once there are more than 128 buckets (lsh_hash.hpp). qk=separate: lsh_separate.cpp; qk=shared (Reformer):
// lsh_shared.cpp.
//
// Plan::choices: hash codes, [batch][heads][rounds][queries], then for qk=separate [batch][kv_heads][rounds][keys]. A
// code is the number of the bucket: number of the first hash * count of the second + number of the second; rounds is 1
// with one bucket.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "core/numbers.hpp"
#include "methods/catalog.hpp"
#include "methods/lsh_hash.hpp"
#include "methods/reference.hpp"
#include "methods/shared_keys.hpp"

namespace attnscale::methods {
namespace {

constexpr std::array kParams = {
    ParamSpec{.name = "rounds",
              .kind = ParamKind::integer,
              .fallback = "4",
              .lowest = 1,
              .highest = 1024,
              .doc = "independent hashes"},
    ParamSpec{.name = "bucket",
              .kind = ParamKind::integer,
              .fallback = "64",
              .lowest = 1,
              .highest = kLongestSequence,
              .doc = "keys per bucket (separate) or chunk (shared)"},
    ParamSpec{.name = "qk",
              .kind = ParamKind::choice,
              .fallback = "separate",
              .choices = "separate|shared",
              .doc = "keys as given, or the normalised queries (Reformer)"},
};

bool is_shared(const Params& params) {
  return params.choice("qk") == "shared";
}

std::optional<std::string> unsupported(const Problem& problem, const Params& params) {
  return is_shared(params) ? needs_equal_lengths(problem) : std::nullopt;
}

Plan make_plan(const Problem& problem, const Params& params) {
  const lsh_parts::Setup setup = lsh_parts::make_setup(problem, params);
  return setup.shared ? lsh_parts::shared_plan(setup) : lsh_parts::separate_plan(setup);
}

// Codes of one head in one round.
using Codes = std::span<const std::int32_t>;

Codes codes_of(Codes choices, std::int64_t at, std::int64_t length) {
  return choices.subspan(static_cast<std::size_t>(at * length), static_cast<std::size_t>(length));
}

KeyGroups visible_separate(const Problem& problem, std::int64_t rounds, Codes choices) {
  const Codes keys = choices.subspan(static_cast<std::size_t>(rounds * problem.shape.rows()));
  return [=](RowRef row, std::span<std::int32_t> groups) {
    const Shape& s = problem.shape;
    std::fill(groups.begin(), groups.end(), -1);
    for (std::int64_t r = 0; r < rounds; ++r) {
      const std::int64_t q = (row.batch.value * s.heads + row.head.value) * rounds + r;
      const std::int64_t k = (row.batch.value * s.kv_heads + s.kv_head(row.head).value) * rounds + r;
      const std::int32_t own = codes_of(choices, q, s.queries)[static_cast<std::size_t>(row.query)];
      const Codes code = codes_of(keys, k, s.keys);
      for (std::size_t j = 0; j < static_cast<std::size_t>(problem.allowed(row.query)); ++j) {
        if (code[j] == own) groups[j] = static_cast<std::int32_t>(j);
      }
    }
  };
}

// Place of each token in the order by (bucket, position), for every head and round.
std::vector<std::int32_t> places_of(Codes choices, std::int64_t length) {
  std::vector<std::int32_t> places(choices.size());
  std::vector<std::int32_t> order(static_cast<std::size_t>(length));
  for (std::size_t begin = 0; begin < choices.size(); begin += order.size()) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return choices[begin + static_cast<std::size_t>(a)] < choices[begin + static_cast<std::size_t>(b)];
    });
    for (std::size_t t = 0; t < order.size(); ++t)
      places[begin + static_cast<std::size_t>(order[t])] = static_cast<std::int32_t>(t);
  }
  return places;
}

KeyGroups visible_shared(const Problem& problem, std::int64_t rounds, std::int64_t chunk, Codes choices) {
  const std::int64_t n = problem.shape.queries;
  const auto places = std::make_shared<const std::vector<std::int32_t>>(places_of(choices, n));
  const std::int64_t chunks = (n + chunk - 1) / chunk;
  return [=](RowRef row, std::span<std::int32_t> groups) {
    const Shape& s = problem.shape;
    std::fill(groups.begin(), groups.end(), -1);
    bool others = false;
    for (std::int64_t r = 0; r < rounds; ++r) {
      const Codes place = codes_of(*places, (row.batch.value * s.heads + row.head.value) * rounds + r, n);
      const std::int64_t own = place[static_cast<std::size_t>(row.query)] / chunk;
      const std::int64_t before = (own + chunks - 1) % chunks;
      for (std::int64_t j = 0; j < problem.allowed(row.query); ++j) {
        const std::int64_t other = place[static_cast<std::size_t>(j)] / chunk;
        if (j == row.query || (other != own && other != before)) continue;
        groups[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(j);
        others = true;
      }
    }
    if (!others) groups[static_cast<std::size_t>(row.query)] = static_cast<std::int32_t>(row.query);
  };
}

KeyGroups visible(const Problem& problem, const Params& params, Codes choices) {
  const std::int64_t rounds = params.integer("bucket") >= problem.shape.keys ? 1 : params.integer("rounds");
  if (is_shared(params)) return visible_shared(problem, rounds, params.integer("bucket"), choices);
  return visible_separate(problem, rounds, choices);
}

}  // namespace

const Method lsh = {
    .name = "lsh",
    .summary = "the keys that share a random hash bucket with the query in any round",
    .paper = "Kitaev et al. 2020 (Reformer), arXiv:2001.04451",
    .complexity = "O(n sqrt n)",
    .contract = Contract::pruned,
    .params = kParams,
    .unsupported = unsupported,
    .plan = make_plan,
    .visible = visible,
    .judge = judge_lsh,
    .shared_qk = is_shared,
};

}  // namespace attnscale::methods
