// What the groups of one run share: executors, the latest inputs, the time model, progress.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "inputs/inputs.hpp"
#include "run/executor.hpp"
#include "study/account.hpp"
#include "study/budget.hpp"
#include "study/columns.hpp"
#include "study/runner.hpp"
#include "study/verify/oracle.hpp"

namespace attnscale {

class Session {
 public:
  Session(const std::vector<Group>& groups, const RunnerOptions& options, const RunnerHooks& hooks);

  [[nodiscard]] const RunnerOptions& options() const { return options_; }
  [[nodiscard]] const Origin& origin() const { return origin_; }
  [[nodiscard]] TimeModel& model() { return model_; }
  [[nodiscard]] bool interrupted() const { return hooks_.interrupted && hooks_.interrupted(); }
  [[nodiscard]] int oracle_threads() const { return oracle_executor_.threads(); }

  /// One executor per thread count and pinning, since making threads costs time.
  Executor& executor(int threads, bool pin = false);

  /// The multiply-add peak of one thread at the SIMD target in use, measured when first asked for.
  double peak_gflops();
  /// Every thread of the executor reads a buffer of twice the last level cache, so that nothing else is left in it.
  void empty_caches(Executor& executor);

  /// Makes the inputs of a problem and its oracle, unless they are those of the last call.
  void load(const Problem& problem);
  [[nodiscard]] bool holds(const Problem& problem) const { return inputs_ != nullptr && problem == loaded_; }
  [[nodiscard]] const Inputs& inputs() const { return *inputs_; }
  [[nodiscard]] Oracle& oracle() { return *oracle_; }
  /// Drops inputs and oracle, so that their memory is free before others are made.
  void unload();

  /// Books the time from here to finish_group() on the length of a group.
  void start_group();
  void finish_group(std::int64_t keys, std::int64_t cells);
  /// The account of the group that runs.
  [[nodiscard]] TimeAccount& spent() { return spent_; }
  /// What was booked so far, with the time since the session began as the whole.
  [[nodiscard]] RunAccount account() const;

  void report(const std::string& doing);
  /// Hands on a finished row. `weight` as cell_weight says.
  void finish(Cell cell, double weight);

 private:
  const RunnerOptions& options_;
  const RunnerHooks& hooks_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point group_start_ = start_;
  RunAccount account_;
  TimeAccount spent_;
  Origin origin_;
  TimeModel model_;
  std::map<std::pair<int, bool>, Executor> executors_;
  Executor oracle_executor_;
  Storage cold_buffer_;
  std::int64_t cold_floats_ = 0;
  Problem loaded_;
  std::unique_ptr<Inputs> inputs_;
  std::unique_ptr<Oracle> oracle_;
  Progress progress_;
  double weight_done_ = 0;
  double weight_total_ = 0;
};

/// Rough seconds that a cell takes with verification and timing: only ratios of it count, for the time that remains.
double cell_weight(const Group& group);

/// Runs all cells of one group. False when interrupted.
bool run_group(const Group& group, Session& session);

}  // namespace attnscale
