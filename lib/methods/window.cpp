// Sliding window: a query at position p sees the keys p + t * dilation with abs(t) <= w. edge=truncate drops what falls
// outside the sequence; edge=shift (neighbourhood attention) moves the window inward instead, within p's residue class
// of the dilation, so that every query sees 2w + 1 keys, or its whole class when that is smaller. Cost, truncate:
// floor(p / dilation) keys stand on the left within p's class, w of them at most; the right side mirrors it. Summed
// over the positions that gives n (2w + 1) - dilation w (w + 1) when w dilation <= n. Shift: a class of c positions
// sees c min(2w + 1, c) pairs. I. Beltagy et al., "Longformer", 2020 (truncate); A. Hassani et al., "Neighborhood
// Attention Transformer", CVPR 2023 (shift).
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
    ParamSpec{"dilation", ParamKind::integer, "1", 1, kLongestSequence, "", "distance between keys of the window"},
    ParamSpec{"edge", ParamKind::choice, "truncate", 0, 0, "truncate|shift",
              "at the ends: fewer keys, or move the window in"},
};

struct Window {
  std::int64_t w;
  std::int64_t dilation;
  bool shift;
};

Window read(const Params& params) {
  return {params.integer("w"), params.integer("dilation"), params.choice("edge") == "shift"};
}

std::optional<std::string> unsupported(const Problem& problem, const Params& params) {
  if (problem.causal() && read(params).shift) {
    return "edge=shift moves windows into the future, which a causal mask hides: use edge=truncate";
  }
  return needs_positions(problem);
}

std::int64_t pairs_per_head(const Problem& problem, const Window& window) {
  const auto [w, dilation, shift] = window;
  const std::int64_t n = problem.shape.keys;
  if (shift) {
    const std::int64_t short_class = n / dilation;
    const std::int64_t longer = n % dilation;
    const auto seen = [w = w](std::int64_t size) { return size * std::min(2 * w + 1, size); };
    return longer * seen(short_class + 1) + (dilation - longer) * seen(short_class);
  }
  const std::int64_t first = first_seeing_position(problem);
  const std::int64_t left = steps_before(n, w, dilation) - steps_before(first, w, dilation);
  const std::int64_t right = problem.causal() ? 0 : steps_before(n, w, dilation);
  return n - first + left + right;
}

Plan plan(const Problem& problem, const Params& params) {
  const Window window = read(params);
  Cost cost = static_cost(problem, pairs_per_head(problem, window) * head_count(problem));
  cost.window_keys = 2 * window.w + 1;
  const auto list = [window, n = problem.shape.keys](const TaskContext&, const RowRun& strip, SpanList& spans) {
    const auto [w, dilation, shift] = window;
    const std::int64_t residue = ((strip.first_position % dilation) + dilation) % dilation;
    const std::int64_t first_start = shift ? 0 : -w;
    const std::int64_t last_start =
        shift ? std::max<std::int64_t>(0, ceil_div(n - residue, dilation) - (2 * w + 1)) : n;
    spans.add_keys(residue, dilation, [=, w = w, dilation = dilation](std::int64_t p) {
      const std::int64_t start = std::clamp((p - residue) / dilation - w, first_start, last_start);
      return Interval{start, start + 2 * w + 1};
    });
  };
  return strip_plan(problem, cost, {.stride = window.dilation}, {1, 1}, list);
}

KeyGroups visible(const Problem& problem, const Params& params, std::span<const std::int32_t>) {
  const auto [w, dilation, shift] = read(params);
  const std::int64_t n = problem.shape.keys;
  return visible_where(problem, [=, w = w, dilation = dilation, shift = shift](std::int64_t p, std::int64_t j) {
    if ((p - j) % dilation != 0) return false;
    const std::int64_t steps = std::abs(p - j) / dilation;
    if (!shift) return steps <= w;
    // What one side lacks, the other takes on.
    const std::int64_t before = p / dilation;
    const std::int64_t after = (n - 1 - p) / dilation;
    return j < p ? steps <= 2 * w - std::min(w, after) : steps <= 2 * w - std::min(w, before);
  });
}

}  // namespace

const Method window = {
    .name = "window",
    .summary = "the nearest keys on both sides, dilated if wanted",
    .paper = "Beltagy et al. 2020, arXiv:2004.05150; Hassani et al. 2023, arXiv:2204.07143",
    .complexity = "O(n w)",
    .contract = Contract::pruned,
    .params = kParams,
    .unsupported = unsupported,
    .plan = plan,
    .visible = visible,
};

}  // namespace attnscale::methods
