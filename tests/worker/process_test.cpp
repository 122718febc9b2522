// Workers as processes: stopped while they are idle, and gone at the end, however that comes.
#include <chrono>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <signal.h>

#include "cli/program.hpp"
#include "measure/proc.hpp"
#include "record/csv.hpp"
#include "study/support.hpp"
#include "worker/child.hpp"

namespace attnscale::test {
namespace {

using Words = std::vector<std::string>;

std::string state_of(pid_t process) {
  return line_value(fmt::format("/proc/{}/status", process), "State").value_or("gone").substr(0, 1);
}

bool becomes(pid_t process, const std::string& states) {
  for (int i = 0; i < 2000; ++i) {
    if (states.find(state_of(process)) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

Words run_words(const std::string& mode, const Words& more) {
  Words words = {"run",
                 "--worker",
                 fmt::format("{} {} fake", ATTNSCALE_FAKE, mode),
                 "--worker-timeout",
                 "30s",
                 "--methods",
                 "fake",
                 "--dim",
                 "8",
                 "--rounds",
                 "1",
                 "--out",
                 "here"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Processes of the fake that answer to this mode.
int count_fakes(const std::string& mode) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::string text = text_of(entry.path() / "cmdline");
    if (text.starts_with(ATTNSCALE_FAKE) && text.find('\0' + mode + '\0') != std::string::npos) ++count;
  }
  return count;
}

bool all_gone(const std::string& mode) {
  for (int i = 0; i < 2000; ++i) {
    if (count_fakes(mode) == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace

TEST_CASE("a child is stopped unless it is asked, and gone at the end") {
  pid_t process = 0;
  {
    worker::Child child({ATTNSCALE_FAKE, "good"}, {{"A", "b"}});
    process = child.process();
    CHECK(holds(child.ask("", 30).line, "hello"));
    CHECK(becomes(process, "T"));
    const worker::Reply reply = child.ask(R"({"type":"release","id":3})", 30);
    CHECK(holds(reply.line, "released"));
    CHECK(reply.round_trip_ns > 0);
    CHECK(becomes(process, "T"));
  }
  CHECK(state_of(process) == "g");
}

TEST_CASE("a child that will not go is killed with its group") {
  {
    worker::Child child({ATTNSCALE_FAKE, "will-not-go"}, {});
    child.ask("", 30);
    child.set_farewell(R"({"type":"quit"})");
    worker::Child parent({ATTNSCALE_FAKE, "has-child"}, {});
    parent.ask("", 30);
    parent.ask(R"({"type":"release","id":3})", 30);
    CHECK(count_fakes("has-child") == 2);
  }
  CHECK(all_gone("will-not-go"));
  CHECK(all_gone("has-child"));
}

TEST_CASE("a run with a worker, from outside") {
  const Workplace here;
  const Result result = here.run(run_words("good", {"--n", "16"}));
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(read_csv<Record>(here / "here/summary.csv").size() == 2);
  CHECK(here.run(run_words("killed", {"--n", "16", "--force"})).code == 3);
  CHECK(here.run(run_words("nan", {"--n", "16", "--force"})).code == 4);
  const Result bad = here.run(run_words("wrong-version", {"--n", "16", "--force"}));
  CHECK(bad.code == 2);
  CHECK(holds(bad.err, "version 2"));
  CHECK(std::count(bad.err.begin(), bad.err.end(), '\n') == 1);
  CHECK(here.run({"list", "--worker", std::string(ATTNSCALE_FAKE) + " good fake"}).out.find("a fake") !=
        std::string::npos);
}

TEST_CASE("a peer that cannot be started is left out with its reason") {
  const Workplace here;
  here.write("mine.toml",
             fmt::format("[[run]]\npeer = [\"nowhere/python x.py\", \"nowhere/x.so\", \"{0} good fake\"]\nmethods = "
                         "\"peers\"\nn = 16\ndim = 8\nrounds = 1\n[[run]]\nworker = \"{0} lse "
                         "other\"\nmethods = \"peers\"\nn = 17\ndim = 8\nrounds = 1\n",
                         ATTNSCALE_FAKE));
  const Result result = here.run({"run", "mine.toml", "--out", "here"});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(holds(result.err, "a peer is left out: the program 'nowhere/python'"));
  CHECK(holds(result.err, "a peer is left out: the plugin 'nowhere/x.so' is not there"));
  const std::vector<Record> rows = read_csv<Record>(here / "here/summary.csv");
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].method == "fake");
  CHECK(rows[3].method == "other");  // the word stands for the workers of its own run
  for (const Record& row : rows) CHECK(row.status == "ok");
}

TEST_CASE("killing the program leaves no worker behind, not even a stopped one") {
  const Workplace here;
  const pid_t child = here.start(run_words("outside", {"--n", "16", "--seeds", "4000", "--quiet"}));
  const bool started = wait_for_lines(here / "here/journal.jsonl", 4);
  kill(child, SIGKILL);
  Workplace::wait(child);
  REQUIRE(started);
  CHECK(all_gone("outside"));
}

}  // namespace attnscale::test
