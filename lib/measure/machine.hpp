// What machine this is, as far as it explains a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attnscale {

struct Machine {
  std::string cpu;                                           ///< model name
  int cores = 0;                                             ///< that this process may use
  std::vector<std::pair<std::string, std::int64_t>> caches;  ///< "L1d" -> bytes
  std::string governor;                                      ///< empty when the kernel does not say
  std::string kernel;                                        ///< system and release
  std::string compiler;
  std::vector<std::pair<std::string, std::string>> versions;  ///< libraries that this one knows; callers add theirs
  std::int64_t memory_bytes = 0;
  std::string host;  ///< 16 hex digits: hash of CPU model, configured cores and kernel; never a host name
};

/// Empty or zero fields where the system does not say.
Machine describe_machine();
/// What the machine's settings put in doubt (a power-saving governor), none when nothing does.
std::vector<std::string> warnings_of(const Machine& machine);

/// The largest cache that data passes through, in bytes; 0 when unknown.
std::int64_t last_level_cache(const Machine& machine);

/// The most of `cores` that share one physical core: 2 with simultaneous multithreading, 1 without or when unknown.
/// `root` stands before /sys in tests.
int threads_per_core(const std::vector<int>& cores, const std::string& root = "");

/// What disturbs a measurement: read before and after, the difference becomes warnings.
struct Disturbance {
  std::optional<double> load;               ///< 1-minute load average
  std::optional<std::int64_t> steal_ticks;  ///< taken from this virtual machine since boot, over all cores
  std::optional<double> frequency_mhz;      ///< mean over cores
};
Disturbance read_disturbance();
/// Share of the time of `threads` cores that the hypervisor took between two readings; empty when unknown.
std::optional<double> steal_share(const Disturbance& before, const Disturbance& after, double elapsed_s, int threads);
/// Readable warnings ("steal time 3.1 %"), none when all is quiet: steal above 1 % of the time of the cores in use, a
/// load beyond our own `threads` by more than half a core, a frequency that changed by more than 5 %.
std::vector<std::string> warnings_of(const Disturbance& before, const Disturbance& after, double elapsed_s,
                                     int threads);

}  // namespace attnscale
