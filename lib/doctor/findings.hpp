// What disturbs measurements on this machine, and what to do about it: decided from readings alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace attnscale {

/// Empty where the system does not say.
struct Conditions {
  int cores = 1;             ///< that this process may use
  int threads_per_core = 1;  ///< the most of them that share a physical core
  std::string governor;
  std::optional<double> load;         ///< 1-minute average before anything of ours ran
  std::optional<double> steal_share;  ///< of the time of all our cores
  double noise_spread = 0;            ///< see NoiseFloor
  std::string counters_missing;       ///< why hardware counters are not there; empty when they are
};

struct Finding {
  std::string kind;    ///< governor, steal, load, smt, noise or counters
  std::string what;    ///< what was seen
  std::string advice;  ///< what to do
};

/// None on a quiet machine.
std::vector<Finding> findings_of(const Conditions& conditions);

}  // namespace attnscale
