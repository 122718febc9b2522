// The columns of a record that do not come from the verification: who the cell is, where it ran, how long it took.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "study/cell_run.hpp"
#include "study/expand.hpp"

namespace attnscale {

/// Where a run happens; the same in all of its rows.
struct Origin {
  std::string study;
  std::string host;
  std::string git_commit;
  std::optional<bool> dirty;
};

Origin make_origin(const std::string& study);

/// Cell, problem and origin columns. `input_hash` is empty while the inputs are not made.
void fill_identity(Record& record, const Group& group, const MethodSpec& spec, const Origin& origin,
                   const std::string& input_hash);

/// Time columns from the samples; ratios against the baseline's samples of the same rounds (null: no baseline), and the
/// share of `peak_gflops`, the multiply-add peak of one thread (0: not known).
void fill_times(CellRun& cell, const CellRun* baseline, double peak_gflops);

/// The finished row with its raw samples.
Cell to_cell(const CellRun& cell);

}  // namespace attnscale
