// list, fit, plot and --version of the built program.
#include <cstdlib>

#include <unistd.h>

#include "cli/program.hpp"
#include "record/csv.hpp"
#include "record/run_info.hpp"
#include "support/catch.hpp"

namespace attnscale::test {
namespace {

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void into_source() {
  (void)!chdir(ATTNSCALE_SOURCE_DIR);
}

}  // namespace

TEST_CASE("list shows what there is") {
  const Workplace here;
  const std::string methods = here.run({"list"}).out;
  for (const char* name : {"exact.materialized", "exact.streaming", "exact.shared", "window", "window2d", "longformer",
                           "bigbird", "hierarchical", "hierarchical.select", "topk", "lsh", "strided"}) {
    INFO(name);
    CHECK((methods.starts_with(std::string(name) + '\n') || says(methods, '\n' + std::string(name) + '\n')));
  }
  CHECK(says(methods, "contract pruned"));
  CHECK(says(methods, "w=256"));
  CHECK(says(here.run({"list", "inputs"}).out, "gaussian"));
  CHECK(says(here.run({"list", "fields"}).out, "time_ns_median"));
  CHECK(says(here.run({"list", "fields", "--markdown"}).out, "time_ns_median"));
  const std::string studies = here.run({"list", "studies"}, into_source).out;
  for (const char* name : {"quick", "scaling", "long", "real", "window"}) CHECK(says(studies, name));
}

TEST_CASE("version names commit, compiler and SIMD targets") {
  const Workplace here;
  const Result result = here.run({"--version"});
  CHECK(result.code == 0);
  CHECK(says(result.out, "attnscale 0."));
  CHECK(says(result.out, "SIMD targets"));
  CHECK(here.run({"--help"}).code == 0);
  CHECK(says(here.run({"run", "--help"}).out, "--cell-budget"));
}

TEST_CASE("doctor measures the machine") {
  const Workplace here;
  const Result json = here.run({"doctor", "--json"});
  CHECK(json.code == 0);
  const RunInfo info = parse_run_json(json.out, "doctor");
  CHECK(info.find("limits", "peak_gflops_one") != nullptr);
  CHECK(info.find("memory", "triad_gbs_all") != nullptr);
  CHECK(here.contents().empty());
}

TEST_CASE("fit reads a run, writes fits.csv and says the growth of counted pairs") {
  const Workplace here;
  REQUIRE(
      here.run({"run", "--methods", "window:w=4", "--n", "64..1024x2", "--rounds", "2", "--dim", "16", "--out", "here"})
          .code == 0);
  std::filesystem::remove(here / "here/fits.csv");
  const Result result = here.run({"fit", "here"});
  CHECK(result.code == 0);
  CHECK(says(result.out, "n^2.00"));
  CHECK(says(result.out, "n^1.00"));
  const std::vector<FitRow> fits = read_csv<FitRow>(here / "here/fits.csv");
  REQUIRE(fits.size() == 8);
  CHECK(fits[1].quantity == "visible_pairs");
  CHECK(*fits[1].exponent == Approx(2).margin(0.05));
}

TEST_CASE("a run of one size cannot be fitted, and says why") {
  const Workplace here;
  REQUIRE(here.run({"run", "--n", "16", "--rounds", "1", "--out", "here"}).code == 0);
  const Result result = here.run({"fit", "here"});
  CHECK(result.code == 3);
  CHECK(says(result.out, "refused"));
}

TEST_CASE("plot works without gnuplot: scripts, data, and how to get it") {
  const Workplace here;
  REQUIRE(here.run({"run", "--methods", "window:w=4", "--n", "16,32", "--rounds", "1", "--out", "here"}).code == 0);
  const Result result = here.run({"plot", (here / "here").string()}, [] {
    into_source();
    setenv("PATH", "/nonexistent", 1);
  });
  CHECK(result.code == 0);
  CHECK(says(result.out, "gnuplot-nox"));
  CHECK(std::filesystem::exists(here / "here/plots/time.gp"));
  CHECK(says(text_of(here / "here/plots/stage_shares.csv"), "window:w=4,gaussian,32,attend,0,1"));
}

}  // namespace attnscale::test
