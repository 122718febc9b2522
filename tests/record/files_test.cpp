// Safe writes: the old content or the new one, never a part; and a full disk.
#include "record/files.hpp"

#include "record/support.hpp"

using namespace attnscale;
using namespace attnscale::test;

TEST_CASE("a file is replaced whole") {
  const Scratch scratch;
  write_file(scratch / "a", "old");
  stage_file(scratch / "a", "new and longer");
  CHECK(read_file(scratch / "a") == "old");
  commit_file(scratch / "a");
  CHECK(read_file(scratch / "a") == "new and longer");
  CHECK_FALSE(std::filesystem::exists(scratch / "a.tmp"));
  write_file(scratch / "empty", "");
  CHECK(read_file(scratch / "empty").empty());
}

TEST_CASE("a device without space is a WriteError, and the old file stays") {
  if (!std::filesystem::exists("/dev/full")) return;
  const Scratch scratch;
  write(scratch / "a", "old");
  std::filesystem::create_symlink("/dev/full", scratch / "a.tmp");
  const std::string message = message_of<WriteError>([&] { write_file(scratch / "a", "new"); });
  CHECK(contains(message, "could not write "));
  CHECK(contains(message, "(No space left on device)"));
  CHECK(read_file(scratch / "a") == "old");
  CHECK_FALSE(std::filesystem::exists(std::filesystem::symlink_status(scratch / "a.tmp")));
}

TEST_CASE("a folder that is not there is a WriteError") {
  const Scratch scratch;
  CHECK(contains(message_of<WriteError>([&] { write_file(scratch / "none/a", "x"); }), "No such file or directory"));
}

TEST_CASE("an output file appends, cuts and moves") {
  const Scratch scratch;
  write(scratch / "a", "12345");
  OutputFile file(scratch / "a", OutputFile::Open::append);
  file.cut(2);
  OutputFile moved = std::move(file);
  moved.write("xyz");
  moved.sync();
  moved.close();
  CHECK(read_file(scratch / "a") == "12xyz");
  CHECK_THROWS_AS(OutputFile(scratch / "none", OutputFile::Open::append), std::system_error);
}
