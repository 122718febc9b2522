// Counters are tested with software events, which every Linux kernel counts; hardware events may be missing.
#include "measure/counters.hpp"

#include <array>
#include <stdexcept>
#include <thread>

#include "support/catch.hpp"
#ifdef __linux__
#include <linux/perf_event.h>
#include <sys/mman.h>
#endif

using namespace attnscale;

#ifdef __linux__
namespace {

constexpr CounterEvent kPageFaults{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS};
constexpr CounterEvent kNoSuchEvent{PERF_TYPE_SOFTWARE, 12345};
constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 100;

/// Touches fresh pages, one fault each.
void fault() {
  void* memory = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, kPages * kPage, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * kPage] = 1;
  munmap(memory, kPages * kPage);
}

}  // namespace

TEST_CASE("events of a call are counted, in threads that it starts too") {
  const auto once = count_events(std::array{kPageFaults}, fault);
  REQUIRE(once.size() == 1);
  if (!once[0]) {
    WARN("this kernel counts no events for this user");
    return;
  }
  CHECK(*once[0] >= static_cast<std::int64_t>(kPages));
  CHECK(*once[0] < static_cast<std::int64_t>(2 * kPages));
  const auto twice = count_events(std::array{kPageFaults}, [] {
    std::thread other(fault);
    fault();
    other.join();
  });
  CHECK(*twice[0] >= static_cast<std::int64_t>(2 * kPages));
  const auto idle = count_events(std::array{kPageFaults}, [] {});
  CHECK(*idle[0] < static_cast<std::int64_t>(kPages) / 2);
}

TEST_CASE("an event that cannot be counted is empty and leaves the others alone") {
  bool called = false;
  const auto counts = count_events(std::array{kNoSuchEvent, kPageFaults}, [&] { called = true; });
  CHECK(called);
  REQUIRE(counts.size() == 2);
  CHECK_FALSE(counts[0]);
}
#endif

TEST_CASE("hardware counts are there exactly when nothing is said to be missing") {
  int calls = 0;
  const HardwareCounts counts = count_hardware([&] { ++calls; });
  CHECK(calls == 1);
  CHECK(counts.instructions.has_value() == counters_missing().empty());
}

TEST_CASE("what the counted call throws comes through") {
  CHECK_THROWS_AS(count_hardware([] { throw std::runtime_error("broken"); }), std::runtime_error);
}
