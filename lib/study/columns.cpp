#include "study/columns.hpp"

#include <map>

#include <fmt/format.h>

#include "analysis/stats.hpp"
#include "inputs/inputs.hpp"
#include "kernels/strip.hpp"
#include "measure/machine.hpp"
#include "study/budget.hpp"
#include "study/build_info.hpp"
#include "study/identity.hpp"

namespace attnscale {
namespace {

void fill_problem(Record& record, const Group& group) {
  const Problem& problem = group.problem;
  const Shape& s = problem.shape;
  record.batch = s.batch;
  record.heads = s.heads;
  record.kv_heads = s.kv_heads;
  record.queries = s.queries;
  record.keys = s.keys;
  record.dim = s.dim;
  record.value_dim = s.value_dim;
  record.mask = name_of(problem.mask);
  record.input = input_label(problem.input);
  record.temperature = problem.temperature;
  record.seed = static_cast<std::int64_t>(problem.seed);
  record.threads = group.threads;
  record.simd_target = kernels::current_target();
  record.cache = group.options.cold ? "cold" : "warm";
  record.pinned = group.options.pin;
  record.scale = problem.score_scale() * problem.temperature;
  record.first_head = problem.first_head;
  record.input_bytes = input_bytes(s);
  record.output_bytes = output_bytes(s);
}

std::vector<double> times_of(const CellRun& cell) {
  std::vector<double> times;
  for (const TimeSample& sample : cell.timing.samples) times.push_back(sample.time_ns);
  return times;
}

void fill_ratio(CellRun& cell, const CellRun& baseline) {
  std::map<int, double> baseline_times;
  for (const TimeSample& sample : baseline.timing.samples) baseline_times[sample.round] = sample.time_ns;
  std::vector<double> own, base;
  for (const TimeSample& sample : cell.timing.samples) {
    const auto at = baseline_times.find(sample.round);
    if (at == baseline_times.end()) continue;
    own.push_back(sample.time_ns);
    base.push_back(at->second);
  }
  if (own.empty()) return;
  Record& record = cell.record;
  const Ratio ratio = ratio_of_rounds(own, base);
  record.baseline = baseline.spec.str();
  record.ratio_to_exact = ratio.value;
  record.ratio_rounds = static_cast<std::int64_t>(ratio.rounds);
  if (!ratio.ci) return;
  record.ratio_ci_low = ratio.ci->low;
  record.ratio_ci_high = ratio.ci->high;
  record.ratio_ci_level = ratio.ci->level;
}

}  // namespace

Origin make_origin(const std::string& study) {
  const BuildInfo build = build_info();
  return {study, describe_machine().host, build.git_commit, build.dirty};
}

void fill_identity(Record& record, const Group& group, const MethodSpec& spec, const Origin& origin,
                   const std::string& input_hash) {
  record.study = origin.study;
  record.cell_id = cell_id(group.problem, spec, group.threads, input_hash, condition_flags(group.options));
  record.method = spec.str();
  record.name = spec.method->name;
  record.label = spec.label();
  record.contract = name_of(spec.method->contract);
  record.complexity = spec.method->complexity;
  record.input_hash = input_hash;
  fill_problem(record, group);
  record.host = origin.host;
  record.git_commit = origin.git_commit;
  record.dirty = origin.dirty;
  record.config_hash = config_hash(group);
  record.repro = repro_command(group, spec);
}

void fill_times(CellRun& cell, const CellRun* baseline, double peak_gflops) {
  const std::vector<double> times = times_of(cell);
  if (!cell.ok() || times.empty()) return;
  Record& record = cell.record;
  record.samples = static_cast<std::int64_t>(times.size());
  record.time_ns_median = median(times);
  record.time_ns_min = percentile(times, 1.0 / static_cast<double>(times.size()));
  record.time_ns_mad = median_absolute_deviation(times);
  record.time_ns_p99 = percentile(times, 0.99);
  if (const auto interval = median_interval(times)) {
    record.time_ns_ci_low = interval->low;
    record.time_ns_ci_high = interval->high;
    record.ci_level = interval->level;
  }
  record.gflops = static_cast<double>(record.flops.value_or(0)) / *record.time_ns_median;
  if (peak_gflops > 0) record.peak_share = *record.gflops / (peak_gflops * static_cast<double>(*record.threads));
  record.tokens_per_s = static_cast<double>(*record.batch * *record.queries) / (*record.time_ns_median * 1e-9);
  if (baseline != nullptr) fill_ratio(cell, *baseline);
}

Cell to_cell(const CellRun& cell) {
  Cell finished;
  finished.record = cell.record;
  finished.record.status = name_of(cell.outcome);
  for (const TimeSample& s : cell.timing.samples) {
    finished.samples.push_back({cell.record.cell_id, s.round, s.order, s.start_ns, s.iterations, s.time_ns});
  }
  for (const StageSample& s : cell.timing.stages)
    finished.stages.push_back({cell.record.cell_id, s.round, s.stage, s.time_ns});
  return finished;
}

}  // namespace attnscale
