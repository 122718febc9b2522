#include "study/runner.hpp"

#include <fmt/format.h>

#include "measure/memory.hpp"
#include "record/scaled.hpp"
#include "study/budget.hpp"
#include "study/cell_run.hpp"
#include "study/session.hpp"

namespace attnscale {

bool run_groups(const std::vector<Group>& groups, const RunnerOptions& options, const RunnerHooks& hooks) {
  Session session(groups, options, hooks);
  bool whole = true;
  for (const Group& group : groups) {
    whole = !session.interrupted() && run_group(group, session);
    if (!whole) break;
  }
  if (hooks.account) hooks.account(session.account());
  return whole;
}

std::vector<Prediction> predict(const std::vector<Group>& groups) {
  const TimeModel model(calibrate());
  const std::optional<std::int64_t> available = free_memory();
  std::vector<Prediction> predictions;
  for (const Group& group : groups) {
    const std::int64_t shared = problem_bytes(group.problem, 1);
    const bool fits = !available || shared < *available;  // a plan may itself hold tables that grow with n
    for (const MethodSpec& spec : group.methods) {
      CellRun cell;
      cell.spec = spec;
      try {
        if (const auto reason = spec.unsupported(group.problem)) {
          cell.end(Outcome::unsupported, *reason);
        } else if (fits) {
          prepare(cell, group, model);
        }
      } catch (const std::exception& error) {
        cell.end(Outcome::failed, error.what());
      }
      const std::int64_t bytes = shared + cell.needed_bytes;
      if (cell.ok() && available && bytes > *available) {
        cell.end(Outcome::over_budget,
                 fmt::format("it needs {} of memory, but {} is free", scaled_bytes(static_cast<double>(bytes)),
                             scaled_bytes(static_cast<double>(*available))));
      }
      predictions.push_back({&group, spec, cell.outcome, cell.record.reason, cell.expected_ns, bytes});
    }
  }
  return predictions;
}

}  // namespace attnscale
