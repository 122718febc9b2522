#include "doctor/limits.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <span>
#include <vector>

#include "core/tensor.hpp"
#include "kernels/probe.hpp"

namespace attnscale {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kFloat = sizeof(float);

double since_ns(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// Aligned floats of whole blocks, about `bytes` in all, at least one block. Touched, so that nothing is paged in
/// later.
class Buffer {
 public:
  explicit Buffer(std::int64_t bytes)
      : floats_(std::max<std::int64_t>(1, bytes / kFloat / kernels::kProbeBlock) * kernels::kProbeBlock),
        storage_({1, 1, 1, floats_}, {0, 0, 1.0f}) {}
  [[nodiscard]] std::span<float> floats() const { return {storage_.first(), static_cast<std::size_t>(floats_)}; }
  [[nodiscard]] std::int64_t bytes() const { return floats_ * kFloat; }

 private:
  std::int64_t floats_;
  Storage storage_;
};

/// Takes results, so that no compiler may leave out what made them.
void use(float value) {
  static std::atomic<float> sink{0};
  sink.store(value, std::memory_order_relaxed);
}

std::vector<Buffer> buffers(int threads, std::int64_t bytes) {
  std::vector<Buffer> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(bytes);
  return all;
}

}  // namespace

double best_rate(double seconds, const std::function<void(std::int64_t)>& batch) {
  constexpr double kBatches = 20;
  const double batch_ns = seconds * 1e9 / kBatches;
  const Clock::time_point begin = Clock::now();
  double best = 0;
  std::int64_t count = 1;
  do {
    const Clock::time_point start = Clock::now();
    batch(count);
    const double took_ns = std::max(since_ns(start), 1.0);
    best = std::max(best, static_cast<double>(count) / took_ns);
    if (took_ns < batch_ns / 2) count *= 2;
  } while (since_ns(begin) < seconds * 1e9);
  return best;
}

double peak_gflops(Executor& executor, double seconds) {
  const int threads = executor.threads();
  const std::int64_t flops_per_step = kernels::probe_multiply_add(1);
  const double steps_per_ns = best_rate(seconds, [&](std::int64_t count) {
    constexpr std::int64_t kStepsPerUnit = 1000;
    executor.parallel_for(threads, [&](std::int64_t) { kernels::probe_multiply_add(count * kStepsPerUnit); });
  });
  return 1000 * steps_per_ns * static_cast<double>(flops_per_step) * threads;
}

double exps_per_ns(double seconds) {
  constexpr std::int64_t kBytes = 16 << 10;
  const Buffer x(kBytes);
  const double calls_per_ns = best_rate(seconds, [&](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) use(kernels::probe_exp2(x.floats()));
  });
  return calls_per_ns * static_cast<double>(x.floats().size());
}

Bandwidth bandwidth(Executor& executor, std::int64_t bytes, double seconds) {
  const int threads = executor.threads();
  const std::vector<Buffer> whole = buffers(threads, bytes);
  const double reads_per_ns = best_rate(seconds, [&](std::int64_t count) {
    executor.parallel_for(threads, [&](std::int64_t task) {
      for (std::int64_t i = 0; i < count; ++i) use(kernels::probe_read(whole[static_cast<std::size_t>(task)].floats()));
    });
  });
  const double read_bytes = static_cast<double>(whole.front().bytes()) * threads;
  const std::vector<Buffer> a = buffers(threads, bytes / 3), b = buffers(threads, bytes / 3),
                            c = buffers(threads, bytes / 3);
  const double triads_per_ns = best_rate(seconds, [&](std::int64_t count) {
    executor.parallel_for(threads, [&](std::int64_t task) {
      const auto at = static_cast<std::size_t>(task);
      for (std::int64_t i = 0; i < count; ++i)
        kernels::probe_triad(a[at].floats(), b[at].floats(), c[at].floats(), 0.5f);
    });
  });
  const double triad_bytes = 3 * static_cast<double>(a.front().bytes()) * threads;
  return {reads_per_ns * read_bytes, triads_per_ns * triad_bytes};
}

double clock_cost_ns(double seconds) {
  const double readings_per_ns = best_rate(seconds, [](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) use(static_cast<float>(Clock::now().time_since_epoch().count() & 1));
  });
  return 1 / readings_per_ns;
}

}  // namespace attnscale
