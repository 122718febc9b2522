// Memory in two truths: bytes counted by the allocator hooks, and resident bytes as the kernel sees them.
#pragma once

#include <cstdint>
#include <optional>

namespace attnscale {

/// Counters over the malloc family, on which every form of new and delete stands. Bytes are those that the program
/// asked for, not what the allocator rounds them to: so they are the same in every run and can be compared exactly. The
/// hooks are one object (allocation_counter.cpp) that only the program links; without it, off glibc and under
/// sanitizers every reading is empty.
struct AllocationReading {
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;  ///< since the last reset
  std::int64_t allocations = 0;
};
std::optional<AllocationReading> read_allocations();
/// Sets peak = live.
void reset_allocation_peak();

/// What the hooks offer; they register themselves before main.
struct AllocationHooks {
  AllocationReading (*read)();
  void (*reset_peak)();
};
void register_allocation_hooks(AllocationHooks hooks);

/// Peak live minus entry live between construction and bytes(), over all threads. Regions do not nest: each resets the
/// peak.
class CountedRegion {
 public:
  CountedRegion();
  [[nodiscard]] std::optional<std::int64_t> bytes() const;

 private:
  std::optional<std::int64_t> entry_live_;
};

/// Resets the resident high-water mark (writes 5 to /proc/self/clear_refs) and returns VmRSS in bytes; empty when
/// unavailable.
std::optional<std::int64_t> reset_resident_peak();
/// VmHWM in bytes; empty when unavailable. Meaningful in a fresh process only.
std::optional<std::int64_t> resident_peak();

/// What can still be allocated without swapping, in bytes: the least of MemAvailable, what the memory cgroup (v1 or v2)
/// and its ancestors leave, and what RLIMIT_AS leaves. Empty when unknown.
std::optional<std::int64_t> free_memory();

}  // namespace attnscale
