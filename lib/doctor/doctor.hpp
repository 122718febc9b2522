// `attnscale doctor`: the ceilings of this machine, its noise, and what disturbs, in a few seconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "doctor/findings.hpp"
#include "doctor/limits.hpp"
#include "doctor/noise.hpp"
#include "measure/machine.hpp"
#include "record/run_info.hpp"

namespace attnscale {

/// A cache or the memory, measured with buffers that fit into it and not into the level above.
struct MemoryLevel {
  std::string name;               ///< "L1", "L2", "L3", "memory"
  std::int64_t size_bytes = 0;    ///< 0: not known, or the memory
  std::int64_t buffer_bytes = 0;  ///< per thread
  Bandwidth one;                  ///< of one thread
  Bandwidth all;                  ///< of all threads together
};

struct Diagnosis {
  Machine machine;
  std::string simd_target;
  int threads = 1;
  double peak_gflops_one = 0;
  double peak_gflops_all = 0;
  double exps_per_ns = 0;
  std::vector<MemoryLevel> levels;
  double clock_cost_ns = 0;
  NoiseFloor noise;
  std::vector<Finding> findings;
  double elapsed_s = 0;
};

struct DoctorOptions {
  int threads = 0;             ///< 0: every core that this process may use
  double probe_seconds = 0.1;  ///< for each micro-kernel
  int noise_rounds = 100;
};

/// Measures at the SIMD target in use.
Diagnosis diagnose(const DoctorOptions& options = {});

/// The buffers that diagnose() uses for a machine with these caches: names and sizes are filled in. Where the caches
/// are unknown, usual sizes stand in.
std::vector<MemoryLevel> memory_levels(const Machine& machine, int threads);

/// A table for people.
std::string diagnosis_text(const Diagnosis& diagnosis);
/// The same as sections of names and values, for JSON.
RunInfo diagnosis_info(const Diagnosis& diagnosis);

}  // namespace attnscale
