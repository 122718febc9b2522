// One problem in one process of a worker: shared memory with its tensors, and the calls that are timed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.hpp"
#include "methods/method.hpp"
#include "worker/pool.hpp"
#include "worker/shared_memory.hpp"

namespace attnscale::worker {

/// What a session is about.
struct Task {
  const Offer* offer = nullptr;
  Problem problem;
  std::vector<std::pair<std::string, std::string>> params;
  int threads = 1;
  KeyGroups visible;      ///< the pattern, for a worker that asked for it; else null
  double generous_s = 0;  ///< time of one call on a slow machine
};

/// Nothing is started before the first call. What the worker does wrong is thrown (TimedOut, Unsupported or
/// std::runtime_error) and ends its process.
class Session {
 public:
  Session(std::shared_ptr<Pool> pool, Task task);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The next `calls` calls are made by the worker in a row, without a question before each of them.
  void expect(std::int64_t calls);
  /// One call. The first of those that were expected runs them all.
  void call(const Qkv& in);
  /// Copies what the worker wrote by its latest call.
  void copy_output(const AttentionOutput& out);
  /// Shared memory that it takes.
  [[nodiscard]] std::int64_t memory_bytes() const { return memory_bytes_; }
  /// Time of the latest call by the worker's clock.
  [[nodiscard]] std::int64_t own_time_ns() const { return own_time_ns_; }

 private:
  void open(const Qkv& in);
  void place_tensors();
  void fill_visible();
  void poison_output();
  void run();
  void check_plausible(double own_ns, double round_trip_ns, std::int64_t calls);
  [[nodiscard]] const Placed* find(std::string_view tensor) const;
  [[nodiscard]] float* floats(std::string_view tensor) const;

  std::shared_ptr<Pool> pool_;
  Task task_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<SharedMemory> memory_;
  std::vector<Placed> tensors_;
  std::int64_t memory_bytes_ = 0;
  std::int64_t id_ = 0;
  std::int64_t expected_ = 1;  ///< calls that are still to be made
  std::deque<double> times_;   ///< of calls that were made and not yet asked for
  std::int64_t own_time_ns_ = 0;
  bool fresh_output_ = false;  ///< not copied yet
  int runs_ = 0;
  double call_s_ = 0;  ///< round trip per call of the latest run
  double own_total_ns_ = 0;
  double round_trip_total_ns_ = 0;
};

}  // namespace attnscale::worker
