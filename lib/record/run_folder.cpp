#include "record/run_folder.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/ranges.hpp"
#include "core/suggest.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/jsonl.hpp"

namespace attnscale {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJournal = "journal.jsonl";
constexpr std::array<std::string_view, 15> kRunFiles = {kJournal,      "run.json",     "summary.csv", "summary.jsonl",
                                                        "samples.csv", "stages.csv",   "fits.csv",    "crossover.csv",
                                                        "pareto.csv",  "predict.csv",  "advise.csv",  "report.html",
                                                        "report.md",   "summary.json", "local.csv"};

bool writable(const fs::path& folder) {
  return ::access(folder.c_str(), W_OK | X_OK) == 0;
}

/// The nearest folder above that exists, where a new one would be created.
fs::path nearest_existing(const fs::path& folder) {
  fs::path above = fs::absolute(folder).lexically_normal();
  std::error_code error;
  while (!fs::exists(above, error) && above.has_relative_path()) above = above.parent_path();
  return above;
}

void check_new(const fs::path& folder) {
  const fs::path above = nearest_existing(folder);
  if (!fs::is_directory(above)) {
    throw InputError(fmt::format("the output folder {} cannot be created, since {} is a file", quoted(folder.string()),
                                 quoted(above.string())));
  }
  if (!writable(above)) {
    throw InputError(fmt::format("the output folder {} cannot be created, since {} is not writable",
                                 quoted(folder.string()), quoted(above.string())));
  }
}

void check_existing(const fs::path& folder, bool force) {
  const std::string name = quoted(folder.string());
  if (!fs::is_directory(folder))
    throw InputError(fmt::format("the output folder {} is a file: give another name", name));
  if (!force)
    throw InputError(
        fmt::format("the output folder {} exists: give a new name, or --force to replace the run in it", name));
  if (!writable(folder)) throw InputError(fmt::format("the output folder {} is not writable", name));
  if (!fs::is_empty(folder) && !fs::exists(folder / kJournal) && !fs::exists(folder / "run.json")) {
    throw InputError(fmt::format(
        "the output folder {} holds other files and no run, so --force does not replace it: give a new name", name));
  }
}

template <class Row>
std::string joined_csv(const std::vector<Cell>& cells, std::vector<Row> Cell::*rows) {
  std::string text = csv_header<Row>();
  for (const Cell& cell : cells) {
    for (const Row& row : cell.*rows) text += csv_line(row);
  }
  return text;
}

}  // namespace

RunFormats parse_formats(const std::string& text) {
  const std::vector<std::string> names = {"csv", "jsonl"};
  RunFormats formats;
  for (const std::string& name : split(text, ',')) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw InputError(unknown_name("format", name, names));
    formats.jsonl |= name == "jsonl";
  }
  return formats;
}

std::span<const std::string_view> run_file_names() {
  return kRunFiles;
}

RunFolder::RunFolder(fs::path folder, bool force) : folder_(std::move(folder)) {
  if (folder_.empty()) throw InputError("the output folder has no name: give one with --out");
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder_, error))) {
    check_existing(folder_, force);
  } else {
    check_new(folder_);
  }
}

RunFolder RunFolder::resume(fs::path folder) {
  std::error_code error;
  if (!fs::exists(folder / kJournal, error)) {
    throw InputError(
        fmt::format("{} holds no journal.jsonl, so there is no run to go on with", quoted(folder.string())));
  }
  if (!writable(folder)) throw InputError(fmt::format("the output folder {} is not writable", quoted(folder.string())));
  RunFolder run(folder, true);
  JournalContents contents = read_journal(folder / kJournal);
  run.journal_ = Journal::resume(folder / kJournal, contents);
  run.cells_ = std::move(contents.cells);
  run.info_ = std::move(contents.run);
  return run;
}

void RunFolder::start(const RunInfo& run) {
  try {
    fs::create_directories(folder_);
  } catch (const std::system_error& error) {
    const std::string why =
        fmt::format("could not create the output folder {} ({})", quoted(folder_.string()), error.code().message());
    if (error.code() == std::errc::no_space_on_device) throw WriteError(why);
    throw InputError(why + ": give a name in a folder that can be written to");  // nothing has been done yet
  }
  journal_ = Journal::create(folder_ / kJournal, run, [this] {
    for (const std::string_view name : kRunFiles) {
      if (name != kJournal) fs::remove(folder_ / name);
    }
  });
  info_ = run;
}

void RunFolder::append(Cell cell) {
  journal_.value().append(cell);
  cells_.push_back(std::move(cell));
}

void RunFolder::finish(const RunInfo& run, const RunFormats& formats) {
  const std::vector<Record> rows = records();
  std::vector<std::pair<std::string, std::string>> files = {
      {"summary.csv", csv_text<Record>(rows)},
      {"samples.csv", joined_csv(cells_, &Cell::samples)},
      {"stages.csv", joined_csv(cells_, &Cell::stages)},
      {"run.json", run_json(run)},
  };
  if (formats.jsonl) files.emplace_back("summary.jsonl", jsonl_text(rows));
  try {
    for (const auto& [name, text] : files) stage_file(folder_ / name, text);
    for (const auto& [name, text] : files) commit_file(folder_ / name);
  } catch (const WriteError& error) {
    std::error_code ignored;
    for (const auto& [name, text] : files) fs::remove(folder_ / (name + ".tmp"), ignored);
    throw WriteError(
        fmt::format("{}; saved: all {} rows in {}", error.what(), rows.size(), (folder_ / kJournal).string()));
  }
}

std::vector<Record> RunFolder::records() const {
  std::vector<Record> rows;
  rows.reserve(cells_.size());
  for (const Cell& cell : cells_) rows.push_back(cell.record);
  return rows;
}

}  // namespace attnscale
