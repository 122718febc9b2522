// CSV files of rows: RFC 4180 with LF line ends (which pandas, R, gnuplot and the Unix tools all take), a header line
// of column names, shortest numbers that read back to the same value. Nothing is empty, infinities are Inf and -Inf,
// not-a-number is NaN, flags are true and false: pandas.read_csv and R's read.csv understand all of them without
// options.
//
// Reading goes by column name: order is free, unknown columns are ignored, a missing required one is an error. Numbers
// and flags are also taken as pandas and R write them back (4096.0 for a whole number, True, TRUE).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.hpp"

namespace attnscale {

/// The header line of a file of Rows, with its line break. Row: Record, SampleRow, StageRow or FitRow.
template <class Row>
std::string csv_header();

/// One row, with its line break.
template <class Row>
std::string csv_line(const Row& row);

/// Header and all rows.
template <class Row>
std::string csv_text(std::span<const Row> rows) {
  std::string text = csv_header<Row>();
  for (const Row& row : rows) text += csv_line(row);
  return text;
}

/// Parses a whole file; `file` names it in messages. Throws InputError naming file, line and column for malformed CSV,
/// missing or repeated columns, values of the wrong type, an empty or cut-off text, and another schema version.
template <class Row>
std::vector<Row> parse_csv(std::string_view text, const std::string& file);

/// Reads and parses a file. Throws InputError.
template <class Row>
std::vector<Row> read_csv(const std::filesystem::path& path);

}  // namespace attnscale
