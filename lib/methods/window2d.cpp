// Two-dimensional window: positions are pixels of a height x width raster in row order, and a query sees the pixels
// within Chebyshev distance r, truncated at the borders. auto: the divisor pair nearest to a square, height <= width;
// n_k must be height * width. A causal mask keeps the pixels that come first in raster order. Spans: one for each
// raster row within reach. The keys of lane p in the row dy below start at p + dy * width - r, cut at the ends of that
// row, so a strip may run across raster rows; when r covers whole rows, they join to one span. Cost: the pairs of rows
// within r times the pairs of columns within r; for r = 1, (3H - 2)(3W - 2). N. Parmar et al., "Image Transformer",
// ICML 2018.
#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "core/numbers.hpp"
#include "methods/catalog.hpp"
#include "methods/patterns.hpp"
#include "methods/strips.hpp"

namespace attnscale::methods {
namespace {

constexpr std::array kParams = {
    ParamSpec{"r", ParamKind::integer, "1", 0, kLongestSequence, "", "largest distance along either axis"},
    ParamSpec{"height", ParamKind::automatic, "auto", 1, kLongestSequence, "", "raster rows; auto: n / width"},
    ParamSpec{"width", ParamKind::automatic, "auto", 1, kLongestSequence, "", "raster columns; auto: n / height"},
};

struct Raster {
  std::int64_t height;
  std::int64_t width;
};

/// The divisor of n nearest to `wanted` (ties: the smaller).
std::int64_t nearest_divisor(std::int64_t n, std::int64_t wanted) {
  std::int64_t best = 1;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    for (const std::int64_t candidate : {d, n / d}) {
      const std::int64_t gain = std::abs(best - wanted) - std::abs(candidate - wanted);
      if (gain > 0 || (gain == 0 && candidate < best)) best = candidate;
    }
  }
  return best;
}

/// The raster; height * width differs from n when the parameters do not fit it.
Raster raster_of(std::int64_t n, const Params& params) {
  if (params.is_auto("height") && params.is_auto("width")) {
    std::int64_t height = ceil_root(n, 2);
    while (height * height > n || n % height != 0) --height;
    return {height, n / height};
  }
  if (params.is_auto("width")) return {params.integer("height"), n / params.integer("height")};
  const std::int64_t width = params.integer("width");
  return {params.integer_or("height", n / width), width};
}

std::optional<std::string> invalid(const Params& params) {
  if (params.is_auto("height") || params.is_auto("width")) return std::nullopt;
  const std::int64_t height = params.integer("height");
  if (params.integer("width") <= kLongestSequence / height) return std::nullopt;
  return fmt::format("height * width is above the longest sequence, {}: the largest width for this height is {}",
                     kLongestSequence, kLongestSequence / height);
}

std::optional<std::string> unsupported(const Problem& problem, const Params& params) {
  if (auto reason = needs_positions(problem)) return reason;
  const std::int64_t n = problem.shape.keys;
  const auto [height, width] = raster_of(n, params);
  if (height * width == n) return std::nullopt;
  if (!params.is_auto("height") && !params.is_auto("width")) {
    return fmt::format("n is {}, which is not height * width = {} * {}: the nearest n that fits is {}", n, height,
                       width, height * width);
  }
  const bool by_height = params.is_auto("width");
  const std::int64_t side = by_height ? height : width;
  const std::int64_t nearest_n = std::max<std::int64_t>(1, (n + side / 2) / side) * side;
  return fmt::format(
      "n is {}, which is not a multiple of {} {}: the nearest n that fits is {}, the nearest {} for this n is {}", n,
      by_height ? "height" : "width", side, nearest_n, by_height ? "height" : "width", nearest_divisor(n, side));
}

/// Pairs of one axis within distance r.
std::int64_t axis_pairs(std::int64_t size, std::int64_t r) {
  return size + 2 * steps_before(size, r, 1);
}

std::int64_t pairs_per_head(const Problem& problem, const Raster& raster, std::int64_t r) {
  if (!problem.causal()) return axis_pairs(raster.height, r) * axis_pairs(raster.width, r);
  std::int64_t pairs = 0;
  for (std::int64_t p = first_seeing_position(problem); p < problem.shape.keys; ++p) {
    const std::int64_t y = p / raster.width;
    const std::int64_t x = p % raster.width;
    const std::int64_t left = std::min(x, r);
    const std::int64_t right = std::min(raster.width - 1 - x, r);
    pairs += std::min(y, r) * (left + 1 + right) + left + 1;
  }
  return pairs;
}

void list_rows(const Raster& raster, std::int64_t r, SpanList& spans) {
  const auto [height, width] = raster;
  if (r >= width - 1) {
    spans.add_keys(0, 1, [=, height = height, width = width](std::int64_t p) {
      return Interval{(p / width - r) * width, std::min(height, p / width + r + 1) * width};
    });
    return;
  }
  const std::int64_t reach = std::min(r, height - 1);
  for (std::int64_t dy = -reach; dy <= reach; ++dy) {
    spans.add_keys(0, 1, [=, height = height, width = width](std::int64_t p) {
      const std::int64_t row = p / width + dy;
      if (p < 0 || row < 0 || row >= height) return Interval{};
      const std::int64_t x = p % width;
      return Interval{row * width + std::max<std::int64_t>(0, x - r), row * width + std::min(width, x + r + 1)};
    });
  }
}

Plan plan(const Problem& problem, const Params& params) {
  const Raster raster = raster_of(problem.shape.keys, params);
  const std::int64_t r = params.integer("r");
  Cost cost = static_cost(problem, pairs_per_head(problem, raster, r) * head_count(problem));
  cost.window_keys = (2 * std::min(r, kLongestSequence / 2) + 1) * (2 * std::min(r, kLongestSequence / 2) + 1);
  const std::int64_t spans = r >= raster.width - 1 ? 1 : 2 * std::min(r, raster.height - 1) + 1;
  return strip_plan(problem, cost, {}, {spans, spans},
                    [=](const TaskContext&, const RowRun&, SpanList& list) { list_rows(raster, r, list); });
}

KeyGroups visible(const Problem& problem, const Params& params, std::span<const std::int32_t>) {
  const std::int64_t width = raster_of(problem.shape.keys, params).width;
  return visible_where(problem, [width, r = params.integer("r")](std::int64_t p, std::int64_t j) {
    return std::abs(p / width - j / width) <= r && std::abs(p % width - j % width) <= r;
  });
}

}  // namespace

const Method window2d = {
    .name = "window2d",
    .summary = "the pixels around a query on a two-dimensional raster",
    .paper = "Parmar et al. 2018, arXiv:1802.05751",
    .complexity = "O(n r^2)",
    .contract = Contract::pruned,
    .params = kParams,
    .invalid = invalid,
    .unsupported = unsupported,
    .plan = plan,
    .visible = visible,
};

}  // namespace attnscale::methods
