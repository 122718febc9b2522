// Ceilings of this machine at the SIMD target in use, by micro-kernels of known work: what no kernel can beat.
#pragma once

#include <cstdint>
#include <functional>

#include "run/executor.hpp"

namespace attnscale {

/// The best rate, in units per nanosecond, over batches that fill `seconds`: batch(count) does `count` units of work.
/// The batch grows until one lasts a twentieth of the time. The best one counts, since a disturbance only slows down.
double best_rate(double seconds, const std::function<void(std::int64_t count)>& batch);

/// Multiply-adds on registers, on all threads of the executor at once.
double peak_gflops(Executor& executor, double seconds);

/// Values per nanosecond that the kernels' exp2 takes, from the L1 cache of one thread.
double exps_per_ns(double seconds);

/// GB/s over buffers of `bytes` per thread, on all threads of the executor at once.
struct Bandwidth {
  double read_gbs = 0;
  double triad_gbs = 0;  ///< a = b + s c: two reads and a write counted, what the write itself fetches is not
};
Bandwidth bandwidth(Executor& executor, std::int64_t bytes, double seconds);

/// Nanoseconds that one reading of the steady clock takes.
double clock_cost_ns(double seconds);

}  // namespace attnscale
