#include "doctor/findings.hpp"

#include <algorithm>

#include "support/catch.hpp"

using namespace attnscale;

namespace {

std::vector<std::string> kinds(const Conditions& conditions) {
  std::vector<std::string> names;
  for (const Finding& finding : findings_of(conditions)) {
    CHECK_FALSE(finding.what.empty());
    CHECK_FALSE(finding.advice.empty());
    names.push_back(finding.kind);
  }
  return names;
}

}  // namespace

TEST_CASE("a quiet machine has no findings, and neither has one that says nothing") {
  CHECK(kinds({}).empty());
  Conditions quiet;
  quiet.cores = 8;
  quiet.governor = "performance";
  quiet.load = 0.1;
  quiet.steal_share = 0.001;
  quiet.noise_spread = 0.004;
  CHECK(kinds(quiet).empty());
}

TEST_CASE("each disturbance is found by itself") {
  using Names = std::vector<std::string>;
  Conditions c;
  c.governor = "powersave";
  CHECK(kinds(c) == Names{"governor"});
  c = {};
  c.load = 1.2;
  CHECK(kinds(c) == Names{"load"});
  c = {};
  c.steal_share = 0.03;
  CHECK(kinds(c) == Names{"steal"});
  CHECK(findings_of(c).at(0).what.find("3.0 %") != std::string::npos);
  c = {};
  c.noise_spread = 0.05;
  CHECK(kinds(c) == Names{"noise"});
  c = {};
  c.counters_missing = "No such file or directory";
  CHECK(kinds(c) == Names{"counters"});
  c = {};
  c.cores = 8;
  c.threads_per_core = 2;
  CHECK(kinds(c) == Names{"smt"});
  CHECK(findings_of(c).at(0).advice.find("at most 4 threads") != std::string::npos);
}
