#include "study/verify/rows.hpp"

#include <algorithm>
#include <array>
#include <set>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/numbers.hpp"

namespace attnscale {
namespace {

// Independent draws keyed by (seed, batch item, head, draw): the same rows for any order of methods or threads.
std::set<std::int64_t> draw_queries(const Problem& problem, BatchIndex batch, HeadIndex head) {
  std::set<std::int64_t> queries;
  const auto n = static_cast<std::uint64_t>(problem.shape.queries);
  for (std::int64_t draw = 0; static_cast<std::int64_t>(queries.size()) < kSampledRows; ++draw) {
    const std::array<std::int64_t, 3> key = {batch.value, problem.first_head + head.value, draw};
    const std::uint64_t word = XXH3_64bits_withSeed(key.data(), sizeof(key), problem.seed);
    queries.insert(static_cast<std::int64_t>(word % n));  // n is far below 2^64: the bias does not matter here
  }
  return queries;
}

// The value of a parameter as a length in keys; automatic ones follow the definition of methods.md, the least b with
// b^L >= n.
std::int64_t length_of(const Problem& problem, const MethodSpec& spec, std::string_view name) {
  const auto& specs = spec.method->params;
  const bool leveled = std::any_of(specs.begin(), specs.end(), [](const ParamSpec& p) { return p.name == "levels"; });
  const auto levels = leveled ? static_cast<int>(std::min<std::int64_t>(spec.params.integer("levels"), 32)) : 2;
  return spec.params.integer_or(name, ceil_root(problem.shape.keys, levels));
}

}  // namespace

std::vector<std::int64_t> forced_queries(const Problem& problem, const MethodSpec& spec) {
  const std::int64_t n = problem.shape.queries;
  const std::int64_t shift = problem.shape.keys - n;  // position p belongs to query p - shift
  std::vector<std::int64_t> wanted = {0, n - 1};
  const auto edge_at = [&](std::int64_t position) {
    wanted.push_back(position - 1 - shift);
    wanted.push_back(position - shift);
  };
  for (const ParamSpec& param : spec.method->params) {
    if (param.kind == ParamKind::first) {
      edge_at(spec.params.integer(param.name));
    } else if (param.name == "w") {
      edge_at(spec.params.integer(param.name) + 1);
      edge_at(problem.shape.keys - spec.params.integer(param.name));
    } else if (param.name == "block" || param.name == "bucket" || param.name == "l") {
      const std::int64_t block = length_of(problem, spec, param.name);
      const std::int64_t blocks = ceil_div(problem.shape.keys, block);
      for (const std::int64_t b : {std::int64_t{1}, blocks - 1, std::int64_t{2}, blocks / 2, blocks - 2, blocks / 4})
        edge_at(b * block);
    }
  }
  edge_at(64);  // tile edges of the kernels
  edge_at(n / 2);
  std::set<std::int64_t> forced;
  for (const std::int64_t query : wanted) {
    if (query >= 0 && query < n && forced.size() < kForcedRows) forced.insert(query);
  }
  return {forced.begin(), forced.end()};
}

std::vector<SampledRow> sample_rows(const Problem& problem, const MethodSpec& spec) {
  const Shape& s = problem.shape;
  const bool all = s.queries <= kAllRows;
  const std::vector<std::int64_t> forced = all ? std::vector<std::int64_t>{} : forced_queries(problem, spec);
  std::vector<SampledRow> rows;
  for (BatchIndex b{0}; b.value < s.batch; ++b.value) {
    for (HeadIndex h{0}; h.value < s.heads; ++h.value) {
      if (all) {
        for (std::int64_t i = 0; i < s.queries; ++i) rows.push_back({{b, h, i}, true});
        continue;
      }
      const std::set<std::int64_t> drawn = draw_queries(problem, b, h);
      std::set<std::int64_t> queries = drawn;
      queries.insert(forced.begin(), forced.end());
      for (const std::int64_t i : queries) rows.push_back({{b, h, i}, drawn.contains(i)});
    }
  }
  return rows;
}

}  // namespace attnscale
