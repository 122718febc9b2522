#include "measure/machine.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#if __has_include(<sys/utsname.h>)
#include <sys/utsname.h>
#include <unistd.h>
#define ATTNSCALE_HAS_UNIX 1
#endif
#ifdef __linux__
#include <sched.h>
#endif
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "measure/proc.hpp"
#include "measure/sampler.hpp"

namespace attnscale {
namespace {

const std::string kCpus = "/sys/devices/system/cpu";

std::string architecture() {
#ifdef ATTNSCALE_HAS_UNIX
  utsname names{};
  if (uname(&names) == 0) return names.machine;
#endif
  return "unknown";
}

std::string kernel_name() {
#ifdef ATTNSCALE_HAS_UNIX
  utsname names{};
  if (uname(&names) == 0) return fmt::format("{} {}", names.sysname, names.release);
#endif
  return {};
}

/// ARM kernels name an implementer and a part instead of a model.
std::string cpu_name() {
  if (const auto model = line_value("/proc/cpuinfo", "model name")) return *model;
  const auto implementer = line_value("/proc/cpuinfo", "CPU implementer");
  const auto part = line_value("/proc/cpuinfo", "CPU part");
  if (implementer && part) return fmt::format("{} implementer {} part {}", architecture(), *implementer, *part);
  return architecture();
}

int usable_cores() {
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

/// Of the machine, whatever this process may use, so that a hash of it does not change under taskset.
int configured_cores() {
#ifdef ATTNSCALE_HAS_UNIX
  return static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
#else
  return static_cast<int>(std::thread::hardware_concurrency());
#endif
}

std::vector<std::pair<std::string, std::int64_t>> cache_sizes() {
  std::vector<std::pair<std::string, std::int64_t>> caches;
  for (int index = 0;; ++index) {
    const std::string folder = fmt::format("{}/cpu0/cache/index{}/", kCpus, index);
    const auto level = first_line(folder + "level");
    const auto type = first_line(folder + "type");
    const auto size = first_line(folder + "size");
    if (!level || !type || !size) return caches;
    const char* suffix = *type == "Data" ? "d" : *type == "Instruction" ? "i" : "";
    caches.emplace_back(fmt::format("L{}{}", *level, suffix), size_in_bytes(*size).value_or(0));
  }
}

std::string compiler_name() {
#if defined(__clang__)
  return __VERSION__;  // says Clang itself
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "unknown";
#endif
}

std::vector<std::pair<std::string, std::string>> library_versions() {
  std::vector<std::pair<std::string, std::string>> versions{{"google-benchmark", benchmark_version()}};
#ifdef __GLIBC__
  versions.emplace_back("glibc", gnu_get_libc_version());
#endif
  return versions;
}

std::int64_t total_memory() {
  const auto value = line_value("/proc/meminfo", "MemTotal");
  return value ? size_in_bytes(*value).value_or(0) : 0;
}

/// Column `field` (0 = user) of the cpu line of /proc/stat, in clock ticks; steal is the eighth.
std::optional<std::int64_t> cpu_ticks(int field) {
  std::istringstream line(line_value("/proc/stat", "cpu").value_or(""));
  std::int64_t ticks = 0;
  for (int i = 0; i <= field; ++i) {
    if (!(line >> ticks)) return std::nullopt;
  }
  return ticks;
}

std::optional<double> mean_frequency_mhz() {
  double sum = 0;
  int cores = 0;
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with("cpu MHz") || colon == std::string::npos) continue;
    double mhz = 0;
    if (std::istringstream(line.substr(colon + 1)) >> mhz) {
      sum += mhz;
      ++cores;
    }
  }
  if (cores > 0) return sum / cores;
  const auto khz = first_line(kCpus + "/cpu0/cpufreq/scaling_cur_freq");
  const auto number = khz ? size_in_bytes(*khz) : std::nullopt;
  if (!number) return std::nullopt;
  return static_cast<double>(*number) / 1e3;
}

double ticks_per_second() {
#ifdef ATTNSCALE_HAS_UNIX
  return static_cast<double>(sysconf(_SC_CLK_TCK));
#else
  return 100;
#endif
}

}  // namespace

Machine describe_machine() {
  Machine machine;
  machine.cpu = cpu_name();
  machine.cores = usable_cores();
  machine.caches = cache_sizes();
  machine.governor = first_line(kCpus + "/cpu0/cpufreq/scaling_governor").value_or("");
  machine.kernel = kernel_name();
  machine.compiler = compiler_name();
  machine.versions = library_versions();
  machine.memory_bytes = total_memory();
  const std::string identity = fmt::format("{}|{}|{}", machine.cpu, configured_cores(), machine.kernel);
  machine.host = fmt::format("{:016x}", XXH3_64bits(identity.data(), identity.size()));
  return machine;
}

std::vector<std::string> warnings_of(const Machine& machine) {
  if (machine.governor.empty() || machine.governor == "performance") return {};
  return {fmt::format("frequency governor {}, not performance", machine.governor)};
}

std::int64_t last_level_cache(const Machine& machine) {
  std::int64_t largest = 0;
  for (const auto& [name, bytes] : machine.caches) {
    if (!name.ends_with('i')) largest = std::max(largest, bytes);
  }
  return largest;
}

int threads_per_core(const std::vector<int>& cores, const std::string& root) {
  std::map<std::string, int> sharing;
  int most = 1;
  for (const int core : cores) {
    const auto siblings = first_line(fmt::format("{}{}/cpu{}/topology/thread_siblings_list", root, kCpus, core));
    if (siblings) most = std::max(most, ++sharing[*siblings]);
  }
  return most;
}

Disturbance read_disturbance() {
  constexpr int kStealField = 7;
  Disturbance now;
  double load = 0;
  if (std::istringstream(first_line("/proc/loadavg").value_or("")) >> load) now.load = load;
  now.steal_ticks = cpu_ticks(kStealField);
  now.frequency_mhz = mean_frequency_mhz();
  return now;
}

std::optional<double> steal_share(const Disturbance& before, const Disturbance& after, double elapsed_s, int threads) {
  if (!before.steal_ticks || !after.steal_ticks || elapsed_s <= 0) return std::nullopt;
  const auto ticks = static_cast<double>(*after.steal_ticks - *before.steal_ticks);
  return ticks / ticks_per_second() / (elapsed_s * threads);
}

std::vector<std::string> warnings_of(const Disturbance& before, const Disturbance& after, double elapsed_s,
                                     int threads) {
  constexpr double kStealShare = 0.01;
  constexpr double kForeignLoad = 0.5;
  constexpr double kFrequencyChange = 0.05;
  std::vector<std::string> warnings;
  if (const auto share = steal_share(before, after, elapsed_s, threads); share && *share > kStealShare)
    warnings.push_back(fmt::format("steal time {:.1f} %", 100 * *share));
  const double load = std::max(before.load.value_or(0), after.load.value_or(0));
  if (load > threads + kForeignLoad) {
    warnings.push_back(fmt::format("load {:.1f} with {} thread{} of ours", load, threads, threads == 1 ? "" : "s"));
  }
  if (before.frequency_mhz && after.frequency_mhz && *before.frequency_mhz > 0 &&
      std::abs(*after.frequency_mhz / *before.frequency_mhz - 1) > kFrequencyChange) {
    warnings.push_back(
        fmt::format("frequency went from {:.0f} to {:.0f} MHz", *before.frequency_mhz, *after.frequency_mhz));
  }
  return warnings;
}

}  // namespace attnscale
