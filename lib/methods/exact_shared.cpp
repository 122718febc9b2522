// Exact attention with k := q / norm(q): what Reformer's `lsh:qk=shared` approximates, and so its counterpart in every
// comparison of accuracy. n^2 scored and visible pairs; the keys of all query heads are made first (one buffer of the
// size of the queries), and the given keys are not read (shared_keys.hpp).
#include <algorithm>

#include "core/numbers.hpp"
#include "methods/catalog.hpp"
#include "methods/reference.hpp"
#include "methods/shared_keys.hpp"
#include "methods/strips.hpp"

namespace attnscale::methods {
namespace {

constexpr std::int64_t kTaskRows = 1024;

Stage normalise_stage(const Problem& problem, SharedBuffer<float> keys) {
  const Shape s = problem.shape;
  const std::int64_t chunks = ceil_div(s.queries, kTaskRows);
  return {"normalise", s.batch * s.heads * chunks, [s, chunks, keys](const TaskContext& context, std::int64_t task) {
            const std::int64_t list = task / chunks;  // (batch, head)
            const std::int64_t first = task % chunks * kTaskRows;
            const MatrixView<const float> q =
                context.in.q.matrix(BatchIndex{list / s.heads}, HeadIndex{list % s.heads});
            float* out = context.get(keys).data() + (list * s.queries + first) * s.dim;
            for (std::int64_t i = first; i < std::min(first + kTaskRows, s.queries); ++i, out += s.dim) {
              scale_to_key(q.row(i), s.dim, inverse_norm(q.row(i), s.dim), out);
            }
          }};
}

Plan make_plan(const Problem& problem, const Params&) {
  const Shape s = problem.shape;
  Plan plan;
  const auto keys = plan.scratch.shared<float>(s.rows() * s.dim);
  plan.stages.push_back(normalise_stage(problem, keys));
  plan.stages.push_back(attend_stage(
      plan.scratch, problem, {}, {},
      [problem, s, keys](const TaskContext& context, const RowRun& strip, SpanList& spans) {
        const std::int64_t list = strip.batch.value * s.heads + strip.head.value;
        const SpanSource source{{context.get(keys).data() + list * s.queries * s.dim, s.queries, s.dim, s.dim},
                                input_keys(context, strip).v};
        spans.add_rows(source, 0, [&](std::int64_t p) { return Interval{0, problem.causal() ? p + 1 : s.keys}; });
      }));
  Cost& cost = plan.cost;
  cost.visible_pairs = s.batch * s.heads * problem.allowed_pairs();
  cost.scored_pairs = cost.visible_pairs;
  cost.extra_flops = shared_keys_flops(s);
  cost.bytes_moved = shared_keys_bytes(s) + 2 * plan.scratch.shared_bytes();
  cost.exact_fallback = true;
  return plan;
}

}  // namespace

const Method exact_shared = {
    .name = "exact.shared",
    .summary = "exact attention whose keys are the normalised queries, head by head: the counterpart of lsh:qk=shared",
    .paper = "Kitaev et al. 2020, arXiv:2001.04451",
    .complexity = "O(n^2)",
    .contract = Contract::exact,
    .unsupported = [](const Problem& problem, const Params&) { return needs_equal_lengths(problem); },
    .plan = make_plan,
    .visible = [](const Problem& problem, const Params&,
                  std::span<const std::int32_t>) { return allowed_keys(problem); },
    .shared_qk = [](const Params&) { return true; },
};

}  // namespace attnscale::methods
