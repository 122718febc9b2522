#include "study/cell_run.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include <fmt/format.h>

#include "measure/memory.hpp"
#include "record/scaled.hpp"
#include "study/budget.hpp"
#include "study/identity.hpp"
#include "study/verify/evaluate.hpp"

namespace attnscale {
namespace {

using Clock = std::chrono::steady_clock;

// A call that was predicted within the budget may miss it by this factor, as on a busy machine, and is still measured.
constexpr int kTimeoutFactor = 2;

double since_ns(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

std::string_view bytes_of(QueryTensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.view().data), static_cast<std::size_t>(tensor.bytes())};
}

std::string hash_output(CellRun& cell) {
  return hash_text(bytes_of(cell.out)) + hash_text(bytes_of(cell.lse));
}

void fill(QueryTensor& tensor, float value) {
  float* data = tensor.view().data;
  std::fill(data, data + tensor.bytes() / static_cast<std::int64_t>(sizeof(float)), value);
}

// Work and memory of the first run: counted, not predicted.
void record_work(CellRun& cell, const Problem& problem, int threads) {
  Record& r = cell.record;
  const Cost& cost = cell.plan->cost;
  r.visible_pairs = cell.report.work.visible_pairs;
  r.scored_pairs = cell.report.work.scored_pairs;
  r.exps = cell.report.work.visible_pairs;
  r.flops = flops_of(problem.shape, *r.scored_pairs, *r.visible_pairs, cost.extra_flops);
  r.bytes_moved = cost.bytes_moved;
  if (cost.bytes_moved > 0)
    r.arithmetic_intensity = static_cast<double>(*r.flops) / static_cast<double>(cost.bytes_moved);
  r.window_keys = cost.window_keys;
  r.padded_n = cost.padded_n;
  r.exact_fallback = cost.exact_fallback;
  r.workspace_bytes_predicted = cell.plan->workspace_bytes(threads);
}

// The region covers the plan, a fresh workspace and the first run: reuse can never show as zero.
void run_first(CellRun& cell, const Group& group, const Qkv& inputs, Executor& executor,
               std::span<std::int32_t> choices) {
  cell.plan.reset();
  const std::optional<AllocationReading> before = read_allocations();
  const CountedRegion region;
  cell.plan = std::make_unique<Plan>(cell.spec.plan(group.problem, group.threads));
  cell.workspace = std::make_unique<Workspace>(*cell.plan, group.threads);
  const auto start = Clock::now();
  cell.report = executor.run(*cell.plan, inputs, cell.output(), *cell.workspace, choices);
  cell.expected_ns = since_ns(start);
  cell.calls_ns += cell.expected_ns;
  if (cell.plan->own_time_ns) {
    // Another process: its start is no part of a call, and its memory is not ours to count.
    cell.expected_ns = std::min(cell.expected_ns, static_cast<double>(cell.plan->own_time_ns()));
    return;
  }
  cell.record.workspace_bytes_counted = region.bytes();
  const std::optional<AllocationReading> after = read_allocations();
  if (before && after) cell.record.allocations = after->allocations - before->allocations;
}

}  // namespace

void CellRun::release() {
  plan.reset();
  workspace.reset();
  out = QueryTensor();
  lse = QueryTensor();
}

void poison_output(CellRun& cell) {
  fill(cell.out, std::numeric_limits<float>::quiet_NaN());
  fill(cell.lse, std::numeric_limits<float>::quiet_NaN());
}

void prepare(CellRun& cell, const Group& group, const TimeModel& model) {
  cell.plan = std::make_unique<Plan>(cell.spec.plan(group.problem, group.threads));
  cell.needed_bytes = method_bytes(group.problem.shape, *cell.plan, group.threads);
  cell.record.workspace_bytes_predicted = cell.plan->workspace_bytes(group.threads);
  cell.expected_ns = model.predict_ns(cell.spec, group.problem, cell.plan->cost, group.threads);
  const double budget_ns = group.options.cell_budget_s * 1e9;
  if (cell.expected_ns > budget_ns) {
    cell.end(Outcome::over_budget, fmt::format("one call is predicted to take {}, more than the cell budget of {}",
                                               scaled_time(cell.expected_ns), scaled_time(budget_ns)));
  }
}

void admit(std::vector<CellRun>& cells, double room) {
  std::vector<CellRun*> by_need;
  for (CellRun& cell : cells) {
    if (cell.ok()) by_need.push_back(&cell);
  }
  std::sort(by_need.begin(), by_need.end(), [](const CellRun* a, const CellRun* b) {
    return std::pair(a->needed_bytes, a->spec.str()) < std::pair(b->needed_bytes, b->spec.str());
  });
  double taken = 0;
  for (CellRun* cell : by_need) {
    const auto needed = static_cast<double>(cell->needed_bytes);
    if (taken + needed <= room) {
      taken += needed;
      continue;
    }
    cell->end(Outcome::over_budget,
              fmt::format("it needs {} of memory, but {} is free", scaled_bytes(needed), scaled_bytes(room - taken)));
    cell->release();
  }
}

void verify(CellRun& cell, const Group& group, Oracle& oracle, Executor& executor, TimeModel& model) {
  const Problem& problem = group.problem;
  cell.out = QueryTensor(problem.shape.output_extents());
  cell.lse = QueryTensor(problem.shape.lse_extents());
  poison_output(cell);
  std::vector<std::int32_t> choices(static_cast<std::size_t>(cell.plan->choices));
  run_first(cell, group, oracle.inputs(), executor, choices);
  record_work(cell, problem, group.threads);
  model.learn(cell.spec, problem, cell.plan->cost, cell.report.work, group.threads, cell.expected_ns);

  const MethodRun run{cell.spec, cell.output(), choices, cell.report.work, cell.plan->cost};
  const auto start = Clock::now();
  const std::optional<std::string> wrong = evaluate(run, oracle, cell.record);
  cell.oracle_ns += since_ns(start);
  cell.output_hash = hash_output(cell);
  if (wrong) return cell.end(Outcome::incorrect, *wrong);
  const double limit_ns = kTimeoutFactor * group.options.cell_budget_s * 1e9;
  if (cell.expected_ns > limit_ns) {
    cell.end(Outcome::timeout, fmt::format("the first call took {}, more than {} times the cell budget",
                                           scaled_time(cell.expected_ns), kTimeoutFactor));
  }
}

void time_plan(CellRun& cell, const Group& group) {
  constexpr std::size_t kMostRepeats = 5;
  constexpr double kEnoughNs = 100e6;
  std::vector<double> times;
  for (double spent = 0; times.size() < kMostRepeats && spent < kEnoughNs; spent += times.back()) {
    const auto start = Clock::now();
    const Plan plan = cell.spec.plan(group.problem, group.threads);
    times.push_back(since_ns(start));
    cell.calls_ns += times.back();
  }
  std::sort(times.begin(), times.end());
  cell.record.plan_ns_median = times[times.size() / 2];
}

void check_unchanged(CellRun& cell) {
  if (hash_output(cell) == cell.output_hash) return;
  cell.end(Outcome::incorrect, "the output of the timed calls differs from the verified output");
}

}  // namespace attnscale
