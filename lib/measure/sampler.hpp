// One sample through Google Benchmark; sampler.cpp is the only file that includes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "measure/timing.hpp"

namespace attnscale {

struct Sample {
  std::chrono::steady_clock::time_point start;
  std::int64_t iterations = 0;
  double time_ns = 0;                                  ///< per call, as Google Benchmark reports it
  double elapsed_ns = 0;                               ///< per call by our clock; differs when the callable has its own
  std::vector<std::pair<std::string, double>> stages;  ///< per call, in order of first appearance
  std::string error;                                   ///< what the callable threw; then the times mean nothing
};

/// Calls `timed` `iterations` times in the loop of one benchmark::State.
Sample take_sample(const Timed& timed, std::int64_t iterations);

/// Version of Google Benchmark.
std::string benchmark_version();

}  // namespace attnscale
