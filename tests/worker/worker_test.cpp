// Workers through the runner: one in order is a row like any other, and every hostile one is a row with its reason.
#include "worker/worker.hpp"

#include <chrono>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <signal.h>

#include "measure/proc.hpp"
#include "study/support.hpp"

namespace attnscale::test {
namespace {

// Short for those that never answer; for the others so long that no busy machine makes a difference.
double timeout_of(const std::string& mode) {
  return mode.starts_with("hangs") || mode == "endless-errors" ? 0.5 : 30;
}

std::string command_of(const std::string& mode, const std::string& name) {
  return fmt::format("'{}' {} {}", ATTNSCALE_FAKE, mode, name);
}

/// Adds the fake in this mode under a name of its own, once, and gives the name.
std::string fake(const std::string& mode) {
  const std::string name = "fake." + [](std::string text) {
    for (char& c : text) c = c == '-' ? '_' : c;
    return text;
  }(mode);
  if (find_method(name) == nullptr) add_worker(command_of(mode, name), timeout_of(mode));
  return name;
}

std::string hello_error(const std::string& mode) {
  return input_error([&] { add_worker(command_of(mode, "fake.never"), timeout_of(mode)); });
}

std::vector<Cell> run_fake(const std::string& mode, Settings settings = {}) {
  settings["methods"] = {fake(mode)};
  if (!settings.contains("n")) settings["n"] = {"16"};
  if (!settings.contains("dim")) settings["dim"] = {"8"};
  return run_cells(settings);
}

struct Hostile {
  const char* mode;
  const char* status;
  const char* reason;
};

constexpr Hostile kHostile[] = {
    {"hangs-on-problem", "timeout", "no answer within"},
    {"declines", "unsupported", "n is odd here"},
    {"says-error", "failed", "the worker says: no ??nergy"},
    {"wrong-shape", "failed", "[1,1,8,16] instead of [1,1,16,8]"},
    {"wrong-id", "failed", "belongs to no problem"},
    {"exits", "failed", "exit code 7; its last words: 'the licence has expired'"},
    {"killed", "failed", "killed by signal 9"},
    {"hangs", "timeout", "no answer within"},
    {"closes", "failed", "closed its output"},
    {"rubbish", "failed", "no JSON object: 'Traceback ?? (most"},
    {"two-gigabytes", "failed", "a line of more than 256 KiB"},
    {"endless-lines", "failed", "no JSON object: '1'"},
    {"endless-errors", "timeout", "no answer within"},
    {"deep", "failed", "no JSON object"},
    {"nan", "incorrect", "not finite"},
    {"wrong", "incorrect", "times its fp32 tolerance"},
    {"leaves-out", "incorrect", "not finite"},
    {"drifts", "incorrect", "differs from the verified output"},
    {"writes-once", "incorrect", "differs from the verified output"},
    {"negative", "failed", "negative time: -5"},
    {"too-long", "failed", "1e+15 ns for 1 calls"},
    {"nothing", "failed", "0 ns for 1 calls"},
    {"too-little", "failed", "too little to be true"},
    {"infinite", "failed", "1e+308 ns"},
    {"text", "failed", "no number"},
    {"too-few", "failed", "0 times for 1 calls"},
};

}  // namespace

TEST_CASE("a worker in order is a verified row with its own time") {
  const std::vector<Cell> cells = run_fake("good", {{"heads", {"4"}}, {"kv-heads", {"2"}}, {"causal", {"true"}}});
  REQUIRE(cells.size() == 2);
  const Record& row = cells[1].record;
  INFO(row.reason);
  CHECK(row.status == "ok");
  CHECK(row.method == "fake.good");
  CHECK(row.contract == "exact");
  CHECK(row.visible_pairs == 4 * 16 * 17 / 2);
  CHECK(row.ratio_to_exact);
  CHECK(*row.impl_ratio < 1);
  CHECK_FALSE(row.lse_error);
  CHECK_FALSE(row.plan_ns_median);
  CHECK_FALSE(row.workspace_bytes_counted);
  CHECK(holds(row.repro, "--worker '"));
  CHECK_FALSE(holds(row.repro, " /"));
  // The way to the worker and back is in the stage, not in the time.
  REQUIRE(cells[1].stages.size() == cells[1].samples.size());
  CHECK(cells[1].stages[0].time_ns >= cells[1].samples[0].time_ns);
  CHECK(row.own_time_share > 0);
  CHECK(row.own_time_share <= 1);
  CHECK_FALSE(cells[0].record.own_time_share);
}

TEST_CASE("a worker may give the log-sum-exp, which is then verified") {
  const Record row = row_of(run_fake("lse"), "fake.lse");
  CHECK(row.status == "ok");
  CHECK(row.lse_error);
}

TEST_CASE("a worker follows the definition that it names, and may be given its pattern") {
  const std::string name = fake("window");
  const std::vector<Cell> cells =
      run_cells({{"methods", {name + ":w=3", "window:w=3"}}, {"n", {"33"}}, {"heads", {"2"}}, {"dim", {"8"}}});
  REQUIRE(cells.size() == 3);
  CHECK(cells[1].record.method == name + ":w=3,dilation=1,edge=truncate");
  for (const Cell& cell : cells) CHECK(cell.record.status == "ok");
  CHECK(cells[1].record.visible_pairs == cells[2].record.visible_pairs);
  CHECK(cells[1].record.contract == "pruned");
  CHECK(cells[1].record.bound_held == true);
  CHECK(cells[1].record.mass_recall_mean == cells[2].record.mass_recall_mean);
}

TEST_CASE("what a worker does not offer is unsupported") {
  CHECK(row_of(run_fake("plain", {{"causal", {"true"}}}), "fake.plain").status == "unsupported");
  CHECK(row_of(run_fake("plain", {{"heads", {"2"}}, {"kv-heads", {"1"}}}), "fake.plain").status == "unsupported");
  CHECK(row_of(run_fake("plain"), "fake.plain").status == "ok");
}

TEST_CASE("every hostile worker is a row with the reason, and the run goes on") {
  Settings settings = {{"n", {"16"}}, {"dim", {"8"}}};
  for (const Hostile& hostile : kHostile) settings["methods"].push_back(fake(hostile.mode));
  settings["methods"].push_back(fake("good"));
  const std::vector<Cell> cells = run_cells(settings);
  REQUIRE(cells.size() == std::size(kHostile) + 2);
  for (const Hostile& hostile : kHostile) {
    const Record& row = row_of(cells, fake(hostile.mode));
    INFO(hostile.mode << ": " << row.reason);
    CHECK(row.status == hostile.status);
    CHECK(holds(row.reason, hostile.reason));
    CHECK_FALSE(row.time_ns_median);
  }
  CHECK(row_of(cells, "exact.streaming").status == "ok");
  CHECK(row_of(cells, fake("good")).status == "ok");
}

TEST_CASE("after a worker has died the next cell gets a new one") {
  const std::vector<Cell> cells = run_fake("killed-at-32", {{"n", {"16,32,48"}}, {"threads", {"1,2"}}});
  REQUIRE(cells.size() == 12);
  for (const Cell& cell : cells) {
    if (cell.record.method == "exact.streaming") continue;
    CHECK(cell.record.status == (cell.record.keys == 32 ? "failed" : "ok"));
  }
}

TEST_CASE("a worker whose hello is not in order is bad input") {
  CHECK(holds(hello_error("wrong-version"), "version 2"));
  CHECK(holds(hello_error("hangs-at-once"), "no answer within"));
  CHECK(holds(hello_error("exits-at-once"), "exit code 3"));
  CHECK(holds(hello_error("rubbish-at-once"), "no JSON object: 'Welcome!'"));
  CHECK(holds(hello_error("two-gigabytes-at-once"), "a line of more than"));
  CHECK(holds(hello_error("no-methods"), "offers no method"));
  CHECK(holds(hello_error("unknown-like"), "did you mean 'exact.streaming'"));
  CHECK(holds(hello_error("chooses-like"), "depend on the data"));
  CHECK(holds(input_error([] { add_worker("/nowhere/at-all", 1); }), "cannot be started"));
  CHECK(find_method("fake.never") == nullptr);
  fake("good");
  CHECK(holds(input_error([] { add_worker(command_of("good", "fake.good"), 30); }), "already"));
  CHECK(holds(input_error([] { add_worker(command_of("good", "window"), 30); }), "already"));
}

TEST_CASE("no shared memory keeps a name") {
  run_fake("good");
  run_fake("killed");
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
    const std::string name = entry.path().filename().string();
    CHECK_FALSE(name.starts_with(fmt::format("attnscale-{}-", getpid())));
  }
}

}  // namespace attnscale::test
