#include "doctor/noise.hpp"

#include <limits>

#include "analysis/stats.hpp"
#include "kernels/probe.hpp"
#include "measure/timing.hpp"

namespace attnscale {

NoiseFloor measure_noise(int rounds, double sample_ns) {
  const std::int64_t steps = 300'000;  // about a millisecond
  const auto call = [steps] { kernels::probe_multiply_add(steps); };
  TimingOptions options;
  options.min_rounds = rounds;
  options.max_time_s = 0;
  options.sample_floor_ns = sample_ns;
  options.baseline = 0;
  const auto never_precise = [](const std::vector<double>&) { return std::numeric_limits<double>::infinity(); };
  const std::vector<Timing> timings =
      measure_interleaved({{"A", call, nullptr}, {"A again", call, nullptr}}, options, never_precise, nullptr);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < timings[0].samples.size(); ++i)
    ratios.push_back(timings[1].samples[i].time_ns / timings[0].samples[i].time_ns);
  return {median(ratios), (percentile(ratios, 0.95) - percentile(ratios, 0.05)) / 2, static_cast<int>(ratios.size())};
}

}  // namespace attnscale
