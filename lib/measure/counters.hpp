// Hardware counters through perf_event_open, where the kernel offers them: not in most virtual machines and containers,
// nor with perf_event_paranoid above 2. Everything is empty then.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attnscale {

/// An event under the numbers of perf_event_open(2).
struct CounterEvent {
  std::uint32_t type = 0;
  std::uint64_t config = 0;
};

/// How often each event happened during a call, in user mode, over all threads of this process; scaled up when the
/// kernel let an event count for a part of the time only. Empty for an event that cannot be counted.
std::vector<std::optional<std::int64_t>> count_events(std::span<const CounterEvent> events,
                                                      const std::function<void()>& call);

struct HardwareCounts {
  std::optional<std::int64_t> instructions;
  std::optional<std::int64_t> cycles;
  std::optional<std::int64_t> cache_misses;  ///< of the last level
};

HardwareCounts count_hardware(const std::function<void()>& call);

/// Empty when instructions can be counted, else why not, in the system's words.
std::string counters_missing();

}  // namespace attnscale
