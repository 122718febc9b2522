// Each sample is one benchmark, registered with a fixed number of iterations and one repetition, run by
// RunSpecifiedBenchmarks and read by a reporter of our own that prints nothing. Time is manual: only the call itself is
// between the clock readings, so that reading its stage times is not part of it. That costs two readings of the clock
// per call (some 50 ns), alike for all callables, and what surrounds a sample is outside its time.
#include "measure/sampler.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>

namespace attnscale {
namespace {

using Clock = std::chrono::steady_clock;

class SampleReporter : public benchmark::BenchmarkReporter {
 public:
  explicit SampleReporter(Sample& sample) : sample_(sample) {}
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    if (runs.empty() || runs.front().iterations < 1) return;
    sample_.iterations = runs.front().iterations;
    sample_.time_ns = runs.front().real_accumulated_time * 1e9 / static_cast<double>(sample_.iterations);
  }

 private:
  Sample& sample_;
};

void add_stages(const Timed& timed, Sample& sample) {
  if (!timed.stages) return;
  for (const auto& [name, time_ns] : timed.stages()) {
    auto at = sample.stages.begin();
    while (at != sample.stages.end() && at->first != name) ++at;
    if (at == sample.stages.end()) at = sample.stages.insert(at, {name, 0.0});
    at->second += static_cast<double>(time_ns);
  }
}

/// The time of a call in seconds. The callable's own clock counts when it has one, but a part cannot take longer than
/// the whole: beyond rounding, such a time is refused.
double seconds_of(const Timed& timed, Clock::duration elapsed) {
  constexpr std::int64_t kRoundingNs = 1000;
  if (!timed.own_time_ns) return std::chrono::duration<double>(elapsed).count();
  const std::int64_t own_ns = timed.own_time_ns();
  const std::int64_t elapsed_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count();
  if (own_ns <= 0 || (!timed.expect_calls && own_ns > elapsed_ns + kRoundingNs)) {
    throw std::runtime_error("its own clock says " + std::to_string(own_ns) + " ns for a call that took " +
                             std::to_string(elapsed_ns) + " ns");
  }
  return static_cast<double>(own_ns) * 1e-9;
}

/// The body of the benchmark. Nothing may be thrown through Google Benchmark, so an exception becomes a skipped run.
void run_state(benchmark::State& state, const Timed& timed, Sample& sample) {
  sample.start = Clock::now();
  for (auto _ : state) {
    try {
      const Clock::time_point begin = Clock::now();
      timed.call();
      const Clock::duration elapsed = Clock::now() - begin;
      sample.elapsed_ns += std::chrono::duration<double, std::nano>(elapsed).count();
      state.SetIterationTime(seconds_of(timed, elapsed));
      add_stages(timed, sample);
    } catch (const std::exception& exception) {
      sample.error = exception.what();
    } catch (...) {
      sample.error = "an unknown exception";
    }
    if (!sample.error.empty()) {
      state.SkipWithError(sample.error.c_str());
      break;
    }
  }
}

}  // namespace

Sample take_sample(const Timed& timed, std::int64_t iterations) {
  Sample sample;
  if (timed.expect_calls) timed.expect_calls(iterations);
  SampleReporter reporter(sample);
  benchmark::RegisterBenchmark(timed.name.c_str(), [&](benchmark::State& state) { run_state(state, timed, sample); })
      ->Iterations(iterations)
      ->Repetitions(1)
      ->UseManualTime();
  benchmark::RunSpecifiedBenchmarks(&reporter, ".");
  benchmark::ClearRegisteredBenchmarks();
  if (sample.error.empty() && sample.iterations == 0) {
    throw std::runtime_error("Google Benchmark gave no result; unset the BENCHMARK_* variables of the environment");
  }
  sample.elapsed_ns /= static_cast<double>(std::max<std::int64_t>(sample.iterations, 1));
  for (auto& [name, time_ns] : sample.stages) time_ns /= static_cast<double>(sample.iterations);
  return sample;
}

std::string benchmark_version() {
  return ATTNSCALE_BENCHMARK_VERSION;
}

}  // namespace attnscale
