// The journal of a run: append-only JSON lines, forced to disk after every cell, so that a run that is killed leaves
// every finished row behind. The first line says what the run is; each further line is one cell with its samples and
// stage times. A last line that is cut off is what a kill leaves, and is dropped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "record/files.hpp"
#include "record/record.hpp"
#include "record/run_info.hpp"

namespace attnscale {

struct JournalContents {
  RunInfo run;
  std::vector<Cell> cells;
  bool torn = false;            ///< a cut-off last line was dropped
  std::int64_t good_bytes = 0;  ///< length up to the last whole line
};

/// Throws InputError when the file is missing, holds no whole first line, or is damaged before its last line.
JournalContents read_journal(const std::filesystem::path& path);

class Journal {
 public:
  /// Starts a journal at `path`, which appears (or replaces an older one) only once its first line is on the disk.
  /// `before_it_appears` is called in between: what it removes is gone only if the new run has a journal. Throws
  /// WriteError.
  static Journal create(const std::filesystem::path& path, const RunInfo& run,
                        const std::function<void()>& before_it_appears);
  /// Goes on with a journal that was read. Throws WriteError.
  static Journal resume(const std::filesystem::path& path, const JournalContents& contents);

  /// Appends a cell and forces it to the disk. Throws WriteError that says how many rows are saved; then the journal is
  /// as it was before the call.
  void append(const Cell& cell);

  [[nodiscard]] std::size_t cells() const { return cells_; }

 private:
  Journal(std::filesystem::path path, OutputFile file, std::int64_t bytes, std::size_t cells);

  std::filesystem::path path_;
  OutputFile file_;
  std::int64_t bytes_ = 0;
  std::size_t cells_ = 0;
};

}  // namespace attnscale
