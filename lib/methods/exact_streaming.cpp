// Exact attention with an online softmax: one pass over the keys, nothing of size n x n. The baseline of every ratio.
// Each strip sees one span, cut per row by the causal mask. M. Milakov, N. Gimelshein, "Online normalizer calculation
// for softmax", 2018; T. Dao et al., "FlashAttention", NeurIPS 2022.
//
// With few query rows (one query of a decoder, at worst) there are fewer tasks than a machine has threads. Then the
// keys are split into parts as well, and a last stage merges the parts of each row by their log-sum-exps, as T. Dao et
// al., "Flash-Decoding", 2023, does. Whether, and into how many, depends on the shape alone.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/numbers.hpp"
#include "methods/catalog.hpp"
#include "methods/patterns.hpp"
#include "methods/strips.hpp"

namespace attnscale::methods {
namespace {

constexpr std::int64_t kEnoughTasks = 8;    // of a head
constexpr std::int64_t kFewestKeys = 2048;  // of a part: about 10 us for one row

/// Outputs of all rows for each part of the keys.
struct Parts {
  std::int64_t count = 1;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  SharedBuffer<float> out;
  SharedBuffer<float> lse;

  [[nodiscard]] float* out_row(const TaskContext& context, std::int64_t part, std::int64_t row) const {
    return context.get(out).data() + (part * rows + row) * width;
  }
  [[nodiscard]] float* lse_row(const TaskContext& context, std::int64_t part, std::int64_t row) const {
    return context.get(lse).data() + part * rows + row;
  }
};

Stage attend_part(const Problem& problem, const Parts& parts, std::int64_t part, WorkerBuffer<std::int32_t> bounds,
                  WorkerBuffer<float> scratch) {
  const Shape shape = problem.shape;
  const std::int64_t first = part * shape.keys / parts.count, end = (part + 1) * shape.keys / parts.count;
  return strip_stage("attend", problem, {}, [=](const TaskContext& context, const RowRun& run) {
    std::array<kernels::Span, 1> spans;
    SpanList listed(problem, run, input_keys(context, run), spans, context.get(bounds));
    listed.add_keys(first, 1, [=](std::int64_t) { return Interval{0, end - first}; });
    std::array<std::int32_t, kernels::kMaxStrip> rows{};
    kernels::Strip strip = kernel_strip(context, run, rows);
    const std::int64_t head_row = (run.batch.value * shape.heads + run.head.value) * shape.queries;
    strip.out = {parts.out_row(context, part, head_row), shape.queries, shape.value_dim, shape.value_dim};
    strip.lse = {parts.lse_row(context, part, head_row), shape.queries, 1, 1};
    const std::int64_t pairs = kernels::attend(strip, listed.spans(), problem.score_scale(), context.get(scratch));
    count_attended(context, pairs);
  });
}

/// out = sum of e^(lse_part) out_part / sum of e^(lse_part), and the logarithm of the latter.
void merge_row(const TaskContext& context, const Parts& parts, std::int64_t row, float* out, float* lse) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float top = -kInfinity;
  for (std::int64_t p = 0; p < parts.count; ++p) top = std::max(top, *parts.lse_row(context, p, row));
  std::fill_n(out, parts.width, 0.0f);
  double sum = 0;
  for (std::int64_t p = 0; p < parts.count; ++p) {
    const float part = *parts.lse_row(context, p, row);
    if (part == -kInfinity) continue;  // saw nothing
    const double weight = std::exp(double{part} - double{top});
    sum += weight;
    for (std::int64_t c = 0; c < parts.width; ++c) {
      out[c] += static_cast<float>(weight) * parts.out_row(context, p, row)[c];
    }
  }
  *lse = sum == 0 ? -kInfinity : static_cast<float>(double{top} + std::log(sum));
  const auto inverse = static_cast<float>(sum == 0 ? 0 : 1 / sum);
  for (std::int64_t c = 0; c < parts.width; ++c) out[c] *= inverse;
}

Stage merge_stage(const Shape& shape, const Parts& parts) {
  return {"merge", shape.batch * shape.heads, [=](const TaskContext& context, std::int64_t head) {
            const BatchIndex batch{head / shape.heads};
            const auto out = context.out.out.matrix(batch, HeadIndex{head % shape.heads});
            const auto lse = context.out.lse.matrix(batch, HeadIndex{head % shape.heads});
            for (std::int64_t i = 0; i < shape.queries; ++i) {
              merge_row(context, parts, head * shape.queries + i, out.row(i), lse.row(i));
            }
          }};
}

Plan split_plan(const Problem& problem, const Cost& cost, std::int64_t count) {
  const Shape& s = problem.shape;
  Plan plan;
  plan.cost = cost;
  const Parts parts{count, s.rows(), s.value_dim, plan.scratch.shared<float>(count * s.rows() * s.value_dim),
                    plan.scratch.shared<float>(count * s.rows())};
  plan.cost.bytes_moved += 2 * plan.scratch.shared_bytes();
  const auto bounds = plan.scratch.per_worker<std::int32_t>(2 * kernels::kMaxStrip);
  const auto scratch = plan.scratch.per_worker<float>(kernels::attend_scratch(s.dim, s.value_dim));
  std::vector<Stage> stages;
  for (std::int64_t p = 0; p < count; ++p) stages.push_back(attend_part(problem, parts, p, bounds, scratch));
  const std::int64_t tasks = stages.front().tasks;
  plan.stages.push_back({"attend", tasks * count, [=](const TaskContext& context, std::int64_t task) {
                           stages[static_cast<std::size_t>(task % count)].body(context, task / count);
                         }});
  plan.stages.push_back(merge_stage(s, parts));
  return plan;
}

Plan plan(const Problem& problem, const Params&) {
  const Cost cost = static_cost(problem, problem.allowed_pairs() * head_count(problem));
  const auto all = [n = problem.shape.keys](std::int64_t) { return Interval{0, n}; };
  Plan plan;
  plan.cost = cost;
  plan.stages.push_back(attend_together_stage(
      plan.scratch, problem, [all](const TaskContext&, const RowRun&, SpanList& list) { list.add_keys(0, 1, all); }));
  const std::int64_t tasks = std::max<std::int64_t>(plan.stages.front().tasks / head_count(problem), 1);
  const std::int64_t parts = std::min(ceil_div(kEnoughTasks, tasks), problem.shape.keys / kFewestKeys);
  return parts > 1 ? split_plan(problem, cost, parts) : plan;
}

KeyGroups visible(const Problem& problem, const Params&, std::span<const std::int32_t>) {
  return visible_where(problem, [](std::int64_t, std::int64_t) { return true; });
}

}  // namespace

const Method exact_streaming = {
    .name = "exact.streaming",
    .summary = "all keys, online softmax in one pass: the time baseline",
    .paper = "Milakov & Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135",
    .complexity = "O(n^2) time, O(n) memory",
    .contract = Contract::exact,
    .plan = plan,
    .visible = visible,
};

}  // namespace attnscale::methods
