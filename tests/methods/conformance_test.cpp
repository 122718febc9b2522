// Every method of the catalogue against the oracle and against itself: right within the derived tolerance, pairs
// counted as the closed form says, and the same bits whatever the threads, the earlier calls and the memory around the
// rows.
#include "cases.hpp"
#include "core/error.hpp"
#include "harness.hpp"
#include "kernels/strip.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

// Switches the kernels to a target for one scope.
class TargetScope {
 public:
  explicit TargetScope(const std::string& name) : before_(kernels::current_target()) { kernels::use_target(name); }
  ~TargetScope() { kernels::use_target(before_); }
  TargetScope(const TargetScope&) = delete;
  TargetScope& operator=(const TargetScope&) = delete;

 private:
  std::string before_;
};

void check_conformance(const MethodSpec& spec, const Problem& problem) {
  INFO(describe(spec, problem));
  if (const auto reason = spec.unsupported(problem)) {
    CHECK(reason->size() > 10);
    return;
  }
  const TestInputs in = gaussian(problem, kHostile);
  const Outcome outcome = run(spec, problem, in.view(), 1, kHostile);
  const Comparison comparison = compare(spec, problem, in.view(), outcome);
  INFO("worst row: batch " << comparison.where.batch.value << ", head " << comparison.where.head.value << ", query "
                           << comparison.where.query);
  CHECK(comparison.worst <= 1.0);
  CHECK(outcome.work.visible_pairs == comparison.visible_pairs);
  if (outcome.cost.visible_pairs) CHECK(*outcome.cost.visible_pairs == comparison.visible_pairs);
  if (outcome.cost.scored_pairs) CHECK(outcome.work.scored_pairs == *outcome.cost.scored_pairs);
  CHECK(outcome.work.scored_pairs >= outcome.work.visible_pairs);
  if (spec.method->judge != nullptr) {
    const std::vector<RowRef> rows = rows_of(problem);
    const auto verdict = spec.method->judge(problem, spec.params, in.view(), outcome.choices, rows);
    CHECK(verdict.value_or("accepted") == "accepted");
  }
}

}  // namespace

TEST_CASE("every method meets its own definition on odd shapes") {
  for (const MethodSpec& spec : all_specs()) {
    for (const Problem& problem : odd_problems()) check_conformance(spec, problem);
  }
}

TEST_CASE("every method meets its own definition on every SIMD target") {
  for (const std::string& target : kernels::available_targets()) {
    const TargetScope scope(target);
    INFO(target);
    REQUIRE(kernels::current_target() == target);
    for (const MethodSpec& spec : few_specs()) {
      for (const Problem& problem : few_problems()) check_conformance(spec, problem);
    }
  }
}

TEST_CASE("parameters at their bounds neither overflow nor fail") {
  for (const Method* method : catalog()) {
    for (const ParamSpec& param : method->params) {
      if (param.kind == ParamKind::choice) continue;
      for (const std::int64_t value : {param.lowest, param.highest}) {
        const std::string first = param.kind == ParamKind::first ? "first:" : "";
        const std::string text =
            std::string(method->name) + ":" + std::string(param.name) + "=" + first + std::to_string(value);
        INFO(text);
        std::vector<MethodSpec> specs;
        try {
          specs = parse_method(text);
        } catch (const InputError&) {
          continue;  // an even window, for example
        }
        check_conformance(specs.at(0), square(17));
        check_conformance(specs.at(0), square(17, Mask::causal));
      }
    }
  }
}

TEST_CASE("judges refuse a choice that is not the method's") {
  for (const MethodSpec& spec : few_specs()) {
    if (spec.method->judge == nullptr) continue;
    const Problem problem = square(129, Mask::none, 16);
    INFO(describe(spec, problem));
    const TestInputs in = gaussian(problem);
    const std::vector<RowRef> rows = rows_of(problem);
    const auto refused = [&](const std::vector<std::int32_t>& choices) {
      return spec.method->judge(problem, spec.params, in.view(), choices, rows).has_value();
    };
    std::vector<std::int32_t> choices = run(spec, problem, in.view()).choices;
    REQUIRE_FALSE(choices.empty());
    CHECK_FALSE(refused(choices));
    // Somewhere in the middle: another number than the method's, a number that does not exist, nothing at all.
    std::int32_t& victim = choices[choices.size() / 3];
    const std::int32_t right = victim;
    for (const std::int32_t wrong : {right + 1, right == 0 ? 1 : 0, 1 << 20, -5}) {
      victim = wrong;
      INFO("choice " << right << " replaced by " << wrong);
      CHECK(refused(choices));
    }
  }
}

TEST_CASE("every method is supported by a plain problem and by a causal one") {
  for (const MethodSpec& spec : few_specs()) {
    INFO(spec.str());
    CHECK_FALSE(spec.unsupported(square(64)).has_value());
    CHECK_FALSE(spec.unsupported(square(64, Mask::causal)).has_value());
  }
}

TEST_CASE("results are the same bits at 1, 2 and 4 threads") {
  for (const MethodSpec& spec : few_specs()) {
    for (const Problem& problem : few_problems()) {
      if (spec.unsupported(problem)) continue;
      INFO(describe(spec, problem));
      const TestInputs in = gaussian(problem);
      const Outcome one = run(spec, problem, in.view(), 1);
      for (const int threads : {2, 4}) {
        INFO(threads << " threads");
        const Outcome several = run(spec, problem, in.view(), threads);
        CHECK(same_bits(one, several));
        CHECK(one.choices == several.choices);
        CHECK(one.work.visible_pairs == several.work.visible_pairs);
        CHECK(one.work.scored_pairs == several.work.scored_pairs);
      }
    }
  }
}

TEST_CASE("few queries against many keys are split over the keys: right, and the same bits for any threads and heads") {
  const MethodSpec spec = parse_method("exact.streaming").front();
  for (const std::string text : {"queries=1,keys=5000,dim=16,value_dim=16", "queries=3,keys=8200,dim=9,value_dim=5",
                                 "queries=600,keys=4100,dim=4,value_dim=3,mask=causal"}) {
    const Problem two = problem_of(text + ",heads=2"), one = problem_of(text);
    INFO(describe(spec, two));
    check_conformance(spec, two);
    CHECK(spec.method->plan(two, spec.params).stages.back().name == "merge");
    const TestInputs in = gaussian(two);
    TestInputs alone = zeros(one);
    fill(alone.q, [&](auto, auto, std::int64_t i, std::int64_t c) {
      return in.q.view().matrix(BatchIndex{0}, HeadIndex{1}).row(i)[c];
    });
    fill(alone.k, [&](auto, auto, std::int64_t i, std::int64_t c) {
      return in.k.view().matrix(BatchIndex{0}, KvHeadIndex{0}).row(i)[c];
    });
    fill(alone.v, [&](auto, auto, std::int64_t i, std::int64_t c) {
      return in.v.view().matrix(BatchIndex{0}, KvHeadIndex{0}).row(i)[c];
    });
    const Outcome all = run(spec, two, in.view(), 1);
    CHECK(same_bits(all, run(spec, two, in.view(), 2)));
    CHECK(same_bits(all, run(spec, two, in.view(), 4)));
    const Outcome head = run(spec, one, alone.view());
    for (const RowRef row : rows_of(one)) CHECK(same_bits(head, row, all, {BatchIndex{0}, HeadIndex{1}, row.query}));
  }
  CHECK(spec.method->plan(square(1024), spec.params).stages.size() == 1);
}

TEST_CASE("results do not depend on earlier calls, nor on whether choices are reported, nor on the rows' addresses") {
  for (const MethodSpec& spec : few_specs()) {
    for (Problem problem : few_problems()) {
      if (spec.unsupported(problem)) continue;
      INFO(describe(spec, problem));
      const TestInputs in = gaussian(problem);
      const Outcome fresh = run(spec, problem, in.view());
      problem.seed += 1000;
      const TestInputs other = gaussian(problem);
      problem.seed -= 1000;

      const Plan plan = spec.method->plan(problem, spec.params);
      Workspace workspace(plan, 1);
      Executor executor(1);
      Outcome again{
          QueryTensor(problem.shape.output_extents()), QueryTensor(problem.shape.lse_extents()), {}, plan.cost, {}};
      const AttentionOutput out{again.out.view(), again.lse.view()};
      executor.run(plan, other.view(), out, workspace);
      again.work = executor.run(plan, in.view(), out, workspace).work;
      CHECK(same_bits(fresh, again));
      CHECK(fresh.work.visible_pairs == again.work.visible_pairs);

      const TestInputs misaligned = gaussian(problem, kHostile);
      CHECK(same_bits(fresh, run(spec, problem, misaligned.view(), 1, kHostile)));
    }
  }
}

TEST_CASE("plans are the same each time, and their memory grows with the threads by the workers' part alone") {
  for (const MethodSpec& spec : few_specs()) {
    const Problem problem = square(100);
    if (spec.unsupported(problem)) continue;
    INFO(spec.str());
    const Plan a = spec.method->plan(problem, spec.params);
    const Plan b = spec.method->plan(problem, spec.params);
    CHECK(a.cost.visible_pairs == b.cost.visible_pairs);
    CHECK(a.stages.size() == b.stages.size());
    CHECK(a.workspace_bytes(1) == b.workspace_bytes(1));
    CHECK(a.workspace_bytes(3) - a.workspace_bytes(2) == a.scratch.worker_bytes());
    CHECK(a.cost.bytes_moved >= 3 * 100 * 8 * 4);  // Q and V are read and O is written at least
    for (const Stage& stage : a.stages) {
      CHECK(stage.tasks >= 0);
      CHECK_FALSE(stage.name.empty());
    }
  }
}

TEST_CASE("every method says what it is, and its canonical text means itself") {
  REQUIRE(catalog().size() >= 12);
  for (const Method* method : catalog()) {
    INFO(method->name);
    CHECK_FALSE(method->summary.empty());
    CHECK_FALSE(method->paper.empty());
    CHECK(method->complexity.substr(0, 2) == "O(");
    CHECK(method->plan != nullptr);
    CHECK(method->visible != nullptr);
    CHECK(find_method(method->name) == method);
    for (const MethodSpec& spec : specs_of(*method)) CHECK(spec_of(spec.str()).str() == spec.str());
    for (const ParamSpec& param : method->params) CHECK_FALSE(param.doc.empty());
  }
}
