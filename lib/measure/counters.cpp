// One counter per event and thread, since the events of a process as a whole can only be counted from its birth on.
// Threads that start during the call are counted by inheritance.
#include "measure/counters.hpp"

#ifdef __linux__
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace attnscale {
namespace {

constexpr std::array kHardware = {CounterEvent{PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
                                  CounterEvent{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
                                  CounterEvent{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}};

/// A counter of one thread, disabled; negative descriptor when the kernel refuses.
class Counter {
 public:
  Counter(const CounterEvent& event, pid_t thread) {
    perf_event_attr attributes{};
    attributes.size = sizeof(attributes);
    attributes.type = event.type;
    attributes.config = event.config;
    attributes.disabled = 1;
    attributes.inherit = 1;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    descriptor_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (descriptor_ < 0) error_ = errno;
  }
  ~Counter() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Counter(Counter&& other) noexcept : descriptor_(other.descriptor_), error_(other.error_) { other.descriptor_ = -1; }
  Counter& operator=(Counter&&) = delete;

  [[nodiscard]] bool open() const { return descriptor_ >= 0; }
  [[nodiscard]] int error() const { return error_; }
  void enable(bool on) const { ioctl(descriptor_, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0); }
  [[nodiscard]] std::optional<std::int64_t> value() const {
    struct {
      std::uint64_t value, enabled, running;
    } reading{};
    if (read(descriptor_, &reading, sizeof(reading)) != sizeof(reading)) return std::nullopt;
    if (reading.running == 0) return reading.enabled == 0 ? std::optional<std::int64_t>(0) : std::nullopt;
    const double scale = static_cast<double>(reading.enabled) / static_cast<double>(reading.running);
    return std::llround(static_cast<double>(reading.value) * scale);
  }

 private:
  int descriptor_ = -1;
  int error_ = 0;
};

std::vector<pid_t> threads_of_process() {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error))
    threads.push_back(static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10)));
  return threads;
}

/// The counters of one event over all threads; none when the event cannot be counted. A thread that has just ended is
/// left out.
std::vector<Counter> counters_of(const CounterEvent& event, const std::vector<pid_t>& threads) {
  std::vector<Counter> counters;
  for (const pid_t thread : threads) {
    Counter counter(event, thread);
    if (counter.open()) {
      counters.push_back(std::move(counter));
    } else if (counter.error() != ESRCH) {
      return {};
    }
  }
  return counters;
}

std::optional<std::int64_t> total_of(const std::vector<Counter>& counters) {
  if (counters.empty()) return std::nullopt;
  std::int64_t total = 0;
  for (const Counter& counter : counters) {
    // A thread that slept throughout has been counted at no time: nothing happened in it.
    total += counter.value().value_or(0);
  }
  return total;
}

}  // namespace

std::vector<std::optional<std::int64_t>> count_events(std::span<const CounterEvent> events,
                                                      const std::function<void()>& call) {
  const std::vector<pid_t> threads = threads_of_process();
  std::vector<std::vector<Counter>> counters;
  for (const CounterEvent& event : events) counters.push_back(counters_of(event, threads));
  const auto enable_all = [&](bool on) {
    for (const auto& of_event : counters) {
      for (const Counter& counter : of_event) counter.enable(on);
    }
  };
  enable_all(true);
  call();
  enable_all(false);
  std::vector<std::optional<std::int64_t>> totals;
  for (const auto& of_event : counters) totals.push_back(total_of(of_event));
  return totals;
}

HardwareCounts count_hardware(const std::function<void()>& call) {
  const auto counts = count_events(kHardware, call);
  return {counts[0], counts[1], counts[2]};
}

std::string counters_missing() {
  const Counter counter(kHardware[0], 0);
  return counter.open() ? "" : std::strerror(counter.error());
}

}  // namespace attnscale
#else
namespace attnscale {

std::vector<std::optional<std::int64_t>> count_events(std::span<const CounterEvent> events,
                                                      const std::function<void()>& call) {
  call();
  return std::vector<std::optional<std::int64_t>>(events.size());
}

HardwareCounts count_hardware(const std::function<void()>& call) {
  call();
  return {};
}

std::string counters_missing() {
  return "this system has no perf_event_open";
}

}  // namespace attnscale
#endif
