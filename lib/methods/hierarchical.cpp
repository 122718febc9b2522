// Hierarchical attention over summaries: a query attends exactly to its own block and sees everything else through one
// pseudo-key per block: mean key, mean value, logit + ln(count). With L levels there are blocks of b keys, parents of b
// f, b f^2, ... with f = ceil(nb^(1/(L-1))) of nb finest blocks; a query sees its own finest block, and at each level
// the siblings inside its own parent. auto: the least b with b^L >= n_k. Under a causal mask only siblings that are
// complete before the query count. Summaries are built level by level, each from the one below, weighted by counts;
// sums in fp64, stored as fp32: the rounding of one store per level is within c u, c the count of the largest summary.
// Cost: a finest block of c keys sees c + (siblings at each level) pseudo-keys; for L = 2 the sum of c (c + nb - 1).
// After Z. Zhu, R. Soricut, "H-Transformer-1D", ACL 2021 (theirs sums values and leaves counts to the normaliser), and
// Y. Nguyen et al., "FMMformer", NeurIPS 2021 (near field exact, far field coarse).
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/numbers.hpp"
#include "methods/catalog.hpp"
#include "methods/patterns.hpp"
#include "methods/strips.hpp"

namespace attnscale::methods {
namespace {

constexpr std::array kParams = {
    ParamSpec{"block", ParamKind::automatic, "auto", 1, kLongestSequence, "",
              "keys of a finest block; auto: least b, b^levels >= n_k"},
    ParamSpec{"levels", ParamKind::integer, "2", 2, 31, "", "levels, the single keys included"},
};

std::optional<std::string> unsupported(const Problem& problem, const Params&) {
  return needs_positions(problem);
}

/// One level of blocks and, once planned, the buffers of its summaries: rows [batch][kv_head][block].
struct Level {
  std::int64_t size = 0;    ///< keys per block
  std::int64_t blocks = 0;  ///< the last one may be ragged
  SharedBuffer<float> keys;
  SharedBuffer<float> values;
};

/// The levels that hold summaries, finest first. A level of one block has no siblings and is left out.
struct Tree {
  Tree(const Problem& problem, const Params& params) : n(problem.shape.keys) {
    const int depth = static_cast<int>(params.integer("levels"));
    block = params.integer_or("block", ceil_root(n, depth));
    factor = ceil_root(ceil_div(n, block), depth - 1);
    std::int64_t size = block;
    for (int l = 1; l < depth && size < n; ++l) {
      levels.push_back({size, ceil_div(n, size), {}, {}});
      size *= factor;
    }
  }
  [[nodiscard]] std::int64_t count(const Level& level, std::int64_t index) const {
    return std::min(level.size, n - index * level.size);
  }
  /// Blocks of a level inside the parent of block `index`, as far as they exist.
  [[nodiscard]] Interval family(const Level& level, std::int64_t index) const {
    const std::int64_t first = index / factor * factor;
    return {first, std::min(first + factor, level.blocks)};
  }

  std::int64_t n;
  std::int64_t block = 0;
  std::int64_t factor = 0;
  std::vector<Level> levels;
};

std::int64_t pairs_per_head(const Problem& problem, const Tree& tree) {
  const std::int64_t first = first_seeing_position(problem);
  std::int64_t pairs = 0;
  for (std::int64_t begin = 0; begin < tree.n; begin += tree.block) {
    const std::int64_t end = std::min(begin + tree.block, tree.n);
    const std::int64_t first_row = std::max(begin, first);
    if (first_row >= end) continue;
    const std::int64_t rows = end - first_row;
    std::int64_t siblings = 0;
    for (const Level& level : tree.levels) {
      const std::int64_t own = begin / level.size;
      const Interval family = tree.family(level, own);
      siblings += problem.causal() ? own - family.first : family.last - family.first - 1;
    }
    // Causal: the rows see 1 + (their place in the block) keys of it.
    const std::int64_t exact =
        problem.causal() ? rows * (first_row - begin + 1 + end - begin) / 2 : rows * (end - begin);
    pairs += exact + rows * siblings;
  }
  return pairs;
}

/// Weighted mean of `rows`, the last of which may weigh less, into `mean`.
void mean_of(const MatrixView<const float>& rows, std::int64_t weight, std::int64_t last_weight, float* mean) {
  std::array<double, 64> sums;  // a slice of columns at a time
  const auto slice = static_cast<std::int64_t>(sums.size());
  const auto full = static_cast<double>(weight);
  const auto last = static_cast<double>(last_weight);
  const double total = full * static_cast<double>(rows.rows - 1) + last;
  for (std::int64_t c = 0; c < rows.width; c += slice) {
    const std::int64_t columns = std::min(slice, rows.width - c);
    sums.fill(0);
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      const double factor = i + 1 < rows.rows ? full : last;
      const float* row = rows.row(i) + c;
      for (std::int64_t x = 0; x < columns; ++x)
        sums[static_cast<std::size_t>(x)] += factor * static_cast<double>(row[x]);
    }
    for (std::int64_t x = 0; x < columns; ++x) {
      mean[c + x] = static_cast<float>(sums[static_cast<std::size_t>(x)] / total);
    }
  }
}

/// Where summaries come from: the keys (children of weight 1) or the level below.
struct Children {
  MatrixView<const float> rows;
  std::int64_t size = 1;  ///< keys per child
};

void summarise(const Tree& tree, const Level& level, std::int64_t index, const Children& children, float* mean) {
  const std::int64_t first = index * (level.size / children.size);
  const std::int64_t end = std::min(first + level.size / children.size, children.rows.rows);
  const MatrixView<const float> mine = {children.rows.row(first), end - first, children.rows.width,
                                        children.rows.row_stride};
  mean_of(mine, children.size, std::min(children.size, tree.n - (end - 1) * children.size), mean);
}

/// Summaries of one level and one (batch, key/value head), as matrices.
SpanSource summaries(const TaskContext& context, const Shape& shape, const Level& level, BatchIndex batch,
                     KvHeadIndex head) {
  const std::int64_t first = (batch.value * shape.kv_heads + head.value) * level.blocks;
  return {{context.get(level.keys).data() + first * shape.dim, level.blocks, shape.dim, shape.dim},
          {context.get(level.values).data() + first * shape.value_dim, level.blocks, shape.value_dim, shape.value_dim}};
}

/// Builds a level from the one below it, or from the keys when `below` is null.
Stage summarise_stage(const Problem& problem, const Tree& tree, const Level& level, const Level* below) {
  const Shape shape = problem.shape;
  const std::int64_t children = below == nullptr ? level.size : tree.factor;
  const std::int64_t per_task = std::max<std::int64_t>(1, 1024 / children);
  const std::int64_t per_head = ceil_div(level.blocks, per_task);
  const std::optional<Level> lower = below == nullptr ? std::nullopt : std::optional<Level>(*below);
  const auto body = [=](const TaskContext& context, std::int64_t task) {
    const BatchIndex batch{task / per_head / shape.kv_heads};
    const KvHeadIndex head{task / per_head % shape.kv_heads};
    const SpanSource source = lower ? summaries(context, shape, *lower, batch, head)
                                    : SpanSource{context.in.k.matrix(batch, head), context.in.v.matrix(batch, head)};
    const std::int64_t size = lower ? lower->size : 1;
    const std::int64_t row = (batch.value * shape.kv_heads + head.value) * level.blocks;
    const std::int64_t begin = task % per_head * per_task;
    for (std::int64_t i = begin; i < std::min(begin + per_task, level.blocks); ++i) {
      summarise(tree, level, i, {source.k, size}, context.get(level.keys).data() + (row + i) * shape.dim);
      summarise(tree, level, i, {source.v, size}, context.get(level.values).data() + (row + i) * shape.value_dim);
    }
  };
  return {"summarise", shape.batch * shape.kv_heads * per_head, body};
}

/// Siblings at one level: those before the own block, those behind it, and the ragged last block, whose count differs.
void list_siblings(const Problem& problem, const Tree& tree, const Level& level, const SpanSource& source,
                   SpanList& spans) {
  const float bias = std::log2(static_cast<float>(level.size));
  const auto own = [&](std::int64_t p) { return std::max<std::int64_t>(p, 0) / level.size; };
  spans.add_rows(source, bias, [&](std::int64_t p) { return Interval{tree.family(level, own(p)).first, own(p)}; });
  if (problem.causal()) return;
  const std::int64_t last = level.blocks - 1;
  const std::int64_t last_count = tree.count(level, last);
  const std::int64_t full_blocks = last_count == level.size ? level.blocks : last;
  spans.add_rows(source, bias, [&](std::int64_t p) {
    return Interval{own(p) + 1, std::min(tree.family(level, own(p)).last, full_blocks)};
  });
  if (full_blocks == level.blocks) return;
  spans.add_rows(source, std::log2(static_cast<float>(last_count)), [&](std::int64_t p) {
    return own(p) < last && tree.family(level, own(p)).last == level.blocks ? Interval{last, level.blocks} : Interval{};
  });
}

Cost cost_of(const Problem& problem, const Tree& tree) {
  const Shape& shape = problem.shape;
  Cost cost = static_cost(problem, pairs_per_head(problem, tree) * head_count(problem));
  const std::int64_t columns = shape.batch * shape.kv_heads * (shape.dim + shape.value_dim);
  std::int64_t children = tree.n;
  for (const Level& level : tree.levels) {
    const bool from_keys = &level == tree.levels.data();
    cost.extra_flops += columns * ((from_keys ? 1 : 2) * children + level.blocks);  // (weigh,) add; divide
    cost.bytes_moved += 2 * columns * level.blocks * static_cast<std::int64_t>(sizeof(float));
    children = level.blocks;
  }
  return cost;
}

Plan plan(const Problem& problem, const Params& params) {
  Plan plan;
  Tree tree(problem, params);
  plan.cost = cost_of(problem, tree);
  const Shape& shape = problem.shape;
  for (Level& level : tree.levels) {
    const std::int64_t rows = shape.batch * shape.kv_heads * level.blocks;
    level.keys = plan.scratch.shared<float>(rows * shape.dim);
    level.values = plan.scratch.shared<float>(rows * shape.value_dim);
  }
  for (std::size_t l = 0; l < tree.levels.size(); ++l) {
    plan.stages.push_back(summarise_stage(problem, tree, tree.levels[l], l == 0 ? nullptr : &tree.levels[l - 1]));
  }
  const auto list = [problem, tree](const TaskContext& context, const RowRun& strip, SpanList& spans) {
    spans.add_keys(0, 1, [&](std::int64_t p) {
      const std::int64_t own = std::max<std::int64_t>(p, 0) / tree.block;
      return Interval{own * tree.block, (own + 1) * tree.block};
    });
    for (const Level& level : tree.levels) {
      list_siblings(problem, tree, level, summaries(context, problem.shape, level, strip.batch, strip.kv_head), spans);
    }
  };
  const std::int64_t spans = 1 + 3 * static_cast<std::int64_t>(tree.levels.size());
  plan.stages.push_back(attend_stage(plan.scratch, problem, {}, {spans, spans}, list));
  return plan;
}

/// From the definition: a key of the own finest block stands for itself; any other key belongs to its largest block
/// that does not hold the query. The number of a group is its first key.
KeyGroups visible(const Problem& problem, const Params& params, std::span<const std::int32_t>) {
  const Tree tree(problem, params);
  return [problem, block = tree.block, factor = tree.factor](RowRef row, std::span<std::int32_t> groups) {
    const std::int64_t p = problem.position(row.query);
    for (std::int64_t j = 0; j < problem.shape.keys; ++j) {
      std::int32_t& group = groups[static_cast<std::size_t>(j)];
      group = -1;
      if (problem.causal() && j > p) continue;
      std::int64_t size = 1;
      for (std::int64_t next = block; j / next != p / next; next *= factor) size = next;
      group = static_cast<std::int32_t>(j / size * size);
    }
  };
}

}  // namespace

const Method hierarchical = {
    .name = "hierarchical",
    .summary = "the own block exactly, everything else through block means, level by level",
    .paper = "Zhu & Soricut 2021, arXiv:2107.11906; Nguyen et al. 2021, arXiv:2108.02347",
    .complexity = "O(n^(1 + 1/levels))",
    .contract = Contract::merged,
    .params = kParams,
    .unsupported = unsupported,
    .plan = plan,
    .visible = visible,
};

}  // namespace attnscale::methods
