#include "methods/select_blocks.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "core/numbers.hpp"
#include "kernels/strip.hpp"
#include "methods/counting_sort.hpp"

namespace attnscale::methods::select_parts {
namespace {

constexpr std::int64_t kTaskKeys = 4096;  // keys per task of the summaries

// Sums in fp64, so that the mean of a long block carries one rounding only.
void mean_rows(const MatrixView<const float>& k, Interval rows, std::vector<double>& sum, float* mean) {
  std::fill(sum.begin(), sum.end(), 0.0);
  for (std::int64_t j = rows.first; j < rows.last; ++j) {
    const float* key = k.row(j);
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += key[c];
  }
  const auto count = static_cast<double>(rows.last - rows.first);
  for (std::size_t c = 0; c < sum.size(); ++c) mean[c] = static_cast<float>(sum[c] / count);
}

// The first block before `end`, not `own`, whose mean scores NaN; -1 when there is none.
std::int32_t poisonous_block(const float* q, const MatrixView<const float>& means, std::int64_t end, std::int64_t own) {
  for (std::int64_t b = 0; b < end; ++b) {
    float sum = 0;
    for (std::int64_t c = 0; c < means.width; ++c) sum += q[c] * means.row(b)[c];
    if (b != own && std::isnan(sum)) return static_cast<std::int32_t>(b);
  }
  return -1;
}

// Leaves in `keys` the best `slots` blocks other than `own`, from one more that may hold it; returns how many there
// are. The keys ascend, so the last of equal scores is the one to drop.
std::int64_t drop_own(std::span<std::int32_t> keys, std::span<const float> scores, std::int64_t own,
                      std::int64_t slots) {
  auto drop = std::find(keys.begin(), keys.end(), own);
  if (drop == keys.end()) {
    if (static_cast<std::int64_t>(keys.size()) <= slots) return static_cast<std::int64_t>(keys.size());
    std::size_t worst = 0;
    for (std::size_t i = 1; i < keys.size(); ++i) {
      if (scores[i] <= scores[worst]) worst = i;
    }
    drop = keys.begin() + static_cast<std::ptrdiff_t>(worst);
  }
  std::copy(drop + 1, keys.end(), drop);
  return static_cast<std::int64_t>(keys.size()) - 1;
}

// Writes the choice of one strip into the slots of its rows.
void keep_choice(const Setup& setup, const TaskContext& context, const RowRun& strip, std::int64_t k,
                 const kernels::TopkResult& best) {
  const std::int64_t list = setup.list(strip.batch, strip.head);
  const std::int64_t slots = setup.blocks.slots;
  for (std::int64_t l = 0; l < strip.count; ++l) {
    const auto lane = static_cast<std::size_t>(l);
    const std::int64_t p = strip.position(l);
    const std::int64_t own = p < 0 ? -1 : setup.blocks.of(p);
    const auto keys = best.keys.subspan(lane * static_cast<std::size_t>(k), static_cast<std::size_t>(best.found[lane]));
    const auto scores = best.scores.subspan(lane * static_cast<std::size_t>(k), keys.size());
    std::int64_t count = drop_own(keys, scores, own, slots);
    if (best.poison[lane] != 0) {
      const MatrixView<float> means =
          setup.means(context, strip.batch.value * setup.problem.shape.kv_heads + strip.kv_head.value);
      best.keys[lane * static_cast<std::size_t>(k)] =
          poisonous_block(context.in.q.matrix(strip.batch, strip.head).row(strip.row(l)), means,
                          setup.problem.causal() ? own : setup.blocks.count, own);
      count = 1;
    }
    for (std::int64_t s = 0; s < slots; ++s) {
      setup.slot(context, setup.buffers.chosen, list, s, setup.problem.shape.queries)[strip.row(l)] =
          s < count ? best.keys[lane * static_cast<std::size_t>(k) + static_cast<std::size_t>(s)] : -1;
    }
  }
}

}  // namespace

Blocks blocks_of(const Problem& problem, const Params& params) {
  const std::int64_t keys = problem.shape.keys;
  const std::int64_t size = std::min(params.integer_or("block", ceil_root(keys, 2)), keys);
  const std::int64_t count = ceil_div(keys, size);
  return {keys, size, count, std::min(params.integer("blocks"), count) - 1};
}

Setup make_setup(ScratchLayout& layout, const Problem& problem, const Blocks& blocks) {
  const Shape& s = problem.shape;
  const std::int64_t lists = s.batch * s.heads * blocks.slots;
  return {problem,
          blocks,
          {layout.shared<float>(s.batch * s.kv_heads * blocks.count * s.dim),
           layout.shared<std::int32_t>(lists * s.queries), layout.shared<std::int32_t>(lists * s.queries),
           layout.shared<std::int32_t>(lists * (blocks.count + 1))}};
}

Stage summarise_stage(const Setup& setup) {
  const Shape s = setup.problem.shape;
  const std::int64_t per_task = ceil_div(kTaskKeys, setup.blocks.size);
  const std::int64_t chunks = ceil_div(setup.blocks.count, per_task);
  return {"summarise", s.batch * s.kv_heads * chunks, [=](const TaskContext& context, std::int64_t task) {
            const std::int64_t list = task / chunks;
            const std::int64_t first = task % chunks * per_task;
            const auto k = context.in.k.matrix(BatchIndex{list / s.kv_heads}, KvHeadIndex{list % s.kv_heads});
            const MatrixView<float> means = setup.means(context, list);
            std::vector<double> sum(static_cast<std::size_t>(s.dim));
            for (std::int64_t b = first; b < std::min(first + per_task, setup.blocks.count); ++b) {
              mean_rows(k, setup.blocks.range(b), sum, means.row(b));
            }
          }};
}

Stage select_stage(ScratchLayout& layout, const Setup& setup) {
  // Without a mask the own block is among the candidates: one more, and it is dropped.
  const std::int64_t k = setup.blocks.slots + (setup.problem.causal() ? 0 : 1);
  const auto keys = layout.per_worker<std::int32_t>(kernels::kMaxStrip * k);
  const auto scores = layout.per_worker<float>(kernels::kMaxStrip * k);
  const auto scratch = layout.per_worker<float>(kernels::topk_scratch(setup.problem.shape.dim, k));
  return strip_stage("select", setup.problem, {}, [=](const TaskContext& context, const RowRun& strip) {
    std::array<std::int32_t, kernels::kMaxStrip> rows{};
    std::array<std::int32_t, kernels::kMaxStrip> lo{};
    std::array<std::int32_t, kernels::kMaxStrip> hi{};
    std::array<std::int32_t, kernels::kMaxStrip> found{};
    std::array<std::int32_t, kernels::kMaxStrip> poison{};
    const MatrixView<float> means =
        setup.means(context, strip.batch.value * setup.problem.shape.kv_heads + strip.kv_head.value);
    kernels::Span span{.k = means.data, .count = means.rows, .k_stride = means.row_stride};
    if (setup.problem.causal()) {
      for (std::int64_t l = 0; l < strip.count; ++l) {
        hi[static_cast<std::size_t>(l)] =
            static_cast<std::int32_t>(setup.blocks.of(std::max<std::int64_t>(strip.position(l), 0)));
      }
      span.count = *std::max_element(hi.begin(), hi.end());
      span.lo = lo.data();
      span.hi = hi.data();
    }
    const kernels::TopkResult best{context.get(keys), context.get(scores), found, poison};
    context.count->scored_pairs += kernels::select_topk(kernel_strip(context, strip, rows), span,
                                                        setup.problem.score_scale(), k, best, context.get(scratch));
    keep_choice(setup, context, strip, k, best);
  });
}

Stage sort_stage(const Setup& setup) {
  const Shape s = setup.problem.shape;
  return {"sort", s.batch * s.heads * setup.blocks.slots, [=](const TaskContext& context, std::int64_t task) {
            const std::int64_t list = task / setup.blocks.slots;
            const std::int64_t slot = task % setup.blocks.slots;
            counting_sort(setup.slot(context, setup.buffers.chosen, list, slot, s.queries),
                          setup.slot(context, setup.buffers.sorted, list, slot, s.queries),
                          setup.slot(context, setup.buffers.start, list, slot, setup.blocks.count + 1));
          }};
}

}  // namespace attnscale::methods::select_parts
