// BigBird: keys and queries in blocks. The first ceil(global/2) and last floor(global/2) blocks are global: their rows
// see all keys, their keys are seen by all rows. Every other query block sees the global blocks, the blocks within
// (window-1)/2 of its own, and `random` blocks drawn without repetition from those that are left (fewer when fewer are
// left). The union is a set. Draws are keyed by (seed, key/value head, query block) and repeated for each strip:
// cheaper than holding a table. A causal mask hides keys after the draw, so that a block's draws do not depend on the
// mask. Cost: for n = nb * block, nb >= random + 5 and the other defaults, block^2 [2nb + 2(4 + random) + (nb - 4)(5 +
// random)]; in general a sum over query blocks, since a ragged last block may or may not be drawn. M. Zaheer et al.,
// "Big Bird: transformers for longer sequences", NeurIPS 2020.
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/numbers.hpp"
#include "methods/catalog.hpp"
#include "methods/keyed_random.hpp"
#include "methods/patterns.hpp"
#include "methods/strips.hpp"

namespace attnscale::methods {
namespace {

constexpr std::array kParams = {
    ParamSpec{"block", ParamKind::integer, "64", 1, kLongestSequence, "", "keys per block"},
    ParamSpec{"window", ParamKind::integer, "3", 1, kLongestSequence, "",
              "blocks of the window, the own one included; odd"},
    ParamSpec{"global", ParamKind::integer, "2", 0, kLongestSequence, "", "global blocks, half at each end"},
    ParamSpec{"random", ParamKind::integer, "3", 0, kLongestSequence, "", "random blocks for each query block"},
};

std::optional<std::string> invalid(const Params& params) {
  const std::int64_t window = params.integer("window");
  if (window % 2 == 1) return std::nullopt;
  return fmt::format("window is {}, which is even: the nearest valid values are {} and {}", window, window - 1,
                     window + 1);
}

std::optional<std::string> unsupported(const Problem& problem, const Params&) {
  return needs_positions(problem);
}

/// The block pattern of one problem, in numbers of blocks.
struct Blocks {
  Blocks(const Problem& problem, const Params& params)
      : size(params.integer("block")),
        count(ceil_div(problem.shape.keys, size)),
        reach((params.integer("window") - 1) / 2),
        first_globals(std::min(ceil_div(params.integer("global"), 2), count)),
        last_globals_at(count - std::min(params.integer("global") / 2, count)),
        random(std::min(params.integer("random"), count)),
        seed(problem.seed) {}

  [[nodiscard]] bool global(std::int64_t block) const { return block < first_globals || block >= last_globals_at; }
  /// Blocks to draw from lie in [first_globals, left_end) and [right_begin, last_globals_at).
  [[nodiscard]] std::int64_t left_end(std::int64_t query_block) const {
    return std::clamp(query_block - reach, first_globals, std::max(first_globals, last_globals_at));
  }
  [[nodiscard]] std::int64_t right_begin(std::int64_t query_block) const {
    return std::clamp(query_block + reach + 1, first_globals, std::max(first_globals, last_globals_at));
  }

  /// The random blocks of a query block that is not global; `scratch` holds 3 * random numbers.
  [[nodiscard]] std::span<const std::int32_t> draw(std::int64_t kv_head, std::int64_t query_block,
                                                   std::span<std::int32_t> scratch) const {
    const std::int64_t left = left_end(query_block) - first_globals;
    const std::int64_t right = std::max<std::int64_t>(0, last_globals_at - right_begin(query_block));
    const std::span<std::int32_t> drawn = scratch.first(static_cast<std::size_t>(std::min(random, left + right)));
    if (random >= left + right) {
      for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = static_cast<std::int32_t>(i);
    } else {
      KeyedRandom numbers({seed, kv_head, query_block, Purpose::random_blocks});
      draw_distinct(numbers, left + right, drawn, scratch.subspan(drawn.size(), 2 * drawn.size()));
    }
    for (std::int32_t& block : drawn) {
      block += static_cast<std::int32_t>(block < left ? first_globals : right_begin(query_block) - left);
    }
    return drawn;
  }

  std::int64_t size;
  std::int64_t count;
  std::int64_t reach;
  std::int64_t first_globals;
  std::int64_t last_globals_at;
  std::int64_t random;
  std::uint64_t seed;
};

/// Keys below `end` that a query block which is not global sees, from the sizes of its disjoint parts.
std::int64_t keys_below(const Blocks& blocks, std::int64_t query_block, std::span<const std::int32_t> drawn,
                        std::int64_t end) {
  const auto keys = [&](std::int64_t from, std::int64_t to) {
    return to > from ? std::min(to * blocks.size, end) - std::min(from * blocks.size, end) : 0;
  };
  std::int64_t sum = keys(0, blocks.first_globals) + keys(blocks.last_globals_at, blocks.count);
  sum += keys(blocks.left_end(query_block), blocks.right_begin(query_block));
  for (const std::int32_t block : drawn) sum += keys(block, block + 1);
  return sum;
}

std::int64_t pairs_of_head(const Problem& problem, const Blocks& blocks, std::int64_t kv_head) {
  std::vector<std::int32_t> scratch(static_cast<std::size_t>(3 * blocks.random));
  const std::int64_t first = first_seeing_position(problem);
  const std::int64_t n = problem.shape.keys;
  std::int64_t pairs = 0;
  for (std::int64_t block = first / blocks.size; block < blocks.count; ++block) {
    const std::int64_t begin = std::max(first, block * blocks.size);
    const std::int64_t end = std::min(n, (block + 1) * blocks.size);
    const bool global = blocks.global(block);
    const auto drawn = global ? std::span<const std::int32_t>() : blocks.draw(kv_head, block, scratch);
    const auto seen = [&](std::int64_t allowed) {
      return global ? allowed : keys_below(blocks, block, drawn, allowed);
    };
    if (problem.causal()) {
      for (std::int64_t p = begin; p < end; ++p) pairs += seen(p + 1);
    } else {
      pairs += (end - begin) * seen(n);
    }
  }
  return pairs;
}

/// Lists the blocks of a strip in ascending order, neighbours joined.
void list_blocks(const Blocks& blocks, std::int64_t kv_head, std::int64_t position, std::span<Interval> ranges,
                 std::span<std::int32_t> scratch, SpanList& spans) {
  const auto add = [&](std::int64_t from, std::int64_t to) {
    spans.add_keys(0, 1, [&](std::int64_t) { return Interval{from * blocks.size, to * blocks.size}; });
  };
  const std::int64_t own = std::max<std::int64_t>(position, 0) / blocks.size;
  if (blocks.global(own)) {
    add(0, blocks.count);
    return;
  }
  std::size_t used = 0;
  ranges[used++] = {0, blocks.first_globals};
  ranges[used++] = {std::max<std::int64_t>(0, own - blocks.reach), std::min(blocks.count, own + blocks.reach + 1)};
  ranges[used++] = {blocks.last_globals_at, blocks.count};
  for (const std::int32_t block : blocks.draw(kv_head, own, scratch)) ranges[used++] = {block, block + 1};
  std::sort(ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(used),
            [](const Interval& a, const Interval& b) { return a.first < b.first; });
  Interval open = ranges[0];
  for (const Interval& next : ranges.subspan(1, used - 1)) {
    if (next.first > open.last) {
      add(open.first, open.last);
      open = next;
    }
    open.last = std::max(open.last, next.last);
  }
  add(open.first, open.last);
}

Plan plan(const Problem& problem, const Params& params) {
  const Blocks blocks(problem, params);
  const Shape& shape = problem.shape;
  std::int64_t pairs = 0;
  for (std::int64_t h = 0; h < shape.kv_heads; ++h) {
    pairs += pairs_of_head(problem, blocks, problem.global_kv_head(KvHeadIndex{h}));
  }
  Plan plan;
  plan.cost = static_cost(problem, pairs * shape.group() * shape.batch);
  const auto ranges = plan.scratch.per_worker<Interval>(blocks.random + 3);
  const auto scratch = plan.scratch.per_worker<std::int32_t>(3 * blocks.random);
  const auto list = [=](const TaskContext& context, const RowRun& strip, SpanList& spans) {
    list_blocks(blocks, problem.global_kv_head(strip.kv_head), strip.first_position, context.get(ranges),
                context.get(scratch), spans);
  };
  // Rows of a strip share their block, so only the span that holds the diagonal differs between lanes.
  plan.stages.push_back(attend_stage(plan.scratch, problem, {.block = blocks.size}, {blocks.random + 3, 1}, list));
  return plan;
}

KeyGroups visible(const Problem& problem, const Params& params, std::span<const std::int32_t>) {
  const Blocks blocks(problem, params);
  return [=](RowRef row, std::span<std::int32_t> groups) {
    const std::int64_t p = problem.position(row.query);
    const std::int64_t own = std::max<std::int64_t>(p, 0) / blocks.size;
    std::vector<std::int32_t> scratch(static_cast<std::size_t>(3 * blocks.random));
    std::vector<bool> drawn(static_cast<std::size_t>(blocks.count));
    if (!blocks.global(own)) {
      const std::int64_t kv_head = problem.global_kv_head(problem.shape.kv_head(row.head));
      for (const std::int32_t block : blocks.draw(kv_head, own, scratch)) drawn[static_cast<std::size_t>(block)] = true;
    }
    for (std::int64_t j = 0; j < problem.shape.keys; ++j) {
      const std::int64_t block = j / blocks.size;
      const bool in_window = block >= own - blocks.reach && block <= own + blocks.reach;
      const bool seen =
          blocks.global(own) || blocks.global(block) || in_window || drawn[static_cast<std::size_t>(block)];
      const bool allowed = !problem.causal() || j <= p;
      groups[static_cast<std::size_t>(j)] = seen && allowed ? static_cast<std::int32_t>(j) : -1;
    }
  };
}

}  // namespace

const Method bigbird = {
    .name = "bigbird",
    .summary = "global, neighbouring and random blocks of keys",
    .paper = "Zaheer et al. 2020, arXiv:2007.14062",
    .complexity = "O(n b (window + global + random))",
    .contract = Contract::pruned,
    .params = kParams,
    .invalid = invalid,
    .unsupported = unsupported,
    .plan = plan,
    .visible = visible,
};

}  // namespace attnscale::methods
