// What machine this is, as far as it explains a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attnscale {

struct Machine {
  std::string cpu;                 ///< model name
  int cores = 0;                   ///< that this process may use
  std::vector<std::pair<std::string, std::int64_t>> caches;  ///< "L1d" -> bytes
  std::string governor;            ///< empty when the kernel does not say
  std::string kernel;              ///< system and release
  std::string compiler;
  std::vector<std::pair<std::string, std::string>> versions;  ///< libraries
  std::int64_t memory_bytes = 0;
  std::string host;                ///< hash of CPU model, core count and kernel; never a host name
};

Machine describe_machine();

/// What disturbs a measurement: read before and after, the difference becomes warnings.
struct Disturbance {
  std::optional<double> load;       ///< 1-minute load average
  std::optional<std::int64_t> steal_ticks;
  std::optional<double> frequency_mhz;
};
Disturbance read_disturbance();
/// Readable warnings ("steal time 3.1 %"), none when all is quiet.
std::vector<std::string> warnings_of(const Disturbance& before, const Disturbance& after, double elapsed_s, int threads);

}  // namespace attnscale
