#include "doctor/doctor.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "kernels/strip.hpp"
#include "measure/counters.hpp"
#include "measure/memory.hpp"
#include "run/pinning.hpp"

namespace attnscale {
namespace {

std::int64_t cache_bytes(const Machine& machine, const std::string& name) {
  for (const auto& [cache, bytes] : machine.caches) {
    if (cache == name) return bytes;
  }
  return 0;
}

// Far beyond any cache, but never a large part of what is free.
std::int64_t memory_buffer(std::int64_t last_level) {
  constexpr std::int64_t kMost = std::int64_t{512} << 20;
  constexpr std::int64_t kPartOfFree = 8;
  const std::int64_t wanted = std::min(4 * last_level, kMost);
  return std::min(wanted, std::max(last_level, free_memory().value_or(kMost * kPartOfFree) / kPartOfFree));
}

int usable_threads(const DoctorOptions& options) {
  if (options.threads > 0) return options.threads;
  const std::size_t cores = allowed_cores().size();
  return static_cast<int>(cores > 0 ? cores : std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

std::vector<MemoryLevel> memory_levels(const Machine& machine, int threads) {
  constexpr std::int64_t kUsualL1 = 32 << 10, kUsualL2 = 1 << 20, kUsualLast = 32 << 20;
  const std::int64_t l1 = cache_bytes(machine, "L1d"), l2 = cache_bytes(machine, "L2"), l3 = cache_bytes(machine, "L3");
  const std::int64_t last = last_level_cache(machine) > 0 ? last_level_cache(machine) : kUsualLast;
  std::vector<MemoryLevel> levels;
  levels.push_back({"L1", l1, (l1 > 0 ? l1 : kUsualL1) / 2, {}, {}});
  levels.push_back({"L2", l2, (l2 > 0 ? l2 : kUsualL2) / 2, {}, {}});
  // The last level is shared: the buffers of all threads together must fit, and each must be too large for L2.
  if (l3 > 0) levels.push_back({"L3", l3, std::max(l3 / 2 / threads, 2 * (l2 > 0 ? l2 : kUsualL2)), {}, {}});
  levels.push_back({"memory", 0, memory_buffer(last) / threads, {}, {}});
  return levels;
}

Diagnosis diagnose(const DoctorOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const Disturbance before = read_disturbance();
  Diagnosis d;
  d.machine = describe_machine();
  d.simd_target = kernels::current_target();
  d.threads = usable_threads(options);
  // Held on a core each, where the system allows it: on a busy machine the scheduler may leave two threads on one core
  // for as long as a probe lasts.
  const bool pin = !allowed_cores().empty();
  Executor one(1, pin);
  Executor all(d.threads, pin);
  d.peak_gflops_one = peak_gflops(one, options.probe_seconds);
  d.peak_gflops_all = peak_gflops(all, 2 * options.probe_seconds);
  d.exps_per_ns = exps_per_ns(options.probe_seconds);
  d.levels = memory_levels(d.machine, d.threads);
  for (MemoryLevel& level : d.levels) {
    level.one = bandwidth(one, level.buffer_bytes, options.probe_seconds);
    level.all = bandwidth(all, level.buffer_bytes, options.probe_seconds);
  }
  hold_thread(kAnyCore);
  d.clock_cost_ns = clock_cost_ns(options.probe_seconds / 4);
  d.noise = measure_noise(options.noise_rounds);
  Conditions conditions;
  conditions.cores = d.machine.cores;
  conditions.threads_per_core = threads_per_core(allowed_cores());
  conditions.governor = d.machine.governor;
  conditions.load = before.load;
  conditions.steal_share = steal_share(before, read_disturbance(), elapsed(), d.machine.cores);
  conditions.noise_spread = d.noise.spread;
  conditions.counters_missing = counters_missing();
  d.findings = findings_of(conditions);
  d.elapsed_s = elapsed();
  return d;
}

}  // namespace attnscale
