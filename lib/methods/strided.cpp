// Strided attention of the Sparse Transformer: the last l keys and oneself, and every key a multiple of l away. Causal:
// {p-l .. p} and {j <= p : (p-j) % l == 0}; without mask both sides. auto: l = ceil(sqrt(n_k)), which balances the two
// parts. The local part runs over contiguous strips; the stride part over strips of one residue class mod l, whose rows
// share their keys, and goes on from the state of the local part. It leaves out distances 0 and l, which the local part
// has. Cost: min(l, p) keys on the left plus oneself, plus max(0, floor(p/l) - 1) strides; the right side mirrors it.
// R. Child et al., "Generating long sequences with sparse transformers", 2019.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/numbers.hpp"
#include "methods/catalog.hpp"
#include "methods/patterns.hpp"
#include "methods/strips.hpp"

namespace attnscale::methods {
namespace {

constexpr std::array kParams = {
    ParamSpec{"l", ParamKind::automatic, "auto", 1, kLongestSequence, "", "the stride; auto: ceil(sqrt(n_k))"},
};

std::int64_t stride_of(const Problem& problem, const Params& params) {
  return params.integer_or("l", ceil_root(problem.shape.keys, 2));
}

std::optional<std::string> unsupported(const Problem& problem, const Params&) {
  return needs_positions(problem);
}

/// Keys that the positions 0 .. m-1 see on their left.
std::int64_t seen_before(std::int64_t m, std::int64_t l) {
  const std::int64_t strides = steps_before(m, m, l);
  const std::int64_t nearest_strides = steps_before(m, 1, l);
  return steps_before(m, l, 1) + strides - nearest_strides;
}

std::int64_t pairs_per_head(const Problem& problem, std::int64_t l) {
  const std::int64_t n = problem.shape.keys;
  const std::int64_t first = first_seeing_position(problem);
  const std::int64_t left = seen_before(n, l) - seen_before(first, l);
  return n - first + left + (problem.causal() ? 0 : seen_before(n, l));
}

Plan plan(const Problem& problem, const Params& params) {
  const std::int64_t l = stride_of(problem, params);
  const std::int64_t n = problem.shape.keys;
  const auto local = [l](const TaskContext&, const RowRun&, SpanList& spans) {
    spans.add_keys(0, 1, [l](std::int64_t p) { return Interval{p - l, p + l + 1}; });
  };
  const auto strides = [l, n](const TaskContext&, const RowRun& strip, SpanList& spans) {
    const std::int64_t residue = ((strip.first_position % l) + l) % l;
    const auto middle = [=](std::int64_t p) { return (p - residue) / l; };
    spans.add_keys(residue, l, [&](std::int64_t p) { return Interval{0, middle(p) - 1}; });
    spans.add_keys(residue, l, [&](std::int64_t p) { return Interval{middle(p) + 2, n}; });
  };
  Plan plan =
      strip_plan(problem, static_cost(problem, pairs_per_head(problem, l) * head_count(problem)), {}, {1, 1}, local);
  if (n > 2 * l) {  // else no key is two strides away
    plan.stages.push_back(attend_stage(plan.scratch, problem, {.stride = l}, {2, 2}, strides, true));
  }
  return plan;
}

KeyGroups visible(const Problem& problem, const Params& params, std::span<const std::int32_t>) {
  return visible_where(problem, [l = stride_of(problem, params)](std::int64_t p, std::int64_t j) {
    return std::abs(p - j) <= l || (p - j) % l == 0;
  });
}

}  // namespace

const Method strided = {
    .name = "strided",
    .summary = "the nearest l keys, and every l-th key",
    .paper = "Child et al. 2019, arXiv:1904.10509",
    .complexity = "O(n sqrt(n))",
    .contract = Contract::pruned,
    .params = kParams,
    .unsupported = unsupported,
    .plan = plan,
    .visible = visible,
};

}  // namespace attnscale::methods
