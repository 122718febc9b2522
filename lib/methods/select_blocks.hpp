// Choosing blocks of keys by their mean, for `hierarchical.select`: the summaries, the choice of every query and the
// order of queries by chosen block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/params.hpp"
#include "core/problem.hpp"
#include "methods/plan.hpp"
#include "methods/strips.hpp"

namespace attnscale::methods::select_parts {

struct Blocks {
  std::int64_t keys = 0;
  std::int64_t size = 1;
  std::int64_t count = 1;
  std::int64_t slots = 0;  ///< blocks that a query chooses beside its own
  [[nodiscard]] std::int64_t of(std::int64_t position) const { return position / size; }
  [[nodiscard]] Interval range(std::int64_t block) const { return {block * size, std::min((block + 1) * size, keys)}; }
};

struct Buffers {
  SharedBuffer<float> means;          ///< [batch][kv_heads][blocks][dim]
  SharedBuffer<std::int32_t> chosen;  ///< [batch][heads][slots][queries], -1 for none
  SharedBuffer<std::int32_t> sorted;  ///< [batch][heads][slots][queries]: rows by chosen block
  SharedBuffer<std::int32_t> start;   ///< [batch][heads][slots][blocks + 1]: first place of each block in sorted
};

/// What every stage needs.
struct Setup {
  Problem problem;
  Blocks blocks;
  Buffers buffers;

  [[nodiscard]] std::int64_t list(BatchIndex batch, HeadIndex head) const {
    return batch.value * problem.shape.heads + head.value;
  }
  [[nodiscard]] MatrixView<float> means(const TaskContext& context, std::int64_t kv_list) const {
    const std::int64_t dim = problem.shape.dim;
    return {context.get(buffers.means).data() + kv_list * blocks.count * dim, blocks.count, dim, dim};
  }
  [[nodiscard]] std::span<std::int32_t> slot(const TaskContext& context, SharedBuffer<std::int32_t> buffer,
                                             std::int64_t list, std::int64_t slot, std::int64_t length) const {
    return context.get(buffer).subspan(static_cast<std::size_t>((list * blocks.slots + slot) * length),
                                       static_cast<std::size_t>(length));
  }
};

Blocks blocks_of(const Problem& problem, const Params& params);

Setup make_setup(ScratchLayout& layout, const Problem& problem, const Blocks& blocks);

/// "summarise": the mean key of every block.
Stage summarise_stage(const Setup& setup);
/// "select": the best `slots` other blocks of every query, in ascending order; -1 behind the last.
Stage select_stage(ScratchLayout& layout, const Setup& setup);
/// "sort": the rows of each slot by the block that they chose; rows without a choice are left out.
Stage sort_stage(const Setup& setup);

}  // namespace attnscale::methods::select_parts
