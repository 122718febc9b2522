// Longformer: a sliding window plus g leading global positions: queries with p < g see all keys, keys j < g are seen by
// all queries, and the union is a set, so a global key inside the window counts once. Cost: the first g rows see n keys
// each; each other row sees g columns and the part of its window at or behind g: without mask, at dilation 1, 2gn - g^2
// + (n - g)(2w + 1) - w (w + 1) when w <= n - g. I. Beltagy et al., "Longformer: the long-document transformer", 2020.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/numbers.hpp"
#include "methods/catalog.hpp"
#include "methods/patterns.hpp"
#include "methods/strips.hpp"

namespace attnscale::methods {
namespace {

constexpr std::array kParams = {
    ParamSpec{"w", ParamKind::integer, "256", 0, kLongestSequence, "", "keys on each side of a query"},
    ParamSpec{"globals", ParamKind::first, "first:1", 0, kLongestSequence, "",
              "leading positions that see and are seen by all"},
    ParamSpec{"dilation", ParamKind::integer, "1", 1, kLongestSequence, "", "distance between keys of the window"},
};

struct Pattern {
  std::int64_t w;
  std::int64_t globals;
  std::int64_t dilation;
};

Pattern read(const Problem& problem, const Params& params) {
  return {params.integer("w"), std::min(params.integer("globals"), problem.shape.keys), params.integer("dilation")};
}

std::optional<std::string> unsupported(const Problem& problem, const Params&) {
  return needs_positions(problem);
}

std::int64_t pairs_per_head(const Problem& problem, const Pattern& pattern) {
  const auto [w, g, dilation] = pattern;
  const std::int64_t n = problem.shape.keys;
  const std::int64_t first = first_seeing_position(problem);
  const std::int64_t local_first = std::max(first, g);
  const std::int64_t local_rows = n - local_first;
  const std::int64_t left = steps_before(n - g, w, dilation) - steps_before(local_first - g, w, dilation);
  const std::int64_t local = local_rows * (g + 1) + left;
  const std::int64_t global_rows = std::max<std::int64_t>(0, g - first);
  if (!problem.causal()) return global_rows * n + local + steps_before(local_rows, w, dilation);
  return global_rows * (first + 1 + g) / 2 + local;  // p + 1 keys each, for first <= p < g
}

Plan plan(const Problem& problem, const Params& params) {
  const Pattern pattern = read(problem, params);
  Cost cost = static_cost(problem, pairs_per_head(problem, pattern) * head_count(problem));
  cost.window_keys = 2 * pattern.w + 1;
  const auto list = [pattern, n = problem.shape.keys](const TaskContext&, const RowRun& strip, SpanList& spans) {
    const auto [w, g, dilation] = pattern;
    if (strip.first_position < g) {  // the cut below keeps global rows in strips of their own
      spans.add_keys(0, 1, [n](std::int64_t) { return Interval{0, n}; });
      return;
    }
    spans.add_keys(0, 1, [g = g](std::int64_t) { return Interval{0, g}; });
    const std::int64_t residue = strip.first_position % dilation;
    const std::int64_t behind_globals = g > residue ? ceil_div(g - residue, dilation) : 0;
    spans.add_keys(residue, dilation, [=, w = w, dilation = dilation](std::int64_t p) {
      const std::int64_t middle = p / dilation;
      return Interval{std::max(middle - w, behind_globals), middle + w + 1};
    });
  };
  const std::int64_t global_queries = pattern.globals - problem.position(0);
  return strip_plan(problem, cost, {.stride = pattern.dilation, .leading = global_queries}, {2, 2}, list);
}

KeyGroups visible(const Problem& problem, const Params& params, std::span<const std::int32_t>) {
  const auto [w, g, dilation] = read(problem, params);
  return visible_where(problem, [w = w, g = g, dilation = dilation](std::int64_t p, std::int64_t j) {
    return p < g || j < g || ((p - j) % dilation == 0 && std::abs(p - j) / dilation <= w);
  });
}

}  // namespace

const Method longformer = {
    .name = "longformer",
    .summary = "a sliding window, and leading positions that see all and are seen by all",
    .paper = "Beltagy et al. 2020, arXiv:2004.05150",
    .complexity = "O(n (w + g))",
    .contract = Contract::pruned,
    .params = kParams,
    .unsupported = unsupported,
    .plan = plan,
    .visible = visible,
};

}  // namespace attnscale::methods
