#include "doctor/findings.hpp"

#include <fmt/format.h>

namespace attnscale {

std::vector<Finding> findings_of(const Conditions& c) {
  constexpr double kLoad = 0.5;    // half a core
  constexpr double kSteal = 0.01;  // as in the warnings of a run
  constexpr double kNoise = 0.02;
  std::vector<Finding> findings;
  if (!c.governor.empty() && c.governor != "performance") {
    findings.push_back({"governor", fmt::format("frequency governor {}", c.governor),
                        "set it to performance: cpupower frequency-set -g performance"});
  }
  if (c.load.value_or(0) > kLoad) {
    findings.push_back({"load", fmt::format("load {:.1f} before this command", *c.load),
                        "wait, or stop what runs; else leave it a core of its own: fewer --threads, and --pin"});
  }
  if (c.steal_share.value_or(0) > kSteal) {
    findings.push_back({"steal", fmt::format("the hypervisor took {:.1f} % of the time", 100 * *c.steal_share),
                        "measure at a quieter hour or on a machine of your own; trust ratios, not milliseconds"});
  }
  if (c.threads_per_core > 1) {
    findings.push_back({"smt", fmt::format("{} of the {} cores share a physical one", c.threads_per_core, c.cores),
                        fmt::format("use at most {} threads, held by taskset and --pin on cores that share nothing",
                                    (c.cores + c.threads_per_core - 1) / c.threads_per_core)});
  }
  if (c.noise_spread > kNoise) {
    findings.push_back({"noise", fmt::format("the same kernel differs from itself by {:.1f} %", 100 * c.noise_spread),
                        "more rounds help (--precision, --max-time); so does removing what stands above"});
  }
  if (!c.counters_missing.empty()) {
    findings.push_back({"counters", fmt::format("no hardware counters ({})", c.counters_missing),
                        "their columns stay empty; on bare metal: sysctl kernel.perf_event_paranoid=2"});
  }
  return findings;
}

}  // namespace attnscale
