// What a person reads: the cells before a run (--dry-run), and table, growth laws and next command after it.
#pragma once

#include <vector>

#include "record/run_folder.hpp"
#include "study/runner.hpp"

namespace attnscale::cli {

struct EndOptions {
  bool whole = true;  ///< false: interrupted
  bool colour = false;
  bool quiet = false;
};

/// Writes fits.csv, prints the end of the run and returns the exit code that its rows deserve.
int end_run(const RunFolder& folder, const RunAccount& account, const EndOptions& options);

void print_predictions(const std::vector<Prediction>& predictions);

}  // namespace attnscale::cli
