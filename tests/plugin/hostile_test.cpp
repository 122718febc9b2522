// Plugins that misbehave. A fault of the table is one sentence and exit code 2; a fault of a method is its row, and the
// run goes on.
#include <algorithm>
#include <map>

#include "cli/program.hpp"
#include "record/csv.hpp"
#include "support/catch.hpp"

namespace attnscale::test {
namespace {

using Words = std::vector<std::string>;

void check_refused(const std::string& plugin, const std::string& says, const std::function<void()>& in_child = {}) {
  const Workplace here;
  const Result result = here.run({"list", "methods", "--plugin", plugin}, in_child);
  INFO(says);
  INFO(result.err);
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(result.err.starts_with("attnscale: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(result.err.size() < 700);
  CHECK(result.err.find(says) != std::string::npos);
}

struct Rows {
  int code = 0;
  std::map<std::string, Record> by_name;
};

Rows run_methods(const std::string& plugin, const std::string& methods, const Words& more = {}) {
  const Workplace here;
  Words words = {"run", "--plugin", plugin, "--methods", methods, "--n",
                 "20",  "--rounds", "2",    "--out",     "here",  "--quiet"};
  words.insert(words.end(), more.begin(), more.end());
  const Result result = here.run(words);
  INFO(result.err);
  Rows rows;
  rows.code = result.code;
  REQUIRE(std::filesystem::exists(here / "here/summary.csv"));
  for (Record& row : read_csv<Record>(here / "here/summary.csv")) rows.by_name[row.name] = row;
  return rows;
}

void check_row(const Rows& rows, const std::string& name, const std::string& status, const std::string& says = "") {
  INFO(name);
  REQUIRE(rows.by_name.contains(name));
  const Record& row = rows.by_name.at(name);
  INFO(row.reason);
  CHECK(row.status == status);
  CHECK(row.reason.find(says) != std::string::npos);
  CHECK(row.reason.size() < 400);
  CHECK(row.time_ns_median.has_value() == (status == "ok"));
}

}  // namespace

TEST_CASE("what is no plugin is refused in one sentence") {
  const Workplace here;
  here.write("text.so", "not a library\n");
  check_refused((here / "none.so").string(), "is not there: give the path of a shared library");
  check_refused(here.path().string(), "is not there");
  check_refused((here / "text.so").string(), "cannot be loaded");
  check_refused(ATTNSCALE_FAKE_OTHER, "does not export attnscale_plugin_v1");
  check_refused(ATTNSCALE_FAKE_THROWER, "it threw an exception: at once", with_variable("THROWER", "1"));
}

TEST_CASE("a table that breaks the interface is refused in one sentence") {
  const std::pair<const char*, const char*> faults[] = {
      {"no table", "returns no table"},
      {"version", "has version 2 of the plugin interface, this program version 1"},
      {"small table", "has a table of 8 bytes"},
      {"no list", "methods in no list"},
      {"no methods", "brings 0 methods"},
      {"many methods", "it must list 1 to 256"},
      {"null method", "its method 1 is null"},
      {"small method", "its method 1 has 16 bytes"},
      {"twice", "which --plugin libattnscale_fake_hostile.so has already"},
  };
  for (const auto& [fault, says] : faults) check_refused(ATTNSCALE_FAKE_HOSTILE, says, with_variable("HOSTILE", fault));
}

TEST_CASE("a method that breaks the interface is refused in one sentence") {
  const std::pair<const char*, const char*> faults[] = {
      {"no name", "a method named ''"},
      {"empty name", "a method named ''"},
      {"huge name", "a name has 1 to 64"},
      {"odd name", "a method named 'a:b'"},
      {"taken name", "which the program has already"},
      {"no plan", "has no function plan"},
      {"no run", "has no function run"},
      {"no release", "has no function release"},
      {"contract", "has the unknown contract 7"},
      {"flags", "has unknown flags"},
      {"pruned blind", "has no function visible"},
      {"pruned uncounted", "has no function visible_pairs"},
      {"params nowhere", "parameters in no list"},
      {"many params", "33 parameters, more than 32"},
      {"same params", "needs a name of its own"},
      {"bad default", "nearest valid value is 9"},
      {"bad bounds", "nearest valid value is 20"},
      {"no param name", "needs a name of its own"},
  };
  for (const auto& [fault, says] : faults) check_refused(ATTNSCALE_FAKE_HOSTILE, says, with_variable("HOSTILE", fault));
}

TEST_CASE("every fault of a method is its own row, and the others are measured") {
  const Rows rows = run_methods(ATTNSCALE_FAKE_HOSTILE, "all");
  CHECK(rows.code == 4);
  check_row(rows, "exact.streaming", "ok");
  check_row(rows, "window", "ok");
  check_row(rows, "h.right", "ok");
  check_row(rows, "h.bare", "ok", "no log-sum-exp");
  CHECK_FALSE(rows.by_name.at("h.bare").lse_error);
  check_row(rows, "h.window", "ok");
  CHECK(rows.by_name.at("h.window").bound_held == true);
  check_row(rows, "h.rounding", "ok");
  check_row(rows, "h.eager", "ok");

  check_row(rows, "h.error", "failed", "the kernel says no");
  check_row(rows, "h.silent", "failed", "without saying why");
  check_row(rows, "h.garbage", "failed", "a,\"b\" ? ");
  check_row(rows, "h.huge", "failed", std::string(300, 'x') + "...");
  check_row(rows, "h.later", "failed", "the third call fails");
  check_row(rows, "h.no-plan", "failed", "no plan for this");
  check_row(rows, "h.silent-plan", "failed", "without saying why");
  check_row(rows, "h.negative", "failed", "-1 bytes of workspace");
  check_row(rows, "h.endless", "failed", "bytes of workspace");
  check_row(rows, "h.pairs", "failed", "visible pairs");
  check_row(rows, "h.scored", "failed", "scored pairs");
  check_row(rows, "h.refuses", "unsupported", "no such problem here");

  check_row(rows, "h.idle", "incorrect", "not finite");
  check_row(rows, "h.nan", "incorrect", "not finite");
  check_row(rows, "h.wrong", "incorrect", "fp32 tolerance");
  check_row(rows, "h.wrong-lse", "incorrect", "fp32 tolerance");
  check_row(rows, "h.changing", "incorrect", "differs from the verified output");
  check_row(rows, "h.one-pair", "incorrect", "visible pairs");
  check_row(rows, "h.other-window", "incorrect", "fp32 tolerance");
}

TEST_CASE("keys that the mask hides count for nothing, whatever a plugin says") {
  const Rows rows = run_methods(ATTNSCALE_FAKE_HOSTILE, "h.eager", {"--causal"});
  check_row(rows, "h.eager", "ok");
  CHECK(rows.by_name.at("h.eager").mass_recall_mean == 1);
}

TEST_CASE("the parameters of a plugin are typed, ranged and refused like ours") {
  const Rows rows = run_methods(ATTNSCALE_FAKE_HOSTILE, "h.window:w=0/5", {"--heads", "2"});
  CHECK(rows.code == 0);
  check_row(rows, "h.window", "ok");
  CHECK(rows.by_name.at("h.window").method == "h.window:w=5");
  CHECK(rows.by_name.at("h.window").visible_pairs == 2 * (20 * 6 - 15));
  const Workplace here;
  const Result result =
      here.run({"run", "--plugin", ATTNSCALE_FAKE_HOSTILE, "--methods", "h.window:w=1001", "--n", "8"});
  CHECK(result.code == 2);
  CHECK(result.err.find("nearest valid value is 1000") != std::string::npos);
}

TEST_CASE("what a plugin throws is caught, and its text cut") {
  const Rows rows = run_methods(ATTNSCALE_FAKE_THROWER, "t.plan t.run t.release t.asked window");
  CHECK(rows.code == 3);
  check_row(rows, "t.plan", "failed", "it threw an exception: in plan x");
  check_row(rows, "t.run", "failed", "an exception of unknown type");
  check_row(rows, "t.release", "failed", "no");
  check_row(rows, "t.asked", "failed", "when asked");
  check_row(rows, "window", "ok");
}

TEST_CASE("2 GB of text in the name of a library are cut") {
  const Workplace here;
  const Result result =
      here.run({"list", "methods", "--plugin", ATTNSCALE_FAKE_HOSTILE}, with_variable("HOSTILE", "huge library"));
  CHECK(result.code == 0);
  CHECK(result.out.find("h.right") != std::string::npos);
}

}  // namespace attnscale::test
