// CSV files that are damaged, foreign or wrong: one sentence with file, line and column each.
#include "record/csv.hpp"
#include "record/support.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

std::string samples_error(const std::string& text) {
  return message_of<InputError>([&] { parse_csv<SampleRow>(text, "samples.csv"); });
}

std::string summary_error(const std::string& text) {
  return message_of<InputError>([&] { parse_csv<Record>(text, "summary.csv"); });
}

const std::string kHeader = csv_header<SampleRow>();
const std::string kGood = "ab,1,2,3,4,5.5\n";

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.substr(0, at) + to + text.substr(at + from.size());
}

}  // namespace

TEST_CASE("malformed CSV is refused with its line") {
  CHECK(samples_error("") == "samples.csv is empty: it should start with a line of column names");
  CHECK(samples_error(std::string("ab\0c\n", 5)) == "samples.csv holds NUL bytes: it is not a CSV file");
  CHECK(samples_error(kHeader + "a\"b,1,2,3,4,5\n") ==
        "samples.csv line 2: a quote inside a field that does not start with one");
  CHECK(samples_error(kHeader + kGood + "\"ab,1,2,3,4,5\n") == "samples.csv line 3: a quoted field is never closed");
  CHECK(samples_error(kHeader + "\"ab\"x,1,2,3,4,5\n") ==
        "samples.csv line 2: a field is followed by neither a comma nor a line break");
  CHECK(samples_error(kHeader + "ab,1,2,3,4,5\rcd,1,2,3,4,5\n") ==
        "samples.csv line 2: a field is followed by neither a comma nor a line break");
  CHECK(samples_error(kHeader + "ab,1,2\n") == "samples.csv line 2: 3 fields, but the first line names 6 columns");
  CHECK(samples_error(kHeader + kGood + "\n") == "samples.csv line 3: 1 fields, but the first line names 6 columns");
  CHECK(samples_error(kHeader + "ab,1,2,3,4,5,6\n") ==
        "samples.csv line 2: 7 fields, but the first line names 6 columns");
}

TEST_CASE("a file that was cut off is refused, even where the cut leaves whole fields") {
  const std::string cut = "samples.csv line 3 does not end with a line break: the file was cut off there";
  CHECK(samples_error(kHeader + kGood + "ab,1,2,3,4,5") == cut);
  CHECK(samples_error(kHeader + kGood + "ab,1,") == cut);
  CHECK(samples_error("cell_id,rou") ==
        "samples.csv line 1 does not end with a line break: the file was cut off there");
}

TEST_CASE("lines are counted through quoted line breaks") {
  const std::string text = kHeader + "\"a\nb\nc\",1,2,3,4,5\nab,1,2,x,4,5\n";
  CHECK(samples_error(text) == "samples.csv line 5, column start_ns: 'x' is not a whole number");
}

TEST_CASE("columns that are missing or repeated") {
  CHECK(samples_error("a,b\n1,2\n") == "samples.csv line 1: there is no column cell_id");
  CHECK(samples_error("hello\n") == "samples.csv line 1: there is no column cell_id");
  CHECK(samples_error(replaced(kHeader, "iterations", "its") + kGood) ==
        "samples.csv line 1: there is no column iterations");
  CHECK(samples_error(replaced(kHeader, "iterations", "order") + kGood) ==
        "samples.csv line 1: the column order stands there twice");
  CHECK(summary_error(replaced(csv_header<Record>(), "status", "state")) ==
        "summary.csv line 1: there is no column status");
  CHECK(summary_error(replaced(csv_header<Record>(), "schema_version", "v")) ==
        "summary.csv line 1: there is no column schema_version");
}

TEST_CASE("values of the wrong type") {
  CHECK(samples_error(kHeader + "ab,,2,3,4,5\n") == "samples.csv line 2, column round: '' is not a whole number");
  CHECK(samples_error(kHeader + "ab,1.5,2,3,4,5\n") == "samples.csv line 2, column round: '1.5' is not a whole number");
  CHECK(samples_error(kHeader + "ab,99999999999999999999,2,3,4,5\n") ==
        "samples.csv line 2, column round: '99999999999999999999' is not a whole number");
  CHECK(samples_error(kHeader + "ab,1,2,3,4,fast\n") == "samples.csv line 2, column time_ns: 'fast' is not a number");
  CHECK(samples_error(kHeader + "ab,1,2,3,4,5 \n") == "samples.csv line 2, column time_ns: '5 ' is not a number");
  CHECK(samples_error(kHeader + "ab,1,2,3,4,\n") == "samples.csv line 2, column time_ns: '' is not a number");
  Record row;
  row.dirty = true;
  const std::string text = csv_header<Record>() + csv_line(row);
  CHECK(summary_error(replaced(text, "true", "yes")) ==
        "summary.csv line 2, column dirty: 'yes' is not true, false or nothing");
}

TEST_CASE("another schema version is named before anything that it may have changed") {
  Record row;
  row.schema_version = 2;
  const std::string sentence =
      "summary.csv line 2, column schema_version: '2' where this program reads 1; use the program that wrote the file";
  CHECK(summary_error(csv_header<Record>() + csv_line(row)) == sentence);
  CHECK(summary_error("schema_version,new_column\n2,x\n") == sentence);
  CHECK(contains(summary_error("schema_version,new_column\n,x\n"), "'' where this program reads 1"));
}

TEST_CASE("files that cannot be read") {
  const Scratch scratch;
  CHECK(contains(message_of<InputError>([&] { read_csv<Record>(scratch / "none.csv"); }), "none.csv does not exist"));
  CHECK(contains(message_of<InputError>([&] { read_csv<Record>(scratch.path()); }), "is a folder, not a file"));
  write(scratch / "empty.csv", "");
  CHECK(contains(message_of<InputError>([&] { read_csv<Record>(scratch / "empty.csv"); }), "empty.csv is empty"));
}

TEST_CASE("any cut of a good file is refused or ends at a whole line") {
  const std::vector<SampleRow> rows = {full_row<SampleRow>(), full_row<SampleRow>(1), full_row<SampleRow>(2)};
  const std::string text = csv_text<SampleRow>(rows);
  for (std::size_t length = 0; length < text.size(); ++length) {
    try {
      const auto read = parse_csv<SampleRow>(text.substr(0, length), "x");
      CHECK(read.size() < rows.size());
      CHECK(std::equal(read.begin(), read.end(), rows.begin()));
    } catch (const InputError&) {
      // Refused, as it should be.
    }
  }
}

TEST_CASE("a large file is read whole") {
  std::string text = kHeader;
  constexpr std::size_t kRows = 100000;
  for (std::size_t i = 0; i < kRows; ++i) text += kGood;
  CHECK(parse_csv<SampleRow>(text, "x").size() == kRows);
}
