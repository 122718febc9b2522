// Two-level attention that selects: keys lie in blocks of b, every block is summarised by its mean key, and a query
// attends exactly to its own block and to the blocks - 1 others whose mean has the largest product with it (ties to the
// lower index). Under a causal mask only completed blocks, those before the own one, are summarised for a query, so
// that no mean leaks the future. Scores of blocks: n * n/b (causal: half of that); with b = sqrt n all is O(n sqrt n).
// Block selection by mean key as in MoBA (Lu et al. 2025, arXiv:2502.13189) and NSA (Yuan et al. 2025,
// arXiv:2502.11089).
//
// The chosen blocks of neighbouring queries differ, so choice number s of all queries is sorted by block and attended
// to in a stage of its own: a strip then holds queries that chose one block, and goes on from what the stages before
// left in the output.
//
// Plan::choices: [batch][heads][queries][C], C = min(blocks, number of blocks): the own block, then the chosen ones in
// ascending order, -1 behind the last; all -1 in a row that sees nothing. A row with a NaN block score has no best
// blocks: it reports one that scores NaN, and is NaN.
#include <algorithm>
#include <array>

#include "core/numbers.hpp"
#include "kernels/strip.hpp"
#include "methods/catalog.hpp"
#include "methods/patterns.hpp"
#include "methods/reference.hpp"
#include "methods/select_blocks.hpp"
#include "methods/strips.hpp"

namespace attnscale::methods {
namespace {

using select_parts::Blocks;
using select_parts::Setup;

constexpr std::int64_t kTaskRows = 256;  // sorted rows per task of a later slot

constexpr std::array kParams = {
    ParamSpec{.name = "block",
              .kind = ParamKind::automatic,
              .fallback = "auto",
              .lowest = 1,
              .highest = kLongestSequence,
              .doc = "keys per block; auto = ceil(sqrt(keys))"},
    ParamSpec{.name = "blocks",
              .kind = ParamKind::integer,
              .fallback = "4",
              .lowest = 1,
              .highest = kLongestSequence,
              .doc = "blocks per query, its own included"},
};

void report(const Setup& setup, const TaskContext& context, const RowRun& strip) {
  const std::int64_t columns = setup.blocks.slots + 1;
  const std::int64_t list = setup.list(strip.batch, strip.head);
  for (std::int64_t l = 0; l < strip.count; ++l) {
    const std::int64_t p = strip.position(l);
    std::int32_t* row = context.choices.data() + (list * setup.problem.shape.queries + strip.row(l)) * columns;
    row[0] = p < 0 ? -1 : static_cast<std::int32_t>(setup.blocks.of(p));
    for (std::int64_t s = 0; s + 1 < columns; ++s) {
      row[s + 1] = setup.slot(context, setup.buffers.chosen, list, s, setup.problem.shape.queries)[strip.row(l)];
    }
  }
}

Stage own_stage(ScratchLayout& layout, const Setup& setup) {
  return attend_stage(
      layout, setup.problem, {}, {}, [setup](const TaskContext& context, const RowRun& strip, SpanList& spans) {
        spans.add_keys(0, 1,
                       [&](std::int64_t p) { return p < 0 ? Interval{} : setup.blocks.range(setup.blocks.of(p)); });
        if (!context.choices.empty()) report(setup, context, strip);
      });
}

// Goes on with choice number `slot` of every query; strips end where the block changes.
Stage slot_stage(const Setup& setup, WorkerBuffer<float> scratch, std::int64_t slot) {
  const Shape s = setup.problem.shape;
  const std::int64_t chunks = ceil_div(s.queries, kTaskRows);
  return {"attend", s.batch * s.heads * chunks, [=](const TaskContext& context, std::int64_t task) {
            const std::int64_t list = task / chunks;
            const BatchIndex batch{list / s.heads};
            const HeadIndex head{list % s.heads};
            const auto k = context.in.k.matrix(batch, s.kv_head(head));
            const auto v = context.in.v.matrix(batch, s.kv_head(head));
            const std::int32_t* chosen = setup.slot(context, setup.buffers.chosen, list, slot, s.queries).data();
            const std::int32_t* sorted = setup.slot(context, setup.buffers.sorted, list, slot, s.queries).data();
            const std::int32_t* start =
                setup.slot(context, setup.buffers.start, list, slot, setup.blocks.count + 1).data();
            kernels::Strip strip{context.in.q.matrix(batch, head),
                                 context.out.out.matrix(batch, head),
                                 context.out.lse.matrix(batch, head),
                                 nullptr,
                                 0,
                                 true};
            std::int64_t at = task % chunks * kTaskRows;
            const std::int64_t end = std::min<std::int64_t>(at + kTaskRows, start[setup.blocks.count]);
            for (; at < end; at += strip.count) {
              const std::int64_t block = chosen[sorted[at]];
              const Interval keys = setup.blocks.range(block);
              strip.rows = sorted + at;
              strip.count =
                  static_cast<int>(std::min<std::int64_t>({kernels::strip_width(), end - at, start[block + 1] - at}));
              const kernels::Span span{.k = k.row(keys.first),
                                       .v = v.row(keys.first),
                                       .count = keys.last - keys.first,
                                       .k_stride = k.row_stride,
                                       .v_stride = v.row_stride};
              const std::int64_t pairs =
                  kernels::attend(strip, {&span, 1}, setup.problem.score_scale(), context.get(scratch));
              count_attended(context, pairs);
            }
          }};
}

// Pairs of all heads, where they do not depend on the data.
Cost cost_of(const Problem& problem, const Blocks& blocks) {
  const Shape& s = problem.shape;
  const std::int64_t n = s.keys;
  Cost cost;
  std::int64_t block_scores = s.queries * blocks.count;
  if (problem.causal()) {
    // Every chosen block is complete: b keys. Of the own block a query at p sees p % b + 1 keys.
    const auto before = [&](std::int64_t most) {
      return steps_before(n, most, blocks.size) - steps_before(first_seeing_position(problem), most, blocks.size);
    };
    const std::int64_t first = first_seeing_position(problem);
    block_scores = before(n);
    const std::int64_t own = n * (n + 1) / 2 - first * (first + 1) / 2 - blocks.size * block_scores;
    cost.visible_pairs = head_count(problem) * (own + blocks.size * before(blocks.slots));
  } else if (n % blocks.size == 0) {
    cost.visible_pairs = head_count(problem) * n * blocks.size * (blocks.slots + 1);
  } else if (blocks.slots + 1 == blocks.count) {
    cost.visible_pairs = head_count(problem) * n * n;
  }
  if (blocks.slots == 0) block_scores = 0;
  if (cost.visible_pairs) cost.scored_pairs = *cost.visible_pairs + head_count(problem) * block_scores;
  cost.extra_flops = blocks.slots == 0 ? 0 : s.batch * s.kv_heads * n * s.dim;  // the means
  cost.exact_fallback = blocks.slots + 1 == blocks.count;
  return cost;
}

Plan make_plan(const Problem& problem, const Params& params) {
  const Shape& s = problem.shape;
  const Blocks blocks = select_parts::blocks_of(problem, params);
  Plan plan;
  Setup setup{problem, blocks, {}};
  if (blocks.slots > 0) {
    setup = select_parts::make_setup(plan.scratch, problem, blocks);
    plan.stages.push_back(select_parts::summarise_stage(setup));
    plan.stages.push_back(select_parts::select_stage(plan.scratch, setup));
    plan.stages.push_back(select_parts::sort_stage(setup));
  }
  plan.stages.push_back(own_stage(plan.scratch, setup));
  const auto scratch = plan.scratch.per_worker<float>(kernels::attend_scratch(s.dim, s.value_dim));
  for (std::int64_t slot = 0; slot < blocks.slots; ++slot) plan.stages.push_back(slot_stage(setup, scratch, slot));
  plan.cost = cost_of(problem, blocks);
  plan.cost.bytes_moved = compulsory_bytes(problem) + 2 * plan.scratch.shared_bytes();
  plan.choices = s.rows() * (blocks.slots + 1);
  return plan;
}

KeyGroups visible(const Problem& problem, const Params& params, std::span<const std::int32_t> choices) {
  const std::int64_t size = params.integer_or("block", ceil_root(problem.shape.keys, 2));
  const std::int64_t columns = std::min(params.integer("blocks"), ceil_div(problem.shape.keys, size));
  return [=](RowRef row, std::span<std::int32_t> groups) {
    const Shape& s = problem.shape;
    const std::int64_t flat = (row.batch.value * s.heads + row.head.value) * s.queries + row.query;
    const auto mine = choices.subspan(static_cast<std::size_t>(flat * columns), static_cast<std::size_t>(columns));
    for (std::int64_t j = 0; j < s.keys; ++j) {
      const bool in = std::find(mine.begin(), mine.end(), static_cast<std::int32_t>(j / size)) != mine.end();
      groups[static_cast<std::size_t>(j)] = in && j < problem.allowed(row.query) ? static_cast<std::int32_t>(j) : -1;
    }
  };
}

}  // namespace

const Method hierarchical_select = {
    .name = "hierarchical.select",
    .summary = "exact attention inside the query's own block of keys and the blocks of best mean key",
    .paper = "Lu et al. 2025 (MoBA), arXiv:2502.13189",
    .complexity = "O(n sqrt n)",
    .contract = Contract::pruned,
    .params = kParams,
    .unsupported = [](const Problem& problem, const Params&) { return needs_positions(problem); },
    .plan = make_plan,
    .visible = visible,
    .judge = judge_select,
};

}  // namespace attnscale::methods
