#include "study/budget.hpp"

#include <algorithm>
#include <chrono>

#include "inputs/inputs.hpp"
#include "run/executor.hpp"
#include "study/verify/oracle.hpp"
#include "study/verify/rows.hpp"

namespace attnscale {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

// A method of which nothing is known yet may be this much slower per FLOP than exact.streaming.
constexpr double kUnknownSlowdown = 2;
// Visible keys per row that a data-dependent method is taken to have before its first call.
constexpr double kUnknownPairs = 1024;

std::int64_t saturated(double bytes) {
  constexpr double kMost = 9e18;
  return static_cast<std::int64_t>(std::min(bytes, kMost));
}

}  // namespace

std::int64_t input_bytes(const Shape& s) {
  const double queries =
      static_cast<double>(s.batch * s.heads) * static_cast<double>(s.queries) * static_cast<double>(s.dim);
  const double keys = static_cast<double>(s.batch * s.kv_heads) * static_cast<double>(s.keys) *
                      static_cast<double>(s.dim + s.value_dim);
  return saturated((queries + keys) * kFloat);
}

std::int64_t output_bytes(const Shape& s) {
  return saturated(static_cast<double>(s.batch * s.heads) * static_cast<double>(s.queries) *
                   static_cast<double>(s.value_dim + 1) * kFloat);
}

std::int64_t problem_bytes(const Problem& problem, int oracle_threads) {
  const Shape& s = problem.shape;
  const auto heads = static_cast<double>(s.batch * s.heads);
  const double rows =
      heads *
      static_cast<double>(s.queries <= kAllRows ? s.queries : kSampledRows + static_cast<std::int64_t>(kForcedRows));
  // A row: its output in fp64, the best keys, and what a map's node takes. Norms: of queries, keys and values in fp64.
  const double row_bytes = static_cast<double>(s.value_dim) * 8 + kBestKeys * 4 + 256;
  const double norms = 8 * (heads * static_cast<double>(s.queries) +
                            2 * static_cast<double>(s.batch * s.kv_heads) * static_cast<double>(s.keys));
  // Per thread and key: its group, its pseudo-key's number, count and logit, and a score with its index.
  const double scratch = 40.0 * static_cast<double>(s.keys) * oracle_threads;
  const double copies = input_shape(problem.input) ? 2 : 1;  // a file is read whole before it is cut
  return saturated(copies * static_cast<double>(input_bytes(s)) + rows * row_bytes + norms + scratch);
}

std::int64_t method_bytes(const Shape& shape, const Plan& plan, int threads) {
  return output_bytes(shape) + plan.workspace_bytes(threads) +
         plan.choices * static_cast<std::int64_t>(sizeof(std::int32_t));
}

std::int64_t flops_of(const Shape& shape, std::int64_t scored_pairs, std::int64_t visible_pairs,
                      std::int64_t extra_flops) {
  return 2 * shape.dim * scored_pairs + 2 * shape.value_dim * visible_pairs + extra_flops;
}

double TimeModel::flops(const MethodSpec& spec, const Problem& problem, const Cost& cost) const {
  const auto rows = static_cast<double>(problem.shape.rows());
  const auto keys = static_cast<double>(problem.shape.keys);
  double unknown = rows * std::min(keys, kUnknownPairs);
  if (const auto seen = seen_.find(spec.str()); seen != seen_.end()) {
    // Pairs per row grow at most with the number of keys.
    unknown = rows * seen->second.pairs_per_row * std::max(1.0, keys / seen->second.keys);
  }
  const double scored = cost.scored_pairs ? static_cast<double>(*cost.scored_pairs) : unknown;
  const double visible = cost.visible_pairs ? static_cast<double>(*cost.visible_pairs) : std::min(unknown, scored);
  return 2 * static_cast<double>(problem.shape.dim) * scored +
         2 * static_cast<double>(problem.shape.value_dim) * visible + static_cast<double>(cost.extra_flops);
}

double TimeModel::predict_ns(const MethodSpec& spec, const Problem& problem, const Cost& cost, int threads) const {
  double rate = calibrated_ * (spec.method->contract == Contract::exact ? 1 : kUnknownSlowdown);
  if (const auto seen = seen_.find(spec.str()); seen != seen_.end()) rate = seen->second.ns_per_flop;
  return rate * flops(spec, problem, cost) / threads;
}

void TimeModel::learn(const MethodSpec& spec, const Problem& problem, const Cost& cost, const WorkCount& work,
                      int threads, double time_ns) {
  const auto done =
      static_cast<double>(flops_of(problem.shape, work.scored_pairs, work.visible_pairs, cost.extra_flops));
  if (done <= 0) return;
  seen_[spec.str()] = {
      time_ns * threads / done,
      static_cast<double>(std::max(work.scored_pairs, work.visible_pairs)) / static_cast<double>(problem.shape.rows()),
      static_cast<double>(problem.shape.keys)};
}

double calibrate() {
  Problem problem;
  problem.shape.queries = problem.shape.keys = 512;
  const MethodSpec spec = parse_method("exact.streaming").front();
  const Inputs inputs = make_inputs(problem);
  const Plan plan = spec.method->plan(problem, spec.params);
  Executor executor(1);
  Workspace workspace(plan, 1);
  QueryTensor out(problem.shape.output_extents());
  QueryTensor lse(problem.shape.lse_extents());
  double best = 0;
  std::int64_t flops = 1;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    const RunReport report = executor.run(plan, inputs.view(), {out.view(), lse.view()}, workspace);
    const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    best = repeat == 0 ? ns : std::min(best, ns);
    flops = flops_of(problem.shape, report.work.scored_pairs, report.work.visible_pairs, 0);
  }
  return best / static_cast<double>(std::max<std::int64_t>(flops, 1));
}

}  // namespace attnscale
