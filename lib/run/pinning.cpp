#include "run/pinning.hpp"

#include <atomic>

#ifdef __linux__
#include <sched.h>
#endif

namespace attnscale {
namespace {

#ifdef __linux__
std::vector<int> read_allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

bool set_cores(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}
#else
std::vector<int> read_allowed_cores() {
  return {};
}

bool set_cores(const std::vector<int>&) {
  return false;
}
#endif

// A thread starts on the cores of the one that made it, which may have been held by then.
constexpr int kInherited = -2;
thread_local int held = kInherited;
constinit std::atomic<bool> any_held{false};

}  // namespace

const std::vector<int>& allowed_cores() {
  static const std::vector<int> cores = read_allowed_cores();
  return cores;
}

bool hold_thread(int index) {
  const bool free = index == kAnyCore;
  if (held == index || (free && !any_held.load(std::memory_order_relaxed))) return true;
  const std::vector<int>& cores = allowed_cores();
  if (cores.empty()) return false;
  if (!free) any_held = true;
  const bool done = set_cores(free ? cores : std::vector<int>{cores[static_cast<std::size_t>(index) % cores.size()]});
  if (done) held = index;
  return done;
}

}  // namespace attnscale
