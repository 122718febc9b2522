// `attnscale run` from outside: files, columns, precedence, exit codes, interruption.
#include <algorithm>
#include <sstream>

#include <signal.h>
#include <sys/resource.h>

#include "cli/program.hpp"
#include "record/csv.hpp"
#include "record/journal.hpp"
#include "record/run_info.hpp"
#include "study/deterministic.hpp"
#include "support/catch.hpp"

namespace attnscale::test {
namespace {

using Words = std::vector<std::string>;

const Words kSmallRun = {"run",   "--methods", "window:w=4", "topk:k=8", "--n",
                         "32,48", "--rounds",  "2",          "--out",    "here"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<Record> rows_of(const Workplace& here, const std::string& folder) {
  return read_csv<Record>(here / folder / "summary.csv");
}

// A run that goes on for minutes unless it is stopped: many cells, each of a few milliseconds.
const Words kLongRun = {"run",  "--methods", "window:w=4", "--n",   "64",   "--seeds",
                        "4000", "--rounds",  "1",          "--out", "long", "--quiet"};

}  // namespace

TEST_CASE("a run writes its files, and ends with a table and the next command") {
  const Workplace here;
  const Result result = here.run(kSmallRun);
  INFO(result.err);
  REQUIRE(result.code == 0);
  for (const char* name : {"summary.csv", "samples.csv", "stages.csv", "fits.csv", "run.json", "journal.jsonl"}) {
    INFO(name);
    CHECK(std::filesystem::file_size(here / "here" / name) > 0);
  }
  CHECK(result.out.find("topk:k=8") != std::string::npos);
  CHECK(result.out.find("attnscale plot here") != std::string::npos);
  CHECK(result.out.find("per cell)") != std::string::npos);
  const RunInfo info = parse_run_json(text_of(here / "here/run.json"), "run.json");
  for (const char* name : {"wall_s", "calls_s", "oracle_s", "inputs_s", "children_s", "harness_s", "harness_share"})
    CHECK(info.find("time", name) != nullptr);
  CHECK(info.find("harness_ms_per_cell", "48") != nullptr);
  const std::vector<Record> rows = rows_of(here, "here");
  REQUIRE(rows.size() == 6);
  for (const Record& row : rows) {
    CHECK(row.status == "ok");
    CHECK(row.time_ns_median);
    CHECK(row.repro.starts_with("attnscale run --methods " + row.method));
#ifndef ATTNSCALE_SANITIZED
    REQUIRE(row.workspace_bytes_counted);
    CHECK(*row.workspace_bytes_counted >= *row.workspace_bytes_predicted);
    CHECK(row.resident_bytes);
#endif
  }
}

TEST_CASE("the header begins with the columns whose names are fixed") {
  const Workplace here;
  REQUIRE(here.run({"run", "--n", "16", "--rounds", "1", "--out", "here"}).code == 0);
  const std::string golden = text_of(ATTNSCALE_SOURCE_DIR "/tests/cli/fixed_columns.txt");
  std::string fixed = golden;
  std::replace(fixed.begin(), fixed.end(), '\n', ',');
  const std::string summary = text_of(here / "here/summary.csv");
  CHECK(summary.substr(0, fixed.size()) == fixed);
  std::string names = here.run({"list", "fields", "--names"}).out;
  std::replace(names.begin(), names.end(), '\n', ',');
  CHECK(summary.substr(0, summary.find('\n')) + "," == names);
}

TEST_CASE("a second run gives the same figures") {
  const Workplace here;
  REQUIRE(here.run(kSmallRun).code == 0);
  Words again = kSmallRun;
  again.back() = "again";
  REQUIRE(here.run(again).code == 0);
  const std::vector<Record> first = rows_of(here, "here");
  const std::vector<Record> second = rows_of(here, "again");
  REQUIRE(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(deterministic(first[i]) == deterministic(second[i]));
}

TEST_CASE("the repro command of a row makes it again") {
  const Workplace here;
  REQUIRE(here.run(with(kSmallRun, {"--heads", "2", "--causal"})).code == 0);
  const Record row = rows_of(here, "here").back();
  Words words;
  std::istringstream text(row.repro);
  for (std::string word; text >> word;) words.push_back(word);
  words.erase(words.begin());
  REQUIRE(here.run(with(words, {"--out", "again"})).code == 0);
  CHECK(deterministic(rows_of(here, "again").back()) == deterministic(row));
}

TEST_CASE("an existing run is refused, and --force replaces it") {
  const Workplace here;
  REQUIRE(here.run(kSmallRun).code == 0);
  here.write("here/notes.txt", "mine");
  CHECK(here.run(kSmallRun).code == 2);
  CHECK(rows_of(here, "here").size() == 6);
  REQUIRE(here.run({"run", "--n", "16", "--rounds", "1", "--out", "here", "--force"}).code == 0);
  CHECK(rows_of(here, "here").size() == 1);
  CHECK(text_of(here / "here/notes.txt") == "mine");
}

TEST_CASE("without --out every run has a folder of its own") {
  const Workplace here;
  const Words words = {"run", "--n", "16", "--rounds", "1"};
  CHECK(here.run(words).code == 0);
  CHECK(here.run(words).code == 0);
  const auto folders = std::filesystem::directory_iterator(here / "runs");
  CHECK(std::distance(begin(folders), end(folders)) == 2);
}

TEST_CASE("flags override the environment, and that the file") {
  const Workplace here;
  here.write("mine.toml", "[[run]]\nn = 16\nheads = 2\nseed = 1\nrounds = 1\n");
  REQUIRE(here.run({"run", "mine.toml", "--heads", "4", "--out", "here"},
                   [] {
                     setenv("ATTNSCALE_HEADS", "3", 1);
                     setenv("ATTNSCALE_SEED", "9", 1);
                   })
              .code == 0);
  const Record row = rows_of(here, "here").front();
  CHECK(row.study == "mine");
  CHECK(row.queries == 16);
  CHECK(row.heads == 4);
  CHECK(row.seed == 9);
}

TEST_CASE("a flag that is on or off can be switched off again") {
  const Workplace here;
  here.write("mine.toml", "[[run]]\nn = 16\ncausal = true\npin = true\nrounds = 1\n");
  REQUIRE(here.run({"run", "mine.toml", "--causal=false", "--out", "here"}).code == 0);
  const Record row = rows_of(here, "here").front();
  CHECK(row.mask == "none");
  CHECK(row.pinned == true);
}

TEST_CASE("a dry run predicts and writes nothing") {
  const Workplace here;
  const Result result = here.run(with(kSmallRun, {"--dry-run"}));
  CHECK(result.code == 0);
  CHECK(result.out.find("6 cells") != std::string::npos);
  CHECK(here.contents().empty());
}

TEST_CASE("outputs are saved on request") {
  const Workplace here;
  REQUIRE(here.run(with(kSmallRun, {"--save-output", "saved"})).code == 0);
  for (const Record& row : rows_of(here, "here")) {
    CHECK(std::filesystem::file_size(here / "saved" / (row.cell_id + ".o.npy")) >
          static_cast<std::uintmax_t>(*row.queries) * 64 * 4);
    CHECK(std::filesystem::exists(here / "saved" / (row.cell_id + ".lse.npy")));
  }
}

TEST_CASE("a cell that needs too much memory is a row, and leaves exit code 0") {
  const Workplace here;
  CHECK(here.run({"run", "--n", "16,2147483648", "--rounds", "1", "--out", "here"}).code == 0);
  const std::vector<Record> rows = rows_of(here, "here");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].status == "ok");
  CHECK(rows[1].status == "over_budget");
}

TEST_CASE("kill -9 leaves every finished row in the journal") {
  const Workplace here;
  const pid_t child = here.start(kLongRun);
  const bool started = wait_for_lines(here / "long/journal.jsonl", 4);
  kill(child, SIGKILL);
  CHECK(Workplace::wait(child) == 128 + SIGKILL);
  REQUIRE(started);
  const JournalContents journal = read_journal(here / "long/journal.jsonl");
  CHECK(journal.cells.size() >= 3);
  for (const Cell& cell : journal.cells) {
    CHECK(cell.record.status == "ok");
    CHECK(cell.samples.size() == 1);
  }
  CHECK_FALSE(std::filesystem::exists(here / "long/summary.csv"));
}

TEST_CASE("an interrupt ends with valid files and exit code 130") {
  const Workplace here;
  const pid_t child = here.start(kLongRun);
  const bool started = wait_for_lines(here / "long/journal.jsonl", 3);
  kill(child, SIGINT);
  CHECK(Workplace::wait(child) == 130);
  REQUIRE(started);
  const std::vector<Record> rows = rows_of(here, "long");
  CHECK(rows.size() >= 2);
  CHECK(rows.size() < 8000);
  CHECK(read_journal(here / "long/journal.jsonl").cells.size() == rows.size());
}

TEST_CASE("a full disk is exit code 5, with what was saved") {
  const Workplace here;
  const Result result = here.run(kLongRun, [] {
    const rlimit limit{20000, 20000};
    setrlimit(RLIMIT_FSIZE, &limit);
  });
  INFO(result.err);
  CHECK(result.code == 5);
  CHECK(result.err.find("journal.jsonl") != std::string::npos);
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK_FALSE(read_journal(here / "long/journal.jsonl").cells.empty());
}

TEST_CASE("output that cannot be written is exit code 5") {
  const Workplace here;
  const Result result = here.run({"list", "inputs"}, [] { (void)!freopen("/dev/full", "w", stdout); });
  CHECK(result.code == 5);
}

}  // namespace attnscale::test
