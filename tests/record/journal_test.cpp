// The journal: durable per cell, and what a kill leaves behind.
#include "record/journal.hpp"

#include <csignal>

#include <sys/resource.h>
#include <sys/wait.h>

#include "record/support.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

Cell cell_of(int salt) {
  Cell cell;
  cell.record = full_row<Record>(salt);
  cell.samples = {full_row<SampleRow>(salt), full_row<SampleRow>(salt + 1)};
  cell.stages = {full_row<StageRow>(salt)};
  return cell;
}

RunInfo some_run() {
  RunInfo run;
  run.set("run", "command", std::string("attnscale run quick"));
  return run;
}

Journal journal_of(const std::filesystem::path& path, int cells) {
  Journal journal = Journal::create(path, some_run(), [] {});
  for (int i = 0; i < cells; ++i) journal.append(cell_of(i));
  return journal;
}

void check_cells(const JournalContents& contents, std::size_t count) {
  CHECK(contents.run == some_run());
  REQUIRE(contents.cells.size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    const Cell expected = cell_of(static_cast<int>(i));
    CHECK(contents.cells[i].record == expected.record);
    CHECK(contents.cells[i].samples == expected.samples);
    CHECK(contents.cells[i].stages == expected.stages);
  }
}

}  // namespace

TEST_CASE("cells read back with their raw data") {
  const Scratch scratch;
  const Journal journal = journal_of(scratch / "j", 3);
  CHECK(journal.cells() == 3);
  const JournalContents contents = read_journal(scratch / "j");
  check_cells(contents, 3);
  CHECK_FALSE(contents.torn);
}

TEST_CASE("a cut at any byte keeps every whole line, and the journal goes on from there") {
  const Scratch scratch;
  journal_of(scratch / "j", 2);
  const std::string whole = read_file(scratch / "j");
  const std::size_t first = whole.find('\n') + 1;
  const std::size_t second = whole.find('\n', first) + 1;
  for (std::size_t length = first; length < whole.size(); length += 97) {
    write(scratch / "cut", whole.substr(0, length));
    const JournalContents contents = read_journal(scratch / "cut");
    check_cells(contents, length < second ? 0 : 1);
    CHECK(contents.torn == (length != first && length != second));
  }
  write(scratch / "cut", whole.substr(0, second + 10));
  const JournalContents contents = read_journal(scratch / "cut");
  Journal journal = Journal::resume(scratch / "cut", contents);
  journal.append(cell_of(1));
  CHECK(read_file(scratch / "cut") == whole);
}

TEST_CASE("a journal that is damaged before its end is refused") {
  const Scratch scratch;
  journal_of(scratch / "j", 2);
  std::string text = read_file(scratch / "j");
  const auto error = [&](const std::string& bytes) {
    write(scratch / "bad", bytes);
    return message_of<InputError>([&] { read_journal(scratch / "bad"); });
  };
  const std::size_t second_line = text.find('\n') + 1;
  CHECK(
      contains(error(text.substr(0, second_line) + "{\n" + text.substr(second_line)), "bad line 2 is not valid JSON"));
  CHECK(contains(error(text.substr(0, second_line) + "{\"a\":1}\n"), "bad line 2 is not a cell of a journal"));
  CHECK(contains(error(""), "bad is no journal: its first line is missing"));
  CHECK(contains(error(text.substr(0, second_line - 1)), "its first line is missing"));
  CHECK(contains(error("{\"schema_version\":9}\n"), "schema_version is 9"));
}

TEST_CASE("a killed process leaves every finished cell") {
  const Scratch scratch;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Journal journal = journal_of(scratch / "j", 3);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  check_cells(read_journal(scratch / "j"), 3);
}

TEST_CASE("a full disk ends with a sentence, and the journal stays whole") {
  const Scratch scratch;
  Journal journal = journal_of(scratch / "j", 2);
  const std::string before = read_file(scratch / "j");
  // The largest file that this process may write stands for the end of the disk; it cuts the next line in the middle.
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{before.size() + 100, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &full);
  std::string message;
  try {
    journal.append(cell_of(2));
  } catch (const WriteError& error) {
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  CHECK(contains(message, "could not write to "));
  CHECK(contains(message, "saved there: 2 finished rows"));
  CHECK(read_file(scratch / "j") == before);
  journal.append(cell_of(2));
  check_cells(read_journal(scratch / "j"), 3);
}
