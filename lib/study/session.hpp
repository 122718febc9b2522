// What the groups of one run share: executors, the latest inputs, the time model, progress.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "inputs/inputs.hpp"
#include "run/executor.hpp"
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

  /// One executor per thread count, since making threads costs time.
  Executor& executor(int threads);

  /// Makes the inputs of a problem and its oracle, unless they are those of the last call.
  void load(const Problem& problem);
  [[nodiscard]] bool holds(const Problem& problem) const { return inputs_ != nullptr && problem == loaded_; }
  [[nodiscard]] const Inputs& inputs() const { return *inputs_; }
  [[nodiscard]] Oracle& oracle() { return *oracle_; }
  /// Drops inputs and oracle, so that their memory is free before others are made.
  void unload();

  void report(const std::string& doing);
  /// Hands on a finished row. `weight` as cell_weight says.
  void finish(Cell cell, double weight);

 private:
  const RunnerOptions& options_;
  const RunnerHooks& hooks_;
  Origin origin_;
  TimeModel model_;
  std::map<int, Executor> executors_;
  Executor oracle_executor_;
  Problem loaded_;
  std::unique_ptr<Inputs> inputs_;
  std::unique_ptr<Oracle> oracle_;
  Progress progress_;
  double weight_done_ = 0;
  double weight_total_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Rough seconds that a cell takes with verification and timing: only ratios of it count, for the time that remains.
double cell_weight(const Group& group);

/// Runs all cells of one group. False when interrupted.
bool run_group(const Group& group, Session& session);

}  // namespace attnscale
