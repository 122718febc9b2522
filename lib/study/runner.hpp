// Runs the groups of a study: inputs once per problem, then for each cell unsupported? budget? plan, verification,
// timing in interleaved rounds, record.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "study/account.hpp"
#include "study/expand.hpp"
#include "study/resident.hpp"

namespace attnscale {

struct RunnerOptions {
  std::string study;                  ///< its name in the records
  std::filesystem::path save_output;  ///< folder for <cell_id>.o.npy and .lse.npy; empty: not saved
  Probe probe;                        ///< this program, for resident memory; no program: not measured
  int oracle_threads = 0;             ///< 0: all cores
};

struct Progress {
  std::size_t done = 0;  ///< cells
  std::size_t total = 0;
  std::string doing;       ///< "verify window:w=64,... at n=4096"
  double remaining_s = 0;  ///< estimate; negative while unknown
};

struct RunnerHooks {
  std::function<void(Cell)> finished;              ///< takes each finished row, in order
  std::function<void(const Progress&)> progress;   ///< may be null
  std::function<bool()> interrupted;               ///< may be null; asked between steps and samples
  std::function<void(const RunAccount&)> account;  ///< may be null; called once, at the end
};

/// Returns false when it was interrupted. What goes wrong in one cell becomes its status; only WriteError ends the run.
bool run_groups(const std::vector<Group>& groups, const RunnerOptions& options, const RunnerHooks& hooks);

/// A cell and what it is predicted to take, for --dry-run.
struct Prediction {
  const Group* group = nullptr;
  MethodSpec spec;
  Outcome outcome = Outcome::ok;
  std::string reason;
  double call_ns = 0;
  std::int64_t memory_bytes = 0;  ///< inputs, oracle, output and workspace
};

std::vector<Prediction> predict(const std::vector<Group>& groups);

}  // namespace attnscale
