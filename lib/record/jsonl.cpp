#include "record/jsonl.hpp"

#include <fmt/format.h>

#include "core/ranges.hpp"
#include "record/files.hpp"
#include "record/json_rows.hpp"

namespace attnscale {

std::string json_line(const Record& record) {
  return dump_line(json_object(record)) + '\n';
}

std::string jsonl_text(std::span<const Record> records) {
  std::string text;
  for (const Record& record : records) text += json_line(record);
  return text;
}

std::vector<Record> read_jsonl(const std::filesystem::path& path) {
  std::vector<Record> records;
  std::size_t number = 0;
  for (const std::string& line : split(read_file(path), '\n')) {
    ++number;
    if (line.empty()) continue;
    const std::string where = fmt::format("{} line {}", path.string(), number);
    records.push_back(row_of_json<Record>(parse_json(line, where), where));
  }
  return records;
}

}  // namespace attnscale
