// One cell on its way from a method's name to a row: what it holds between the steps of a group.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/timing.hpp"
#include "record/record.hpp"
#include "run/executor.hpp"
#include "study/expand.hpp"
#include "study/verify/oracle.hpp"

namespace attnscale {

class TimeModel;

struct CellRun {
  MethodSpec spec;
  Record record;
  Outcome outcome = Outcome::ok;
  double expected_ns = 0;         ///< predicted time of one call, then that of the first run
  double calls_ns = 0;            ///< inside timed regions: first run, plan times, timing
  double oracle_ns = 0;           ///< verification of the output
  std::int64_t needed_bytes = 0;  ///< predicted, beside what the problem itself needs

  std::unique_ptr<Plan> plan;  ///< all of these are dropped by release()
  std::unique_ptr<Workspace> workspace;
  QueryTensor out;
  QueryTensor lse;
  std::string output_hash;  ///< of the verified output
  RunReport report;         ///< of the latest call
  Timing timing;
  bool timed_out = false;  ///< while it was timed

  [[nodiscard]] bool ok() const { return outcome == Outcome::ok; }
  void end(Outcome how, const std::string& reason) {
    outcome = how;
    record.reason = reason;
  }
  [[nodiscard]] bool has_output() const { return !output_hash.empty(); }
  /// Lets go of plan, workspace and output.
  void release();
  [[nodiscard]] AttentionOutput output() { return {out.view(), lse.view()}; }
};

/// Makes the plan and predicts time and memory, but allocates nothing of size. Ends the cell when it is over the time
/// budget.
void prepare(CellRun& cell, const Group& group, const TimeModel& model);

/// All cells of a group stay in memory until the last round. The smallest are admitted first, whatever their order;
/// those that no longer fit into `room` bytes end over budget.
void admit(std::vector<CellRun>& cells, double room);

/// First run in a fresh workspace with counted memory, then the check against the oracle. Ends the cell when it fails.
void verify(CellRun& cell, const Group& group, Oracle& oracle, Executor& executor, TimeModel& model);

/// Times planning alone.
void time_plan(CellRun& cell, const Group& group);

/// After timing: the output must still equal the verified one, bit for bit.
void check_unchanged(CellRun& cell);

/// Fills output and LSE with NaN, so that a row that a run leaves out cannot pass for its earlier value.
void poison_output(CellRun& cell);

}  // namespace attnscale
