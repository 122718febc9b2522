#include "record/console.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "record/scaled.hpp"

namespace attnscale {
namespace {

struct Column {
  std::string title;
  bool right = true;
  std::function<std::string(const Record&)> cell;
};

template <class T>
std::string plain(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

std::string significant(const field::real& value) {
  return value ? fmt::format("{:.3g}", *value) : "-";
}

std::string fixed(const field::real& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

std::string length(const Record& r) {
  return r.queries == r.keys ? plain(r.keys) : plain(r.queries) + "x" + plain(r.keys);
}

std::string spread(const Record& r) {
  if (!r.time_ns_mad || !r.time_ns_median || *r.time_ns_median <= 0) return "-";
  return fmt::format("{:.1f} %", 100 * *r.time_ns_mad / *r.time_ns_median);
}

std::string visible(const std::string& text) {
  std::string shown = text;
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return shown;
}

std::string status(const Record& r, std::size_t width) {
  if (r.reason.empty() || r.status == name_of(Outcome::ok)) return r.status;
  const std::string reason = visible(r.reason);
  return r.status + ": " + (reason.size() > width ? reason.substr(0, width) + "..." : reason);
}

/// A column of a problem axis, when the records differ in it.
template <class T>
void add_if_varied(std::vector<Column>& columns, std::span<const Record> records, const char* title,
                   T Record::*member) {
  const bool varied =
      std::any_of(records.begin(), records.end(), [&](const Record& r) { return r.*member != records[0].*member; });
  if (!varied) return;
  columns.push_back({title, true, [member](const Record& r) {
                       if constexpr (std::is_same_v<T, std::string>)
                         return visible(r.*member);
                       else
                         return plain(r.*member);
                     }});
}

std::vector<Column> columns_for(std::span<const Record> records, const TableOptions& options) {
  std::vector<Column> columns = {
      {"method", false, [](const Record& r) { return visible(r.label.empty() ? r.method : r.label); }},
      {"n", true, length}};
  add_if_varied(columns, records, "heads", &Record::heads);
  add_if_varied(columns, records, "dim", &Record::dim);
  add_if_varied(columns, records, "mask", &Record::mask);
  add_if_varied(columns, records, "input", &Record::input);
  add_if_varied(columns, records, "temp.", &Record::temperature);
  add_if_varied(columns, records, "seed", &Record::seed);
  add_if_varied(columns, records, "threads", &Record::threads);
  columns.push_back(
      {"time", true, [](const Record& r) { return r.time_ns_median ? scaled_time(*r.time_ns_median) : "-"; }});
  columns.push_back({"+-", true, spread});
  columns.push_back({"ratio", true, [](const Record& r) { return fixed(r.ratio_to_exact, 3); }});
  columns.push_back(
      {"pairs", true, [](const Record& r) { return r.visible_pairs ? scaled_count(double(*r.visible_pairs)) : "-"; }});
  columns.push_back({"workspace", true, [](const Record& r) {
                       const auto& bytes =
                           r.workspace_bytes_counted ? r.workspace_bytes_counted : r.workspace_bytes_predicted;
                       return bytes ? scaled_bytes(double(*bytes)) : "-";
                     }});
  columns.push_back({"rel_fro", true, [](const Record& r) { return significant(r.rel_fro); }});
  columns.push_back({"mass", true, [](const Record& r) { return fixed(r.mass_recall_mean, 3); }});
  const std::size_t width = options.reason_width;
  columns.push_back({"status", false, [width](const Record& r) { return status(r, width); }});
  return columns;
}

const char* colour_of(const std::string& status) {
  if (status == name_of(Outcome::ok)) return "";
  return status == name_of(Outcome::incorrect) || status == name_of(Outcome::failed) ? "\033[31m" : "\033[33m";
}

std::string line_of(const std::vector<std::string>& cells, const std::vector<Column>& columns,
                    const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const std::string gap = c == 0 ? "" : "  ";
    line += columns[c].right ? fmt::format("{}{:>{}}", gap, cells[c], widths[c])
                             : fmt::format("{}{:<{}}", gap, cells[c], widths[c]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string table_text(std::span<const Record> records, const TableOptions& options) {
  if (records.empty()) return "no rows\n";
  const std::vector<Column> columns = columns_for(records, options);
  std::vector<std::vector<std::string>> rows(1);
  for (const Column& column : columns) rows[0].push_back(column.title);
  for (const Record& record : records) {
    std::vector<std::string>& row = rows.emplace_back();
    for (const Column& column : columns) row.push_back(column.cell(record));
  }
  std::vector<std::size_t> widths(columns.size(), 0);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const char* colour = options.colour && r > 0 ? colour_of(records[r - 1].status) : "";
    text += fmt::format("{}{}{}\n", colour, line_of(rows[r], columns, widths), *colour == '\0' ? "" : "\033[0m");
  }
  return text;
}

}  // namespace attnscale
