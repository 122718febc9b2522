// Rates are computed from the work that was done; none of these asserts how fast a machine is.
#include "doctor/limits.hpp"

#include <chrono>

#include "doctor/noise.hpp"
#include "kernels/strip.hpp"
#include "support/catch.hpp"

using namespace attnscale;

namespace {

/// A batch whose every unit lasts at least a tenth of a millisecond.
void wait(std::int64_t count) {
  const auto end = std::chrono::steady_clock::now() + count * std::chrono::microseconds(100);
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

TEST_CASE("the best rate is units over time, and batches grow until they are long") {
  std::int64_t largest = 0;
  const double rate = best_rate(0.05, [&](std::int64_t count) {
    largest = std::max(largest, count);
    wait(count);
  });
  CHECK(rate > 0);
  CHECK(rate <= 1.0 / 100e3);  // no unit can be faster than it lasts
  CHECK(largest > 1);
}

TEST_CASE("a batch is measured at least once, however little time there is") {
  int calls = 0;
  CHECK(best_rate(0, [&](std::int64_t) { ++calls; }) > 0);
  CHECK(calls == 1);
}

TEST_CASE("every limit is measured at every SIMD target") {
  for (const std::string& target : kernels::available_targets()) {
    CAPTURE(target);
    kernels::use_target(target);
    for (const int threads : {1, 2}) {
      Executor executor(threads);
      CHECK(peak_gflops(executor, 0.002) > 0);
      const Bandwidth found = bandwidth(executor, 5000, 0.002);
      CHECK(found.read_gbs > 0);
      CHECK(found.triad_gbs > 0);
    }
    CHECK(exps_per_ns(0.002) > 0);
  }
  kernels::use_target(kernels::available_targets().front());
  CHECK(clock_cost_ns(0.002) > 0);
}

TEST_CASE("the noise floor compares a kernel with itself in as many rounds as asked for") {
  const NoiseFloor noise = measure_noise(7, 1000);
  CHECK(noise.rounds == 7);
  CHECK(noise.ratio > 0);
  CHECK(noise.spread >= 0);
}
