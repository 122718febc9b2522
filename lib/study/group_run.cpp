// One group: all methods at one problem, verified one by one, then timed together.
#include <algorithm>
#include <chrono>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/stats.hpp"
#include "core/error.hpp"
#include "inputs/npy.hpp"
#include "kernels/strip.hpp"
#include "measure/counters.hpp"
#include "measure/machine.hpp"
#include "measure/memory.hpp"
#include "record/scaled.hpp"
#include "run/pinning.hpp"
#include "study/cell_run.hpp"
#include "study/session.hpp"

namespace attnscale {
namespace {

constexpr double kUsableShare = 0.9;     // of the free memory: the rest is left to the system
constexpr double kLongestProbeNs = 2e9;  // a call that takes longer is not run once more for its resident memory

double since_s(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class GroupRun {
 public:
  GroupRun(const Group& group, Session& session) : group_(group), session_(session) {
    for (const MethodSpec& spec : group.methods) {
      cells_.emplace_back();
      cells_.back().spec = spec;
      fill_identity(cells_.back().record, group, spec, session.origin(), "");
    }
  }

  bool run() {
    session_.start_group();
    kernels::use_target(group_.options.simd.empty() ? kernels::available_targets().front() : group_.options.simd);
    find_unsupported();
    if (load_inputs()) {
      each([&](CellRun& cell) { prepare(cell, group_, session_.model()); }, "plan");
      if (const auto available = free_memory()) admit(cells_, kUsableShare * static_cast<double>(*available));
      each([&](CellRun& cell) { verify_one(cell); }, "verify");
      if (!session_.interrupted()) measure();
      if (counters_missing().empty()) each([&](CellRun& cell) { count(cell); }, "count events of");
      each([&](CellRun& cell) { probe(cell); }, "resident memory of");
    }
    finish();
    return !session_.interrupted();
  }

 private:
  // A step of every cell that is still ok; what it throws is that cell's failure.
  template <class Step>
  void each(const Step& step, const char* doing) {
    for (CellRun& cell : cells_) {
      if (!cell.ok() || session_.interrupted()) continue;
      session_.report(fmt::format("{} {} at n={}", doing, cell.record.label, group_.problem.shape.keys));
      try {
        step(cell);
      } catch (const WriteError&) {
        throw;
      } catch (const std::bad_alloc&) {
        cell.end(Outcome::failed, "memory ran out");
      } catch (const Unsupported& reason) {
        cell.end(Outcome::unsupported, reason.what());
      } catch (const TimedOut& reason) {
        cell.end(Outcome::timeout, reason.what());
      } catch (const std::exception& error) {
        cell.end(Outcome::failed, error.what());
      }
      if (!cell.ok()) cell.release();
    }
  }

  void find_unsupported() {
    const auto ask = [&](CellRun& cell) {
      if (const auto reason = cell.spec.unsupported(group_.problem)) cell.end(Outcome::unsupported, *reason);
    };
    each(ask, "ask");
  }

  void end_all(Outcome how, const std::string& reason) {
    for (CellRun& cell : cells_) {
      if (cell.ok()) cell.end(how, reason);
    }
  }

  // Decided before anything is allocated; inputs of an earlier problem make room first.
  bool load_inputs() {
    const Problem& problem = group_.problem;
    if (!session_.holds(problem)) session_.unload();
    const std::int64_t needed = session_.holds(problem) ? 0 : problem_bytes(problem, session_.oracle_threads());
    const std::optional<std::int64_t> available = free_memory();
    if (available && static_cast<double>(needed) + static_cast<double>(output_bytes(problem.shape)) >
                         kUsableShare * static_cast<double>(*available)) {
      end_all(Outcome::over_budget,
              fmt::format("inputs and their verification need {}, but {} of memory is free",
                          scaled_bytes(static_cast<double>(needed)), scaled_bytes(static_cast<double>(*available))));
      return false;
    }
    try {
      session_.load(problem);
    } catch (const std::exception& error) {
      end_all(Outcome::failed, fmt::format("the inputs could not be made: {}", error.what()));
      return false;
    }
    for (CellRun& cell : cells_)
      fill_identity(cell.record, group_, cell.spec, session_.origin(), session_.inputs().hash);
    return true;
  }

  void verify_one(CellRun& cell) {
    cell.record.input_nans = session_.oracle().input_nans();
    verify(cell, group_, session_.oracle(), executor(), session_.model());
    if (cell.has_output() && !session_.options().save_output.empty()) save(cell);
    if (cell.ok() && !cell.plan->own_time_ns) time_plan(cell, group_);
  }

  void save(CellRun& cell) {
    const std::string stem = (session_.options().save_output / cell.record.cell_id).string();
    write_npy(stem + ".o.npy", cell.out.view(), false);
    if (cell.spec.method->gives_lse) write_npy(stem + ".lse.npy", cell.lse.view(), true);
  }

  Executor& executor() { return session_.executor(group_.threads, group_.options.pin); }

  std::function<void()> call_of(CellRun& cell) {
    return [&cell, &executor = executor(), inputs = session_.inputs().view()] {
      try {
        cell.report = executor.run(*cell.plan, inputs, cell.output(), *cell.workspace);
      } catch (const TimedOut&) {
        cell.timed_out = true;
        throw;
      }
    };
  }

  Timed timed(CellRun& cell) {
    Timed timed;
    timed.name = cell.spec.str();
    timed.call = call_of(cell);
    timed.expect_calls = cell.plan->expect_calls;
    if (cell.plan->own_time_ns) timed.own_time_ns = [&cell] { return cell.plan->own_time_ns(); };
    timed.stages = [&cell] {
      std::vector<std::pair<std::string, std::int64_t>> stages;
      for (const StageTime& stage : cell.report.stages) stages.emplace_back(stage.name, stage.time_ns);
      return stages;
    };
    return timed;
  }

  void measure() {
    std::vector<CellRun*> running;
    std::vector<Timed> callables;
    TimingOptions options;
    for (CellRun& cell : cells_) {
      if (!cell.ok()) continue;
      if (&cell == &cells_.front()) options.baseline = 0;
      poison_output(cell);
      running.push_back(&cell);
      callables.push_back(timed(cell));
    }
    if (running.empty()) return;
    const double peak = session_.peak_gflops();
    options.min_rounds = group_.options.min_rounds;
    options.max_time_s = group_.options.max_time_s;
    options.precision = group_.options.precision;
    options.seed = group_.problem.seed;
    if (group_.options.cold) {
      options.sample_floor_ns = 0;
      options.before_sample = [this] { session_.empty_caches(executor()); };
    }
    session_.report(fmt::format("time {} methods at n={}", running.size(), group_.problem.shape.keys));
    const Disturbance before = read_disturbance();
    const auto start = std::chrono::steady_clock::now();
    std::vector<Timing> timings =
        measure_interleaved(callables, options, relative_half_width, [&] { return !session_.interrupted(); });
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::vector<std::string> warnings = warnings_of(before, read_disturbance(), elapsed, group_.threads);
    if (const std::size_t cores = allowed_cores().size();
        group_.options.pin && static_cast<std::size_t>(group_.threads) > cores)
      warnings.push_back(fmt::format("{} threads pinned to {} cores share them", group_.threads, cores));
    warnings.insert(warnings.begin(), session_.inputs().warnings.begin(), session_.inputs().warnings.end());
    for (std::size_t i = 0; i < running.size(); ++i) take_timing(*running[i], std::move(timings[i]), warnings);
    const CellRun* baseline = cells_.front().timing.samples.empty() ? nullptr : &cells_.front();
    for (CellRun* cell : running) {
      fill_times(*cell, baseline, peak);
      // Later cells are predicted from the median, which a cold or disturbed first call does not spoil.
      if (const auto& median = cell->record.time_ns_median) {
        session_.model().learn(cell->spec, group_.problem, cell->plan->cost, cell->report.work, group_.threads,
                               *median);
      }
    }
  }

  void take_timing(CellRun& cell, Timing timing, const std::vector<std::string>& warnings) {
    cell.timing = std::move(timing);
    cell.calls_ns += cell.timing.calls_ns;
    session_.spent().eviction_s += cell.timing.before_ns * 1e-9;
    cell.record.warnings = fmt::format("{}", fmt::join(warnings, "; "));
    if (!cell.timing.error.empty())
      return cell.end(cell.timed_out ? Outcome::timeout : Outcome::failed, cell.timing.error);
    if (cell.timing.samples.empty()) return;
    if (cell.plan->own_time_ns) take_own_share(cell);
    check_unchanged(cell);
  }

  // Its stages are timed by our clock, its samples by its own.
  static void take_own_share(CellRun& cell) {
    constexpr double kLittle = 0.5;
    double own_ns = 0, elapsed_ns = 0;
    for (const TimeSample& sample : cell.timing.samples) own_ns += sample.time_ns;
    for (const StageSample& stage : cell.timing.stages) elapsed_ns += stage.time_ns;
    if (elapsed_ns <= 0) return;
    cell.record.own_time_share = own_ns / elapsed_ns;
    if (*cell.record.own_time_share >= kLittle) return;
    std::string& warnings = cell.record.warnings;
    warnings += fmt::format("{}its own clock counts {:.2g} of the time until its answer was here",
                            warnings.empty() ? "" : "; ", *cell.record.own_time_share);
  }

  // Calls apart from the timed ones, since reading counters takes system calls.
  void count(CellRun& cell) {
    constexpr double kEnoughNs = 10e6;
    const double call_ns = std::max(cell.record.time_ns_median.value_or(kEnoughNs), 1.0);
    const auto calls = std::max<std::int64_t>(1, static_cast<std::int64_t>(kEnoughNs / call_ns));
    const auto start = std::chrono::steady_clock::now();
    const HardwareCounts counts = count_hardware([&, call = call_of(cell)] {
      for (std::int64_t i = 0; i < calls; ++i) call();
    });
    cell.calls_ns += since_s(start) * 1e9;
    const auto per_call = [calls](const std::optional<std::int64_t>& total) {
      return total ? std::optional<std::int64_t>((*total + calls / 2) / calls) : std::nullopt;
    };
    cell.record.instructions = per_call(counts.instructions);
    cell.record.cycles = per_call(counts.cycles);
    cell.record.cache_misses = per_call(counts.cache_misses);
  }

  void probe(CellRun& cell) {
    if (cell.expected_ns > kLongestProbeNs) return;
    hold_thread(kAnyCore);  // a child process would be held with us
    const auto start = std::chrono::steady_clock::now();
    cell.record.resident_bytes =
        resident_bytes(session_.options().probe, group_.problem, cell.spec, group_.threads, group_.options.simd);
    session_.spent().children_s += since_s(start);
  }

  // A cell that an interruption left without a sample is no finished row.
  void finish() {
    for (CellRun& cell : cells_) {
      const bool cut_short = session_.interrupted();
      if (cell.ok() && cell.timing.samples.empty() && cut_short) continue;
      if (cell.ok() && cut_short) cell.record.reason = "interrupted before the wanted precision was reached";
      session_.spent().calls_s += cell.calls_ns * 1e-9;
      session_.spent().oracle_s += cell.oracle_ns * 1e-9;
      session_.finish(to_cell(cell), cell_weight(group_));
      cell.release();
    }
    hold_thread(kAnyCore);
    session_.finish_group(group_.problem.shape.keys, static_cast<std::int64_t>(cells_.size()));
  }

  const Group& group_;
  Session& session_;
  std::vector<CellRun> cells_;
};

}  // namespace

bool run_group(const Group& group, Session& session) {
  return GroupRun(group, session).run();
}

}  // namespace attnscale
