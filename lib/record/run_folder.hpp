// The output folder of a run. While it runs: journal.jsonl, one durable line per cell. At the end: summary.csv,
// samples.csv, stages.csv and run.json, each put in place whole.
//
// An existing folder is refused, unless the user forces it and it is empty or holds a run of ours. Forcing replaces
// that run's files when the new run starts, never before, and never touches files of other names.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/journal.hpp"
#include "record/record.hpp"
#include "record/run_info.hpp"

namespace attnscale {

/// Extra files beside the CSV ones, which are always written.
struct RunFormats {
  bool jsonl = false;  ///< summary.jsonl
};

/// Parses "csv,jsonl". Throws InputError with the nearest valid name.
RunFormats parse_formats(const std::string& text);

/// Names that a run and the commands on it may write; forcing removes these and no others.
std::span<const std::string_view> run_file_names();

class RunFolder {
 public:
  /// Checks only, and changes nothing on the disk. Throws InputError when the folder exists (without `force`), is a
  /// file, cannot be written, or is forced but is neither empty nor a run.
  explicit RunFolder(std::filesystem::path folder, bool force = false);

  /// Opens the folder of an unfinished run to go on with it: cells() then holds its finished cells, info() what it was.
  /// Throws InputError.
  static RunFolder resume(std::filesystem::path folder);

  /// Creates the folder and the journal. Throws WriteError.
  void start(const RunInfo& run);

  /// Takes a finished cell: it is on the disk when this returns. Throws WriteError that says what is saved.
  void append(Cell cell);

  /// Writes the final files. Throws WriteError that says what is saved.
  void finish(const RunInfo& run, const RunFormats& formats = {});

  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }
  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }
  [[nodiscard]] const RunInfo& info() const { return info_; }
  /// The rows alone, in the order in which the cells ended.
  [[nodiscard]] std::vector<Record> records() const;

 private:
  std::filesystem::path folder_;
  std::optional<Journal> journal_;
  std::vector<Cell> cells_;
  RunInfo info_;
};

}  // namespace attnscale
