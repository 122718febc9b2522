// How a method runs: barrier-separated stages, each a parallel loop over tasks. Authors of methods write no threading
// code; lib/run executes the stages, times each by name and hands every task its buffers.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/tensor.hpp"

namespace attnscale {

/// Exact work of one call over batch and heads, in closed form. Empty where it depends on the data.
struct Cost {
  std::optional<std::int64_t> visible_pairs;  ///< sum of |A(i)|; for merged methods pseudo-keys count one each
  std::optional<std::int64_t> scored_pairs;   ///< q.k products that the definition needs, duplicates included
  std::int64_t extra_flops = 0;  ///< beyond 2*dim per scored and 2*value_dim per visible pair: hashing, means
  /// Compulsory traffic: inputs read once, outputs and shared scratch written and read once.
  std::int64_t bytes_moved = 0;
  std::int64_t table_bytes = 0;             ///< memory that plan() itself holds (random blocks, for example)
  bool exact_fallback = false;              ///< every A(i) is all allowed keys
  std::optional<std::int64_t> padded_n;     ///< the length after padding, for a method that pads
  std::optional<std::int64_t> window_keys;  ///< keys of a full window (2w+1), for windowed methods
};

/// Handle to a buffer that all tasks share; lives for one whole run.
template <class T>
struct SharedBuffer {
  std::int64_t offset = -1;
  std::int64_t count = 0;
};

/// Handle to a buffer of which every worker has its own; its contents do not survive a task.
template <class T>
struct WorkerBuffer {
  std::int64_t offset = -1;
  std::int64_t count = 0;
};

/// Declares the scratch memory of a plan. Every buffer starts at a multiple of 64 bytes.
class ScratchLayout {
 public:
  template <class T>
  SharedBuffer<T> shared(std::int64_t count) {
    return {take(shared_bytes_, count * static_cast<std::int64_t>(sizeof(T))), count};
  }
  template <class T>
  WorkerBuffer<T> per_worker(std::int64_t count) {
    return {take(worker_bytes_, count * static_cast<std::int64_t>(sizeof(T))), count};
  }
  [[nodiscard]] std::int64_t shared_bytes() const { return shared_bytes_; }
  [[nodiscard]] std::int64_t worker_bytes() const { return worker_bytes_; }

 private:
  static std::int64_t take(std::int64_t& end, std::int64_t bytes) {
    const std::int64_t at = end;
    end += (bytes + 63) / 64 * 64;
    return at;
  }
  std::int64_t shared_bytes_ = 0;
  std::int64_t worker_bytes_ = 0;
};

/// Work that was really done, counted from the spans that were processed; one per worker, summed after a run.
struct alignas(64) WorkCount {
  std::int64_t visible_pairs = 0;
  std::int64_t scored_pairs = 0;
};

/// What a task sees: inputs, outputs and its worker's buffers.
struct TaskContext {
  Qkv in;
  AttentionOutput out;
  std::byte* shared_base = nullptr;
  std::byte* worker_base = nullptr;
  WorkCount* count = nullptr;
  /// Where a data-dependent method writes what it chose (Plan::choices numbers); empty in timed runs.
  std::span<std::int32_t> choices;

  template <class T>
  [[nodiscard]] std::span<T> get(SharedBuffer<T> buffer) const {
    assert(buffer.offset >= 0);
    return {reinterpret_cast<T*>(shared_base + buffer.offset), static_cast<std::size_t>(buffer.count)};
  }
  template <class T>
  [[nodiscard]] std::span<T> get(WorkerBuffer<T> buffer) const {
    assert(buffer.offset >= 0);
    return {reinterpret_cast<T*>(worker_base + buffer.offset), static_cast<std::size_t>(buffer.count)};
  }
};

/// A parallel loop. `body(context, task)` is called once for every task in [0, tasks), in any order, from any worker;
/// all of them end before the next stage starts. The split into tasks depends on the problem alone, never on the number
/// of threads, so that results are bitwise equal for any of them. A task should last 10 us or more.
struct Stage {
  /// hash, sort, gather, score, select, attend, merge, ...; stages of one name are timed together
  std::string_view name;
  std::int64_t tasks = 0;
  std::function<void(const TaskContext&, std::int64_t)> body;
};

struct Plan {
  std::vector<Stage> stages;
  Cost cost;
  ScratchLayout scratch;
  std::int64_t choices = 0;  ///< numbers that a data-dependent method reports (layout: in its file's header)
  /// What the latest run took by the method's own clock, in ns; read after each run. It becomes the time of the call,
  /// so that the way to another process and back is not part of it. Null, as in all of our methods: our clock.
  std::function<std::int64_t()> own_time_ns = nullptr;
  /// Told how many runs follow, by who times them; for a method that can make them in a row (measure/timing.hpp). May
  /// be null.
  std::function<void(std::int64_t)> expect_calls = nullptr;

  [[nodiscard]] std::int64_t workspace_bytes(int threads) const {
    return cost.table_bytes + scratch.shared_bytes() + scratch.worker_bytes() * threads;
  }
};

}  // namespace attnscale
