#include "record/journal.hpp"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "record/json_rows.hpp"

namespace attnscale {
namespace {

std::string first_line(const RunInfo& run) {
  return dump_line(json_of_run(run)) + '\n';
}

std::string cell_line(const Cell& cell) {
  Json line = {{"record", json_object(cell.record)}, {"samples", Json::array()}, {"stages", Json::array()}};
  for (const SampleRow& row : cell.samples) line["samples"].push_back(json_array(row));
  for (const StageRow& row : cell.stages) line["stages"].push_back(json_array(row));
  return dump_line(line) + '\n';
}

Cell parse_cell(const std::string& line, const std::string& where) {
  const Json json = parse_json(line, where);
  if (!json.is_object() || !json.contains("record") || !json.contains("samples") || !json.contains("stages")) {
    throw InputError(fmt::format("{} is not a cell of a journal", where));
  }
  Cell cell;
  cell.record = row_of_json<Record>(json["record"], where);
  for (const Json& row : json["samples"]) cell.samples.push_back(row_of_json_array<SampleRow>(row, where));
  for (const Json& row : json["stages"]) cell.stages.push_back(row_of_json_array<StageRow>(row, where));
  return cell;
}

}  // namespace

JournalContents read_journal(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  JournalContents contents;
  std::size_t number = 0;
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    const std::string line = text.substr(start, end - start);
    const std::string where = fmt::format("{} line {}", path.string(), ++number);
    if (number == 1) {
      contents.run = run_of_json(parse_json(line, where), where);
    } else {
      contents.cells.push_back(parse_cell(line, where));
    }
    start = end + 1;
  }
  if (number == 0) throw InputError(fmt::format("{} is no journal: its first line is missing", path.string()));
  contents.good_bytes = static_cast<std::int64_t>(start);
  contents.torn = start < text.size();
  return contents;
}

Journal::Journal(std::filesystem::path path, OutputFile file, std::int64_t bytes, std::size_t cells)
    : path_(std::move(path)), file_(std::move(file)), bytes_(bytes), cells_(cells) {}

Journal Journal::create(const std::filesystem::path& path, const RunInfo& run,
                        const std::function<void()>& before_it_appears) {
  const std::string line = first_line(run);
  stage_file(path, line);
  try {
    before_it_appears();
    commit_file(path);
    return {path, OutputFile(path, OutputFile::Open::append), static_cast<std::int64_t>(line.size()), 0};
  } catch (const std::system_error& error) {
    throw WriteError(fmt::format("could not start {} ({})", path.string(), error.code().message()));
  }
}

Journal Journal::resume(const std::filesystem::path& path, const JournalContents& contents) {
  try {
    OutputFile file(path, OutputFile::Open::append);
    file.cut(contents.good_bytes);
    return {path, std::move(file), contents.good_bytes, contents.cells.size()};
  } catch (const std::system_error& error) {
    throw WriteError(fmt::format("could not go on with {} ({})", path.string(), error.code().message()));
  }
}

void Journal::append(const Cell& cell) {
  const std::string line = cell_line(cell);
  try {
    file_.write(line);
    file_.sync();
  } catch (const std::system_error& error) {
    try {
      file_.cut(bytes_);
    } catch (const std::system_error&) {
      // The torn line stays; readers drop it.
    }
    throw WriteError(fmt::format("could not write to {} ({}); saved there: {} finished rows", path_.string(),
                                 error.code().message(), cells_));
  }
  bytes_ += static_cast<std::int64_t>(line.size());
  ++cells_;
}

}  // namespace attnscale
