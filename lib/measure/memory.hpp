// Memory in two truths: bytes counted by the allocator hooks, and resident bytes as the kernel sees them.
#pragma once

#include <cstdint>
#include <optional>

namespace attnscale {

/// Counters over all new/delete forms and the malloc family. The hooks are one object file (allocation_counter.cpp) that only
/// the program links; without it, and under sanitizers, every reading is empty.
struct AllocationReading {
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;  ///< since the last reset
  std::int64_t allocations = 0;
};
std::optional<AllocationReading> read_allocations();
/// Sets peak = live.
void reset_allocation_peak();

/// Peak live minus entry live between construction and bytes(); atomic over threads.
class CountedRegion {
 public:
  CountedRegion();
  [[nodiscard]] std::optional<std::int64_t> bytes() const;

 private:
  std::optional<std::int64_t> entry_live_;
};

/// Resets the resident high-water mark (writes 5 to /proc/self/clear_refs) and returns VmRSS in bytes; empty when unavailable.
std::optional<std::int64_t> reset_resident_peak();
/// VmHWM in bytes; empty when unavailable. Meaningful in a fresh process only.
std::optional<std::int64_t> resident_peak();

/// MemAvailable of /proc/meminfo, capped by the cgroup's limit and RLIMIT_AS, in bytes; empty when unknown.
std::optional<std::int64_t> free_memory();

}  // namespace attnscale
