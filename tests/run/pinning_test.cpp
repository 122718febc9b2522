// Pinned executors hold their threads; others let them go.
#include "run/pinning.hpp"

#include <atomic>
#include <chrono>
#include <set>

#include "run/executor.hpp"
#include "support/catch.hpp"
#ifdef __linux__
#include <sched.h>

using namespace attnscale;

namespace {

std::vector<int> cores_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  REQUIRE(sched_getaffinity(0, sizeof(set), &set) == 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

/// The cores that each task of a loop may use. Tasks wait for each other, so that every thread takes exactly one.
std::vector<std::vector<int>> cores_of_tasks(Executor& executor) {
  const int threads = executor.threads();
  std::vector<std::vector<int>> cores(static_cast<std::size_t>(threads));
  std::atomic<int> arrived{0};
  executor.parallel_for(threads, [&](std::int64_t task) {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores[static_cast<std::size_t>(task)].push_back(core);
    }
    ++arrived;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (arrived < threads && std::chrono::steady_clock::now() < end) sched_yield();
  });
  return cores;
}

}  // namespace

TEST_CASE("a pinned executor holds each thread on a core of its own, and an unpinned one frees them") {
  const std::vector<int> allowed = allowed_cores();
  REQUIRE_FALSE(allowed.empty());
  for (const int threads : {1, 2, 3}) {
    CAPTURE(threads);
    Executor pinned(threads, true);
    Executor free(threads);
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::multiset<int> used;
      for (const std::vector<int>& cores : cores_of_tasks(pinned)) {
        REQUIRE(cores.size() == 1);
        used.insert(cores[0]);
      }
      std::multiset<int> expected;
      for (int i = 0; i < threads; ++i) expected.insert(allowed[static_cast<std::size_t>(i) % allowed.size()]);
      CHECK(used == expected);
      for (const std::vector<int>& cores : cores_of_tasks(free)) CHECK(cores == allowed);
    }
  }
}

TEST_CASE("the caller stays held until it is let go") {
  const std::vector<int> allowed = allowed_cores();
  Executor pinned(1, true);
  pinned.parallel_for(1, [](std::int64_t) {});
  CHECK(cores_of_this_thread() == std::vector<int>{allowed[0]});
  CHECK(hold_thread(kAnyCore));
  CHECK(cores_of_this_thread() == allowed);
  CHECK(hold_thread(static_cast<int>(allowed.size())));  // from the start again
  CHECK(cores_of_this_thread() == std::vector<int>{allowed[0]});
  CHECK(hold_thread(kAnyCore));
}
#endif
