// The example plugin through the built program: listed, verified, measured, recorded, reproduced.
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cli/program.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "study/deterministic.hpp"
#include "support/catch.hpp"

namespace attnscale::test {
namespace {

using Words = std::vector<std::string>;
namespace fs = std::filesystem;

const Words kRun = {"run",      "--plugin", ATTNSCALE_EXAMPLE, "--methods", "naive",  "--n", "48",
                    "--rounds", "2",        "--out",           "here",      "--quiet"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Record last_row(const Workplace& here, const std::string& folder = "here") {
  return read_csv<Record>(here / folder / "summary.csv").back();
}

}  // namespace

TEST_CASE("the example is under 60 lines") {
  const std::string text = read_file(ATTNSCALE_SOURCE_DIR "/peers/example/naive.c");
  CHECK(std::count(text.begin(), text.end(), '\n') < 60);
}

TEST_CASE("the methods of a plugin are listed, with what they say of themselves") {
  const Workplace here;
  const Result result = here.run({"list", "methods", "--plugin", ATTNSCALE_EXAMPLE, "--plugin", ATTNSCALE_EXAMPLE});
  CHECK(result.code == 0);
  CHECK(result.out.find("naive\n  exact attention in plain C and double precision\n  O(n^2), contract exact; --plugin "
                        "libnaive.so\n") != std::string::npos);
  CHECK(here.run({"list", "methods"}).out.find("naive") == std::string::npos);
}

TEST_CASE("the example is verified and measured like our methods") {
  const Workplace here;
  const Words shape = {"--queries", "40", "--keys", "48", "--dim", "5", "--value-dim", "3", "--heads", "4"};
  for (const Words& more : {Words{}, Words{"--causal"}, with(shape, {"--kv-heads", "2", "--batch", "2"}),
                            with(shape, {"--causal", "--temperature", "0.5"}), Words{"--threads", "2"}}) {
    Words words = with(kRun, with(more, {"--force"}));
    if (std::find(more.begin(), more.end(), "--queries") != more.end())
      words.erase(std::find(words.begin(), words.end(), "--n"), std::find(words.begin(), words.end(), "--rounds"));
    const Result result = here.run(words);
    INFO(result.err);
    REQUIRE(result.code == 0);
    const Record row = last_row(here);
    INFO(row.repro);
    CHECK(row.method == "naive");
    CHECK(row.status == "ok");
    CHECK(*row.impl_ratio < 1);
    CHECK(row.lse_error);
    CHECK(row.time_ns_median);
    CHECK(row.ratio_to_exact);
    CHECK(row.contract == "exact");
    CHECK(row.workspace_bytes_predicted == 48 * 8);
#ifndef ATTNSCALE_SANITIZED
    CHECK(*row.workspace_bytes_counted >= 48 * 8);
    CHECK(row.resident_bytes);
#endif
  }
}

TEST_CASE("a query that sees no key is zero with a log-sum-exp of -infinity") {
  const Workplace here;
  const Result result = here.run({"run", "--plugin", ATTNSCALE_EXAMPLE, "--methods", "naive", "--queries", "9",
                                  "--keys", "4", "--causal", "--rounds", "1", "--out", "here"});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(last_row(here).status == "ok");
  CHECK(last_row(here).empty_rows == 5);
}

TEST_CASE("run.json names the plugin, and the repro command makes the row again from the plugin's folder") {
  const Workplace here;
  fs::copy_file(ATTNSCALE_EXAMPLE, here / "libnaive.so");
  Words words = kRun;
  words[2] = (here / "libnaive.so").string();
  REQUIRE(here.run(words).code == 0);
  CHECK(text_of(here / "here/run.json").find("\"libnaive.so\": \"naive example; XXH3 ") != std::string::npos);
  CHECK(text_of(here / "here/run.json").find(here.path().string()) == std::string::npos);
  const Record row = last_row(here);
  CHECK(row.repro.ends_with(" --plugin libnaive.so"));
  Words again;
  std::istringstream text(row.repro);
  for (std::string word; text >> word;) again.push_back(word);
  again.erase(again.begin());
  REQUIRE(here.run(with(again, {"--out", "again"})).code == 0);
  CHECK(deterministic(last_row(here, "again")) == deterministic(row));
  CHECK(read_csv<Record>(here / "here/summary.csv").front().repro.find("--plugin") == std::string::npos);
}

TEST_CASE("a study names plugins from its own folder, and those of flags and environment add up") {
  const Workplace here;
  fs::create_directory(here / "mine");
  fs::copy_file(ATTNSCALE_EXAMPLE, here / "mine/libnaive.so");
  here.write("mine/mine.toml", "[[run]]\nplugin = \"libnaive.so\"\nmethods = \"naive\"\nn = 16\nrounds = 1\n");
  const Result result = here.run({"run", "mine/mine.toml", "--out", "here", "--plugin", ATTNSCALE_FAKE_HOSTILE});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(last_row(here).method == "naive");
  CHECK(here.run({"run", "--methods", "naive", "--n", "16", "--rounds", "1", "--out", "env"},
                 with_variable("ATTNSCALE_PLUGIN", ATTNSCALE_EXAMPLE))
            .code == 0);
}

TEST_CASE("a plugin may stand among the peers") {
  const Workplace here;
  const Result result = here.run(
      {"run", "--peer", ATTNSCALE_EXAMPLE, "--methods", "peers", "--n", "16", "--rounds", "1", "--out", "here"});
  INFO(result.err);
  CHECK(result.code == 0);
  const std::vector<Record> rows = read_csv<Record>(here / "here/summary.csv");
  REQUIRE(rows.size() == 2);  // the baseline comes along
  CHECK(rows[1].name == "naive");
  // The word stands for its methods also where it was loaded before.
  const Result twice = here.run({"run", "--plugin", ATTNSCALE_EXAMPLE, "--peer", ATTNSCALE_EXAMPLE, "--methods",
                                 "peers", "--n", "16", "--rounds", "1", "--out", "twice"});
  CHECK(twice.code == 0);
  CHECK(read_csv<Record>(here / "twice/summary.csv").size() == 2);
}

TEST_CASE("a dry run plans a plugin's cells") {
  const Workplace here;
  const Result result = here.run(with(kRun, {"--dry-run"}));
  CHECK(result.code == 0);
  CHECK(result.out.find("naive") != std::string::npos);
  CHECK(here.contents().empty());
}

}  // namespace attnscale::test
