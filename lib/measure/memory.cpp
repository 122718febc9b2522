#include "measure/memory.hpp"

#include <algorithm>
#include <fstream>
#include <string>

#if __has_include(<sys/resource.h>)
#include <sys/resource.h>
#include <unistd.h>
#define ATTNSCALE_HAS_RLIMIT 1
#endif

#include "measure/cgroup.hpp"
#include "measure/proc.hpp"

namespace attnscale {
namespace {

// Constant-initialised: the hooks register during static initialisation, in whatever order.
constinit AllocationHooks hooks{nullptr, nullptr};

std::optional<std::int64_t> bytes_of(const char* path, const char* key) {
  const std::optional<std::string> value = line_value(path, key);
  return value ? size_in_bytes(*value) : std::nullopt;
}

std::optional<std::int64_t> address_space_left() {
#ifdef ATTNSCALE_HAS_RLIMIT
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const auto used = bytes_of("/proc/self/status", "VmSize");
  if (!used) return std::nullopt;
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - *used);
#else
  return std::nullopt;
#endif
}

}  // namespace

void register_allocation_hooks(AllocationHooks given) {
  hooks = given;
}

std::optional<AllocationReading> read_allocations() {
  if (hooks.read == nullptr) return std::nullopt;
  return hooks.read();
}

void reset_allocation_peak() {
  if (hooks.reset_peak != nullptr) hooks.reset_peak();
}

CountedRegion::CountedRegion() {
  reset_allocation_peak();
  if (const auto reading = read_allocations()) entry_live_ = reading->live_bytes;
}

std::optional<std::int64_t> CountedRegion::bytes() const {
  const auto reading = read_allocations();
  if (!reading || !entry_live_) return std::nullopt;
  return reading->peak_bytes - *entry_live_;
}

std::optional<std::int64_t> reset_resident_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  if (!file) return std::nullopt;
  return bytes_of("/proc/self/status", "VmRSS");
}

std::optional<std::int64_t> resident_peak() {
  return bytes_of("/proc/self/status", "VmHWM");
}

std::optional<std::int64_t> free_memory() {
  std::optional<std::int64_t> least;
  for (const auto& bound : {bytes_of("/proc/meminfo", "MemAvailable"), cgroup_headroom(), address_space_left()}) {
    if (bound) least = std::min(least.value_or(*bound), *bound);
  }
  return least;
}

}  // namespace attnscale
