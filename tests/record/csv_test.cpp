// CSV: what is written reads back bit for bit, and what other programs write is read.
#include "record/csv.hpp"

#include <limits>

#include "record/csv_lines.hpp"
#include "record/support.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

template <class Row>
void check_round_trip() {
  const std::vector<Row> rows = {full_row<Row>(), Row{}, full_row<Row>(1)};
  CHECK(parse_csv<Row>(csv_text<Row>(rows), "x.csv") == rows);
}

/// A file of one row, made from the canonical text of a default row with one value replaced.
std::string with_value(const std::string& column, const std::string& value) {
  std::string header;
  std::string line;
  for (const FieldInfo& field : fields_of<Record>()) {
    const std::string gap = header.empty() ? "" : ",";
    header += gap + std::string(field.name);
    line += gap + (field.name == column ? value : field.name == "schema_version" ? "1" : "");
  }
  return header + "\n" + line + "\n";
}

Record read_value(const std::string& column, const std::string& value) {
  return parse_csv<Record>(with_value(column, value), "x.csv").at(0);
}

}  // namespace

TEST_CASE("every row type reads back as it was written") {
  check_round_trip<Record>();
  check_round_trip<SampleRow>();
  check_round_trip<StageRow>();
  check_round_trip<FitRow>();
}

TEST_CASE("numbers are the shortest that read back, specials are what pandas and R know") {
  SampleRow row;
  row.cell_id = "00ff";
  const auto written = [&](double value) {
    row.time_ns = value;
    const std::string line = csv_line(row);
    return line.substr(line.rfind(',') + 1);
  };
  CHECK(written(0.1) == "0.1\n");
  CHECK(written(1.0 / 3) == "0.3333333333333333\n");
  CHECK(written(5e-324) == "5e-324\n");
  CHECK(written(std::numeric_limits<double>::infinity()) == "Inf\n");
  CHECK(written(-std::numeric_limits<double>::infinity()) == "-Inf\n");
  CHECK(written(std::nan("")) == "NaN\n");
  for (const double value : {0.1, 1.0 / 3, 1e300, -2.5e-310, 123456789.123456789, 1e22, 9007199254740993.0, 4096.0}) {
    row.time_ns = value;
    CHECK(parse_csv<SampleRow>(csv_header<SampleRow>() + csv_line(row), "x").at(0).time_ns == value);
  }
  row.start_ns = std::numeric_limits<std::int64_t>::max();
  CHECK(parse_csv<SampleRow>(csv_header<SampleRow>() + csv_line(row), "x").at(0).start_ns == row.start_ns);
}

TEST_CASE("empty, infinite and not-a-number are three things") {
  CHECK_FALSE(read_value("rel_fro", "").rel_fro);
  CHECK(std::isnan(read_value("rel_fro", "NaN").rel_fro.value()));
  CHECK(std::isnan(read_value("rel_fro", "nan").rel_fro.value()));
  CHECK(read_value("rel_fro", "-Inf").rel_fro.value() < 0);
  CHECK(std::isinf(read_value("rel_fro", "inf").rel_fro.value()));
  CHECK(csv_line(Record{}).find_first_not_of("1,\n") == std::string::npos);
}

TEST_CASE("values are also read as pandas and R write them back") {
  CHECK(read_value("queries", "4096.0").queries == 4096);
  CHECK(read_value("queries", "1e3").queries == 1000);
  CHECK(read_value("dirty", "True").dirty == true);
  CHECK(read_value("dirty", "FALSE").dirty == false);
  CHECK(read_value("reason", "\"a \"\"b\"\", c\"").reason == "a \"b\", c");
}

TEST_CASE("columns are found by name: order is free, others are ignored, later ones may be missing") {
  const auto rows = parse_csv<StageRow>("note,time_ns,stage,round,cell_id\r\nhello,1.5,attend,2,ab\r\n", "x");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0] == [] {
    StageRow row;
    row.cell_id = "ab";
    row.round = 2;
    row.stage = "attend";
    row.time_ns = 1.5;
    return row;
  }());
  // A file from before the group "Further" grew.
  std::string header;
  std::string line;
  for (const FieldInfo& field : fields_of<Record>()) {
    if (!field.required) continue;
    header += (header.empty() ? "" : ",") + std::string(field.name);
    line += field.name == "schema_version" ? "1" : field.name == "method" ? ",window:w=1" : ",";
  }
  CHECK(contains(message_of<InputError>([&] { parse_csv<Record>(header + "\n1,2\n", "x"); }), "2 fields"));
  const auto old = parse_csv<Record>(header + "\n" + line + "\n", "x");
  REQUIRE(old.size() == 1);
  CHECK(old[0].method == "window:w=1");
  CHECK_FALSE(old[0].lse_error);
}

TEST_CASE("a header alone is a file without rows") {
  CHECK(parse_csv<Record>(csv_header<Record>(), "x").empty());
  CHECK(parse_csv<SampleRow>("\xEF\xBB\xBF" + csv_header<SampleRow>(), "x").empty());
}

TEST_CASE("fields are quoted only when they must be") {
  const auto quoted_as = [](const std::string& text) {
    std::string out;
    append_csv_text(out, text);
    return out;
  };
  CHECK(quoted_as("plain text") == "plain text");
  CHECK(quoted_as("a,b") == "\"a,b\"");
  CHECK(quoted_as("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(quoted_as("two\nlines") == "\"two\nlines\"");
  CHECK(quoted_as("cr\r") == "\"cr\r\"");
  CHECK(quoted_as("") == "");
}
