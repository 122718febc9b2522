// Exact attention with an online softmax: one pass over the keys, nothing of size n x n. The baseline of every ratio.
// Each strip sees one span, cut per row by the causal mask. M. Milakov, N. Gimelshein, "Online normalizer calculation
// for softmax", 2018; T. Dao et al., "FlashAttention", NeurIPS 2022.
#include "methods/catalog.hpp"
#include "methods/patterns.hpp"
#include "methods/strips.hpp"

namespace attnscale::methods {
namespace {

Plan plan(const Problem& problem, const Params&) {
  const Cost cost = static_cost(problem, problem.allowed_pairs() * head_count(problem));
  const auto all = [n = problem.shape.keys](std::int64_t) { return Interval{0, n}; };
  return strip_plan(problem, cost, {}, {1, 1},
                    [all](const TaskContext&, const RowRun&, SpanList& list) { list.add_keys(0, 1, all); });
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
