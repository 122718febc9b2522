// The rules of the output folder.
#include "record/run_folder.hpp"

#include <set>

#include <sys/stat.h>

#include "record/csv.hpp"
#include "record/jsonl.hpp"
#include "record/support.hpp"

using namespace attnscale;
using namespace attnscale::test;
namespace fs = std::filesystem;

namespace {

RunInfo named(const std::string& name) {
  RunInfo run;
  run.set("run", "name", name);
  return run;
}

Cell cell_of(int salt) {
  Cell cell;
  cell.record = full_row<Record>(salt);
  cell.samples = {full_row<SampleRow>(salt)};
  cell.stages = {full_row<StageRow>(salt)};
  return cell;
}

void make_run(const fs::path& folder, int cells, const RunFormats& formats = {}) {
  RunFolder run(folder);
  run.start(named("first"));
  for (int i = 0; i < cells; ++i) run.append(cell_of(i));
  run.finish(named("first"), formats);
}

std::string refusal(const fs::path& folder, bool force = false) {
  return message_of<InputError>([&] { RunFolder run(folder, force); });
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

const std::set<std::string> kFinished = {"journal.jsonl", "run.json", "samples.csv", "stages.csv", "summary.csv"};

}  // namespace

TEST_CASE("a run leaves its files, nested folders included") {
  const Scratch scratch;
  make_run(scratch / "a/b/run", 2);
  CHECK(names_in(scratch / "a/b/run") == kFinished);
  CHECK(read_csv<Record>(scratch / "a/b/run/summary.csv") == std::vector<Record>{cell_of(0).record, cell_of(1).record});
  CHECK(read_csv<SampleRow>(scratch / "a/b/run/samples.csv").size() == 2);
  CHECK(read_csv<StageRow>(scratch / "a/b/run/stages.csv").size() == 2);
  CHECK(parse_run_json(read_file(scratch / "a/b/run/run.json"), "run.json") == named("first"));
  make_run(scratch / "none", 0, parse_formats("csv,jsonl"));
  CHECK(read_csv<Record>(scratch / "none/summary.csv").empty());
  CHECK(read_jsonl(scratch / "none/summary.jsonl").empty());
}

TEST_CASE("rows are on the disk before the end") {
  const Scratch scratch;
  RunFolder run(scratch / "run");
  CHECK_FALSE(fs::exists(scratch / "run"));
  run.start(named("x"));
  run.append(cell_of(0));
  CHECK(names_in(scratch / "run") == std::set<std::string>{"journal.jsonl"});
  CHECK(read_journal(scratch / "run/journal.jsonl").cells.size() == 1);
}

TEST_CASE("an existing folder, a file, and a place that cannot be written are refused") {
  const Scratch scratch;
  make_run(scratch / "run", 1);
  CHECK(contains(refusal(scratch / "run"), "exists: give a new name, or --force to replace the run in it"));
  fs::create_directory(scratch / "empty");
  CHECK(contains(refusal(scratch / "empty"), "exists: give a new name"));
  write(scratch / "file", "x");
  CHECK(contains(refusal(scratch / "file"), "is a file: give another name"));
  CHECK(contains(refusal(scratch / "file", true), "is a file: give another name"));
  CHECK(contains(refusal(scratch / "file/run"), "is a file"));
  CHECK(contains(refusal(""), "has no name"));
  // Root may write anywhere, except where the kernel itself says no.
  fs::create_directory(scratch / "locked");
  ::chmod((scratch / "locked").c_str(), 0555);
  const std::string place = ::geteuid() == 0 ? "/proc/run" : (scratch / "locked/run").string();
  if (::geteuid() != 0 || ::access("/proc", W_OK) != 0) CHECK(contains(refusal(place), "is not writable"));
}

TEST_CASE("forcing replaces a run when the new one starts, and leaves other files alone") {
  const Scratch scratch;
  make_run(scratch / "run", 2, parse_formats("jsonl"));
  write(scratch / "run/notes.txt", "mine");
  write(scratch / "run/fits.csv", "of the old run");
  const auto before = names_in(scratch / "run");
  RunFolder run(scratch / "run", true);
  CHECK(names_in(scratch / "run") == before);
  run.start(named("second"));
  CHECK(names_in(scratch / "run") == std::set<std::string>{"journal.jsonl", "notes.txt"});
  CHECK(read_journal(scratch / "run/journal.jsonl").run == named("second"));
  run.append(cell_of(5));
  run.finish(named("second"));
  CHECK(read_csv<Record>(scratch / "run/summary.csv").size() == 1);
  CHECK(read_file(scratch / "run/notes.txt") == "mine");
}

TEST_CASE("a new run that cannot start leaves the old one whole") {
  if (!fs::exists("/dev/full")) return;
  const Scratch scratch;
  make_run(scratch / "run", 2);
  fs::create_symlink("/dev/full", scratch / "run/journal.jsonl.tmp");
  RunFolder run(scratch / "run", true);
  CHECK(contains(message_of<WriteError>([&] { run.start(named("second")); }), "No space left"));
  CHECK(names_in(scratch / "run") == kFinished);
  CHECK(read_journal(scratch / "run/journal.jsonl").cells.size() == 2);
}

TEST_CASE("forcing refuses a folder that holds other files and no run") {
  const Scratch scratch;
  fs::create_directory(scratch / "home");
  write(scratch / "home/summary.csv", "somebody's");
  CHECK(contains(refusal(scratch / "home", true), "holds other files and no run"));
  CHECK(read_file(scratch / "home/summary.csv") == "somebody's");
  fs::create_directory(scratch / "empty");
  CHECK_NOTHROW(RunFolder(scratch / "empty", true));
}

TEST_CASE("a full disk at the end names what is saved, and leaves no part of the final files") {
  if (!fs::exists("/dev/full")) return;
  const Scratch scratch;
  RunFolder run(scratch / "run");
  run.start(named("x"));
  run.append(cell_of(0));
  run.append(cell_of(1));
  fs::create_symlink("/dev/full", scratch / "run/stages.csv.tmp");
  const std::string message = message_of<WriteError>([&] { run.finish(named("x")); });
  CHECK(contains(message, "stages.csv (No space left on device); saved: all 2 rows in "));
  CHECK(names_in(scratch / "run") == std::set<std::string>{"journal.jsonl"});
  CHECK_NOTHROW(run.finish(named("x")));
}

TEST_CASE("an unfinished run can be gone on with") {
  const Scratch scratch;
  {
    RunFolder run(scratch / "run");
    run.start(named("x"));
    run.append(cell_of(0));
  }
  std::ofstream(scratch / "run/journal.jsonl", std::ios::app) << "{\"record\":{\"sche";
  RunFolder run = RunFolder::resume(scratch / "run");
  CHECK(run.info() == named("x"));
  REQUIRE(run.cells().size() == 1);
  run.append(cell_of(1));
  run.finish(named("x"));
  CHECK(read_csv<Record>(scratch / "run/summary.csv") == std::vector<Record>{cell_of(0).record, cell_of(1).record});
  CHECK(contains(message_of<InputError>([&] { RunFolder::resume(scratch / "none"); }), "holds no journal.jsonl"));
}

TEST_CASE("formats by name") {
  CHECK_FALSE(parse_formats("csv").jsonl);
  CHECK(parse_formats("csv,jsonl").jsonl);
  CHECK(message_of<InputError>([] { parse_formats("csv,json"); }) == "unknown format 'json'; did you mean 'jsonl'?");
}
