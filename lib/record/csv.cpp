#include "record/csv.hpp"

#include <charconv>
#include <cmath>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include "core/error.hpp"
#include "record/csv_lines.hpp"
#include "record/files.hpp"
#include "record/visit.hpp"

namespace attnscale {
namespace {

void append(std::string& out, const std::string& value) {
  append_csv_text(out, value);
}
void append(std::string& out, std::int64_t value) {
  out += fmt::format("{}", value);
}
void append(std::string& out, bool value) {
  out += value ? "true" : "false";
}
void append(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "Inf" : "-Inf";
  } else {
    out += fmt::format("{}", value);
  }
}
template <class T>
void append(std::string& out, const std::optional<T>& value) {
  if (value) append(out, *value);
}

// Each parse returns false when the text is no such value.
bool parse(const std::string& text, double& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

bool parse(const std::string& text, std::int64_t& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return false;
  if (stop == end) return true;
  constexpr double kExactBelow = 9007199254740992.0;  // 2^53
  double real = 0;
  if (!parse(text, real) || std::trunc(real) != real || std::abs(real) >= kExactBelow) return false;
  value = static_cast<std::int64_t>(real);
  return true;
}

bool parse(const std::string& text, bool& value) {
  value = text == "true" || text == "True" || text == "TRUE";
  return value || text == "false" || text == "False" || text == "FALSE";
}

bool parse(const std::string& text, std::string& value) {
  value = text;
  return true;
}

template <class T>
bool parse(const std::string& text, std::optional<T>& value) {
  if (text.empty()) {
    value.reset();
    return true;
  }
  return parse(text, value.emplace());
}

const char* expected(FieldType type) {
  switch (type) {
    case FieldType::integer:
      return "a whole number or nothing";
    case FieldType::real:
      return "a number or nothing";
    case FieldType::flag:
      return "true, false or nothing";
    case FieldType::count:
      return "a whole number";
    case FieldType::number:
      return "a number";
    case FieldType::text:
      break;
  }
  return "text";
}

/// Where each field of a row stands in the file; npos: nowhere.
using Places = std::vector<std::size_t>;
constexpr std::size_t kNowhere = std::string::npos;

Places find_places(const std::vector<std::string>& header, std::span<const FieldInfo> fields, const std::string& file) {
  Places places(fields.size(), kNowhere);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    for (std::size_t column = 0; column < header.size(); ++column) {
      if (header[column] != fields[i].name) continue;
      if (places[i] != kNowhere)
        throw InputError(fmt::format("{} line 1: the column {} stands there twice", file, fields[i].name));
      places[i] = column;
    }
  }
  return places;
}

void require_columns(const Places& places, std::span<const FieldInfo> fields, const std::string& file) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (places[i] == kNowhere && fields[i].required) {
      throw InputError(fmt::format("{} line 1: there is no column {}", file, fields[i].name));
    }
  }
}

template <class Row>
Row parse_row(const std::vector<std::string>& values, const Places& places, const CsvLines& lines) {
  Row row;
  std::size_t i = 0;
  visit_fields(row, [&](auto& value) {
    const FieldInfo& field = fields_of<Row>()[i];
    const std::size_t place = places[i++];
    if (place != kNowhere && !parse(values[place], value)) {
      throw InputError(fmt::format("{} line {}, column {}: {} is not {}", lines.file(), lines.line(), field.name,
                                   quoted(values[place]), expected(field.type)));
    }
  });
  return row;
}

/// A file of another version may lack columns or mean others by them, so this comes before every other check.
void check_version(const std::vector<std::string>& values, const Places& places, const CsvLines& lines) {
  const std::size_t place = places.front();  // schema_version is the first field of Record
  if (place == kNowhere || values[place] == fmt::format("{}", kSchemaVersion)) return;
  throw InputError(fmt::format(
      "{} line {}, column schema_version: {} where this program reads {}; use the program that wrote the file",
      lines.file(), lines.line(), quoted(values[place]), kSchemaVersion));
}

}  // namespace

template <class Row>
std::string csv_header() {
  std::string line;
  for (const FieldInfo& field : fields_of<Row>()) {
    if (!line.empty()) line += ',';
    line += field.name;
  }
  return line + '\n';
}

template <class Row>
std::string csv_line(const Row& row) {
  std::string line;
  bool first = true;
  visit_fields(row, [&](const auto& value) {
    if (!first) line += ',';
    first = false;
    append(line, value);
  });
  return line + '\n';
}

template <class Row>
std::vector<Row> parse_csv(std::string_view text, const std::string& file) {
  CsvLines lines(text, file);
  std::vector<std::string> values;
  lines.next(values);
  const Places places = find_places(values, fields_of<Row>(), file);
  std::vector<Row> rows;
  bool checked = false;
  while (lines.next(values)) {
    if constexpr (std::is_same_v<Row, Record>) check_version(values, places, lines);
    if (!checked) require_columns(places, fields_of<Row>(), file);
    checked = true;
    rows.push_back(parse_row<Row>(values, places, lines));
  }
  if (!checked) require_columns(places, fields_of<Row>(), file);
  return rows;
}

template <class Row>
std::vector<Row> read_csv(const std::filesystem::path& path) {
  return parse_csv<Row>(read_file(path), path.string());
}

#define INSTANTIATE(Row)                                                          \
  template std::string csv_header<Row>();                                         \
  template std::string csv_line(const Row&);                                      \
  template std::vector<Row> parse_csv<Row>(std::string_view, const std::string&); \
  template std::vector<Row> read_csv<Row>(const std::filesystem::path&);
INSTANTIATE(Record)
INSTANTIATE(SampleRow)
INSTANTIATE(StageRow)
INSTANTIATE(FitRow)
#undef INSTANTIATE

}  // namespace attnscale
