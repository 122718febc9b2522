// LSH attention with shared queries and keys (Reformer, Kitaev et al. 2020, arXiv:2001.04451): k := q / norm(q). In
// each round the tokens are sorted by (bucket, position) and cut into chunks of `bucket` places, the last one ragged; a
// token sees its own chunk and the one before, the first chunk the last one (a single chunk is seen once). Buckets
// order the tokens but do not mask. A token sees itself only if no round offers it another key.
//
// Later rounds go on from the output of the earlier ones and hide the pairs that those have met, told by the chunks in
// which both stood. Self is hidden everywhere; a last stage gives it to the rows that are still empty.
//
// scored_pairs: pairs of a chunk with itself and the one before that the mask allows, self and repetitions included,
// over rounds.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/numbers.hpp"
#include "kernels/strip.hpp"
#include "methods/counting_sort.hpp"
#include "methods/lsh_chunks.hpp"
#include "methods/patterns.hpp"
#include "methods/shared_keys.hpp"

namespace attnscale::methods::lsh_parts {
namespace {

constexpr std::int64_t kTaskRows = 128;
constexpr std::int64_t kGatherRows = 1024;

SharedLayout declare(ScratchLayout& scratch, const Setup& setup) {
  const Shape& s = setup.problem.shape;
  const std::int64_t lists = s.batch * s.heads;
  const auto table = [&](std::int64_t rounds) { return declare_table(scratch, lists, rounds, s.queries); };
  SharedLayout layout;
  layout.setup = setup;
  layout.chunks = ceil_div(s.queries, setup.bucket);
  layout.code = table(setup.rounds);
  layout.sorted = table(setup.rounds);
  layout.chunk = table(setup.rounds);
  layout.met = table(setup.rounds - 1);
  layout.inverse = scratch.shared<double>(s.rows());
  layout.k = scratch.shared<float>(s.rows() * s.dim);
  layout.v = scratch.shared<float>(s.rows() * s.value_dim);
  layout.start = scratch.per_worker<std::int32_t>(setup.buckets.count() + 1);
  layout.lane_met = scratch.per_worker<std::int32_t>(setup.rounds * kernels::kMaxStrip);
  layout.lane_met_b = scratch.per_worker<std::int32_t>(setup.rounds * kernels::kMaxStrip);
  layout.scratch = scratch.per_worker<float>(kernels::attend_scratch(s.dim, s.value_dim));
  return layout;
}

// A stage whose tasks are runs of `rows` tokens (or places) of one head.
template <class Body>
Stage token_stage(std::string_view name, const Shape& shape, std::int64_t rows, Body body) {
  const std::int64_t chunks = ceil_div(shape.queries, rows);
  return {name, shape.batch * shape.heads * chunks, [=](const TaskContext& context, std::int64_t task) {
            const std::int64_t first = task % chunks * rows;
            body(context, task / chunks, first, std::min(first + rows, shape.queries));
          }};
}

MatrixView<const float> queries_of(const TaskContext& context, const Shape& shape, std::int64_t list) {
  return context.in.q.matrix(BatchIndex{list / shape.heads}, HeadIndex{list % shape.heads});
}

MatrixView<const float> values_of(const TaskContext& context, const Shape& shape, std::int64_t list) {
  return context.in.v.matrix(BatchIndex{list / shape.heads}, shape.kv_head(HeadIndex{list % shape.heads}));
}

Stage normalise_stage(const SharedLayout& layout) {
  const Shape s = layout.setup.problem.shape;
  return token_stage("normalise", s, kGatherRows,
                     [=](const TaskContext& context, std::int64_t list, std::int64_t first, std::int64_t last) {
                       const MatrixView<const float> q = queries_of(context, s, list);
                       double* inverse = context.get(layout.inverse).data() + list * s.queries;
                       for (std::int64_t i = first; i < last; ++i) inverse[i] = inverse_norm(q.row(i), s.dim);
                     });
}

Stage sort_stage(const SharedLayout& layout) {
  const Shape s = layout.setup.problem.shape;
  const std::int64_t rounds = layout.setup.rounds;
  return {"sort", s.batch * s.heads * rounds, [=](const TaskContext& context, std::int64_t task) {
            const std::int64_t list = task / rounds;
            const std::int64_t round = task % rounds;
            const std::span<std::int32_t> sorted = layout.sorted.of(context, list, round);
            const std::span<std::int32_t> chunk = layout.chunk.of(context, list, round);
            counting_sort(layout.code.of(context, list, round), sorted, context.get(layout.start));
            const auto size = static_cast<std::size_t>(layout.setup.bucket);
            for (std::size_t place = 0; place < sorted.size(); ++place) {
              chunk[static_cast<std::size_t>(sorted[place])] = static_cast<std::int32_t>(place / size);
            }
          }};
}

Stage gather_stage(const SharedLayout& layout, std::int64_t round) {
  const Shape s = layout.setup.problem.shape;
  return token_stage("gather", s, kGatherRows,
                     [=](const TaskContext& context, std::int64_t list, std::int64_t first, std::int64_t last) {
                       const MatrixView<const float> q = queries_of(context, s, list);
                       const MatrixView<const float> v = values_of(context, s, list);
                       const double* inverse = context.get(layout.inverse).data() + list * s.queries;
                       const std::int32_t* order = layout.sorted.of(context, list, round).data();
                       float* to_k = context.get(layout.k).data() + list * s.queries * s.dim;
                       float* to_v = context.get(layout.v).data() + list * s.queries * s.value_dim;
                       for (std::int64_t t = first; t < last; ++t) {
                         scale_to_key(q.row(order[t]), s.dim, inverse[order[t]], to_k + t * s.dim);
                         std::copy_n(v.row(order[t]), s.value_dim, to_v + t * s.value_dim);
                       }
                       for (std::int64_t r = 0; r < round; ++r) {
                         const std::int32_t* chunk = layout.chunk.of(context, list, r).data();
                         std::int32_t* to = layout.met.of(context, list, r).data();
                         for (std::int64_t t = first; t < last; ++t) to[t] = chunk[order[t]];
                       }
                     });
}

Stage attend_stage(const SharedLayout& layout, std::int64_t round) {
  const Problem& problem = layout.setup.problem;
  const Shape s = problem.shape;
  return token_stage("attend", s, kTaskRows,
                     [=](const TaskContext& context, std::int64_t list, std::int64_t first, std::int64_t last) {
                       const BatchIndex batch{list / s.heads};
                       const HeadIndex head{list % s.heads};
                       kernels::Strip strip{context.in.q.matrix(batch, head),
                                            context.out.out.matrix(batch, head),
                                            context.out.lse.matrix(batch, head),
                                            nullptr,
                                            0,
                                            round > 0};
                       for (std::int64_t at = first; at < last; at += strip.count) {
                         strip.rows = layout.sorted.of(context, list, round).data() + at;
                         strip.count = static_cast<int>(std::min<std::int64_t>(kernels::strip_width(), last - at));
                         const ChunkSpans spans(layout, context, list, round, at, strip.count);
                         context.count->scored_pairs += spans.scored();
                         context.count->visible_pairs += kernels::attend(
                             strip, spans.spans(), layout.setup.problem.score_scale(), context.get(layout.scratch));
                       }
                     });
}

// Rows that no round gave another key attend to themselves.
Stage self_stage(const SharedLayout& layout) {
  const Shape s = layout.setup.problem.shape;
  const double scale = layout.setup.problem.score_scale();
  return token_stage("self", s, kGatherRows,
                     [=](const TaskContext& context, std::int64_t list, std::int64_t first, std::int64_t last) {
                       const MatrixView<const float> v = values_of(context, s, list);
                       const BatchIndex batch{list / s.heads};
                       const HeadIndex head{list % s.heads};
                       const MatrixView<float> out = context.out.out.matrix(batch, head);
                       const MatrixView<float> lse = context.out.lse.matrix(batch, head);
                       const double* inverse = context.get(layout.inverse).data() + list * s.queries;
                       for (std::int64_t i = first; i < last; ++i) {
                         if (*lse.row(i) != -std::numeric_limits<float>::infinity()) continue;
                         // q.q / norm(q) is the norm.
                         *lse.row(i) = inverse[i] == 0 ? 0.0f : static_cast<float>(scale / inverse[i]);
                         if (std::isnan(*lse.row(i))) {
                           std::fill_n(out.row(i), s.value_dim, *lse.row(i));
                         } else {
                           std::copy_n(v.row(i), s.value_dim, out.row(i));
                         }
                         ++context.count->visible_pairs;
                       }
                     });
}

Cost cost_of(const Setup& setup, std::int64_t chunks) {
  const Problem& problem = setup.problem;
  const std::int64_t m = setup.bucket;
  const std::int64_t ragged = problem.shape.queries - (chunks - 1) * m;  // places of the last chunk
  Cost cost;
  if (!problem.causal()) {
    // Each chunk with itself, and with the one before; only two of the latter touch the ragged one.
    const std::int64_t own = (chunks - 1) * m * m + ragged * ragged;
    const std::int64_t before = chunks == 1 ? 0 : (chunks - 2) * m * m + 2 * m * ragged;
    cost.scored_pairs = head_count(problem) * setup.rounds * (own + before);
  }
  cost.extra_flops = hash_flops(setup) + shared_keys_flops(problem.shape);
  cost.table_bytes = static_cast<std::int64_t>(setup.rotations->size() * sizeof(float));
  return cost;
}

}  // namespace

Plan shared_plan(const Setup& setup) {
  const Shape& s = setup.problem.shape;
  Plan plan;
  const SharedLayout layout = declare(plan.scratch, setup);
  plan.stages.push_back(normalise_stage(layout));
  plan.stages.push_back(hash_queries(plan.scratch, setup, layout.code));
  plan.stages.push_back(sort_stage(layout));
  for (std::int64_t round = 0; round < setup.rounds; ++round) {
    plan.stages.push_back(gather_stage(layout, round));
    plan.stages.push_back(attend_stage(layout, round));
  }
  plan.stages.push_back(self_stage(layout));
  plan.choices = setup.rounds * s.rows();
  plan.cost = cost_of(setup, layout.chunks);
  const std::int64_t gathered = s.rows() * (s.dim + s.value_dim) * static_cast<std::int64_t>(sizeof(float));
  plan.cost.bytes_moved = shared_keys_bytes(s) + 2 * (plan.scratch.shared_bytes() + (setup.rounds - 1) * gathered);
  return plan;
}

}  // namespace attnscale::methods::lsh_parts
