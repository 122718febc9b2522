// Verification of one output that was spoilt on purpose, at a length at which only some rows are checked.
#include "study/verify/evaluate.hpp"

#include <limits>
#include <set>

#include "inputs/inputs.hpp"
#include "study/budget.hpp"
#include "study/cell_run.hpp"
#include "support.hpp"

namespace attnscale::test {
namespace {

constexpr std::int64_t kLength = 2100;

// A cell that was verified, with all that its verification needs.
struct Verified {
  explicit Verified(const char* spec) {
    group = groups_of({{"methods", {spec}}, {"n", {std::to_string(kLength)}}, {"dim", {"8"}}})[0];
    inputs = make_inputs(group.problem);
    oracle.emplace(group.problem, inputs.view(), executor);
    cell.spec = group.methods.back();
    TimeModel model(1);
    prepare(cell, group, model);
    verify(cell, group, *oracle, executor, model);
  }
  std::optional<std::string> again() {
    Record record;
    return evaluate({cell.spec, cell.output(), {}, cell.report.work, cell.plan->cost}, *oracle, record);
  }
  [[nodiscard]] std::set<std::int64_t> checked() const {
    std::set<std::int64_t> queries;
    for (const SampledRow& row : sample_rows(group.problem, cell.spec)) queries.insert(row.ref.query);
    return queries;
  }
  float& out(std::int64_t query) { return cell.out.view().matrix(BatchIndex{0}, HeadIndex{0}).row(query)[3]; }

  Group group;
  Inputs inputs;
  Executor executor{1};
  std::optional<Oracle> oracle;
  CellRun cell;
};

bool refused(const std::optional<std::string>& reason, const char* says) {
  return reason && holds(*reason, says);
}

}  // namespace

TEST_CASE("a right output is accepted, and a wrong component of a checked row is not") {
  Verified verified("window:w=20");
  REQUIRE(verified.cell.ok());
  CHECK_FALSE(verified.again());
  verified.out(kLength - 1) += 1e-3F;  // the last row is always checked
  CHECK(refused(verified.again(), "fp32 tolerance"));
}

TEST_CASE("a value that is no number is found in rows that the oracle does not check") {
  Verified verified("window:w=20");
  std::int64_t query = 0;
  while (verified.checked().contains(query)) ++query;
  verified.out(query) = std::numeric_limits<float>::infinity();
  CHECK(refused(verified.again(), "not finite"));
}

TEST_CASE("pairs that differ from the closed form are found") {
  Verified verified("window:w=20");
  ++verified.cell.report.work.visible_pairs;
  CHECK(refused(verified.again(), "visible pairs"));
}

TEST_CASE("a choice that is not right is found") {
  Verified verified("topk:k=4");
  REQUIRE(verified.cell.ok());
  CHECK(verified.cell.record.choice_ok == true);
  std::vector<std::int32_t> choices(static_cast<std::size_t>(verified.cell.plan->choices), -1);
  Record record;
  const auto reason = evaluate(
      {verified.cell.spec, verified.cell.output(), choices, verified.cell.report.work, verified.cell.plan->cost},
      *verified.oracle, record);
  CHECK(reason);
  CHECK(record.choice_ok == false);
}

TEST_CASE("an output that changes after its verification is incorrect") {
  Verified verified("window:w=20");
  check_unchanged(verified.cell);
  CHECK(verified.cell.ok());
  verified.out(1000) = -verified.out(1000);
  check_unchanged(verified.cell);
  CHECK(verified.cell.outcome == Outcome::incorrect);
}

TEST_CASE("cells that do not fit into memory together: the largest stay out, whatever the order") {
  std::vector<CellRun> cells(4);
  const std::int64_t needs[] = {60, 10, 25, 30};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].spec = parse_method("exact.streaming").front();
    cells[i].needed_bytes = needs[i];
  }
  admit(cells, 70);
  CHECK(cells[0].outcome == Outcome::over_budget);
  CHECK(holds(cells[0].record.reason, "60 B"));
  CHECK(cells[1].ok());
  CHECK(cells[2].ok());
  CHECK(cells[3].ok());
}

}  // namespace attnscale::test
