// Exact attention as textbooks write it: scores, softmax in place and the weighted sum of values as three passes over
// one n_q x n_k buffer, with the register tiles of the strip kernel. The memory baseline. The buffer is shared by all
// workers and used by one (batch, head) after the other, so that memory is n_q n_k and not a multiple of it; under a
// causal mask a strip computes the keys up to the last one that any of its rows may see. A. Vaswani et al., "Attention
// is all you need", NeurIPS 2017.
#include <array>
#include <cassert>

#include "core/numbers.hpp"
#include "methods/catalog.hpp"
#include "methods/patterns.hpp"
#include "methods/strips.hpp"

namespace attnscale::methods {
namespace {

/// The three passes share where things lie: the scores of a strip are a contiguous [key][strip width] block of the
/// buffer.
struct Passes {
  Problem problem;
  std::int64_t width = 0;
  SharedBuffer<float> scores;
  SharedBuffer<float> sums;
  WorkerBuffer<float> scratch;
  WorkerBuffer<std::int32_t> allowed;

  [[nodiscard]] std::int64_t keys(const RowRun& strip) const { return problem.allowed(strip.row(strip.count - 1)); }

  [[nodiscard]] kernels::Span span(const TaskContext& context, const RowRun& strip) const {
    const SpanSource source = input_keys(context, strip);
    kernels::Span span;
    span.k = source.k.data;
    span.v = source.v.data;
    span.count = keys(strip);
    span.k_stride = source.k.row_stride;
    span.v_stride = source.v.row_stride;
    if (problem.causal()) {
      const std::span<std::int32_t> hi = context.get(allowed);
      for (std::int64_t l = 0; l < strip.count; ++l) {
        hi[static_cast<std::size_t>(l)] = static_cast<std::int32_t>(problem.allowed(strip.row(l)));
      }
      span.hi = hi.data();
    }
    return span;
  }

  [[nodiscard]] std::span<float> strip_scores(const TaskContext& context, const RowRun& strip) const {
    assert(strip.first % width == 0 && width == kernels::strip_width());
    return context.get(scores).subspan(static_cast<std::size_t>(strip.first * problem.shape.keys),
                                       static_cast<std::size_t>(width * keys(strip)));
  }

  [[nodiscard]] std::span<float> strip_sums(const TaskContext& context, const RowRun& strip) const {
    return context.get(sums).subspan(static_cast<std::size_t>(strip.first), static_cast<std::size_t>(width));
  }
};

void score_pass(const Passes& passes, const TaskContext& context, const RowRun& strip) {
  std::array<std::int32_t, kernels::kMaxStrip> rows{};
  kernels::score(kernel_strip(context, strip, rows), passes.span(context, strip), passes.problem.score_scale(),
                 passes.strip_scores(context, strip), context.get(passes.scratch));
  for (std::int64_t l = 0; l < strip.count; ++l) {
    const std::int64_t pairs = passes.problem.allowed(strip.row(l));
    count_attended(context, pairs);
  }
}

void softmax_pass(const Passes& passes, const TaskContext& context, const RowRun& strip) {
  std::array<std::int32_t, kernels::kMaxStrip> rows{};
  kernels::softmax(kernel_strip(context, strip, rows), passes.keys(strip), passes.strip_scores(context, strip),
                   passes.strip_sums(context, strip));
}

void weigh_pass(const Passes& passes, const TaskContext& context, const RowRun& strip) {
  std::array<std::int32_t, kernels::kMaxStrip> rows{};
  kernels::weigh(kernel_strip(context, strip, rows), passes.span(context, strip), passes.strip_scores(context, strip),
                 passes.strip_sums(context, strip), context.get(passes.scratch));
}

/// The stage of one pass over one (batch, head).
Stage pass_stage(std::string_view name, const Passes& passes, BatchIndex batch, HeadIndex head,
                 void (*pass)(const Passes&, const TaskContext&, const RowRun&)) {
  Problem one = passes.problem;
  one.shape.batch = one.shape.heads = one.shape.kv_heads = 1;
  const KvHeadIndex kv_head = passes.problem.shape.kv_head(head);
  return strip_stage(name, one, {}, [=](const TaskContext& context, const RowRun& strip) {
    RowRun placed = strip;
    placed.batch = batch;
    placed.head = head;
    placed.kv_head = kv_head;
    pass(passes, context, placed);
  });
}

Plan plan(const Problem& problem, const Params&) {
  Plan plan;
  const Shape& shape = problem.shape;
  plan.cost = static_cost(problem, problem.allowed_pairs() * head_count(problem));
  plan.cost.bytes_moved += 2 * *plan.cost.visible_pairs * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t width = kernels::strip_width();
  const std::int64_t padded_rows = ceil_div(shape.queries, width) * width;
  const Passes passes = {problem,
                         width,
                         plan.scratch.shared<float>(padded_rows * shape.keys),
                         plan.scratch.shared<float>(padded_rows),
                         plan.scratch.per_worker<float>(kernels::attend_scratch(shape.dim, shape.value_dim)),
                         plan.scratch.per_worker<std::int32_t>(kernels::kMaxStrip)};
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      plan.stages.push_back(pass_stage("score", passes, BatchIndex{b}, HeadIndex{h}, score_pass));
      plan.stages.push_back(pass_stage("softmax", passes, BatchIndex{b}, HeadIndex{h}, softmax_pass));
      plan.stages.push_back(pass_stage("weigh", passes, BatchIndex{b}, HeadIndex{h}, weigh_pass));
    }
  }
  return plan;
}

KeyGroups visible(const Problem& problem, const Params&, std::span<const std::int32_t>) {
  return visible_where(problem, [](std::int64_t, std::int64_t) { return true; });
}

}  // namespace

const Method exact_materialized = {
    .name = "exact.materialized",
    .summary = "all keys, scores and softmax in an n x n buffer: the memory baseline",
    .paper = "Vaswani et al. 2017, arXiv:1706.03762",
    .complexity = "O(n^2) time and memory",
    .contract = Contract::exact,
    .plan = plan,
    .visible = visible,
};

}  // namespace attnscale::methods
