// NaN and overflow. What a row does not see cannot touch it; what it sees makes it NaN, so that nobody averages over
// it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "cases.hpp"
#include "harness.hpp"
#include "kernels/strip.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

// In these any key that the mask allows takes part in the choice, so it counts as visible.
bool sees_all_allowed(const MethodSpec& spec) {
  return spec.method->name == "topk" || spec.method->name == "hierarchical.select";
}

bool is_nan_row(const Outcome& outcome, RowRef row, std::int64_t width) {
  const float* out = outcome.row(row);
  return std::isnan(outcome.lse_of(row)) && std::all_of(out, out + width, [](float x) { return std::isnan(x); });
}

// A row that sees no key has LSE -inf and is finite all the same.
bool is_clean_row(const Outcome& outcome, RowRef row, std::int64_t width) {
  const float* out = outcome.row(row);
  const float lse = outcome.lse_of(row);
  return (std::isfinite(lse) || lse == -kInfinity) &&
         std::all_of(out, out + width, [](float x) { return std::isfinite(x); });
}

template <class Check>
void for_each_method(Check&& check) {
  for (const MethodSpec& spec : few_specs()) {
    for (const Problem& problem : {square(65), square(100, Mask::causal, 33)}) {
      INFO(describe(spec, problem));
      check(spec, problem);
    }
  }
}

// Does the row see key j, directly or through a summary?
bool sees(const MethodSpec& spec, const Problem& problem, const Outcome& outcome, RowRef row, std::int64_t j) {
  if (sees_all_allowed(spec)) return j < problem.allowed(row.query);
  return groups_of(spec, problem, outcome, row)[static_cast<std::size_t>(j)] >= 0;
}

bool is_empty(const MethodSpec& spec, const Problem& problem, const Outcome& outcome, RowRef row) {
  const std::vector<std::int32_t> groups = groups_of(spec, problem, outcome, row);
  return std::all_of(groups.begin(), groups.end(), [](std::int32_t g) { return g < 0; });
}

}  // namespace

TEST_CASE("NaN in a key makes the rows that see it NaN, and no other") {
  for_each_method([](const MethodSpec& spec, const Problem& problem) {
    if (spec.shares_qk()) return;  // no keys to spoil; see the next test
    for (const std::int64_t j : {std::int64_t{0}, std::int64_t{17}, problem.shape.keys - 1}) {
      TestInputs in = gaussian(problem);
      in.k.view().matrix(BatchIndex{0}, KvHeadIndex{0}).row(j)[problem.shape.dim / 2] = kNaN;
      const Outcome outcome = run(spec, problem, in.view());
      for (const RowRef row : rows_of(problem)) {
        INFO("key " << j << ", query " << row.query);
        if (sees(spec, problem, outcome, row, j)) {
          REQUIRE(is_nan_row(outcome, row, problem.shape.value_dim));
        } else {
          REQUIRE(is_clean_row(outcome, row, problem.shape.value_dim));
        }
      }
    }
  });
}

TEST_CASE("NaN in a query makes its own row NaN, and with shared keys every row that sees it") {
  for_each_method([](const MethodSpec& spec, const Problem& problem) {
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{40}, problem.shape.queries - 1}) {
      TestInputs in = gaussian(problem);
      in.q.view().matrix(BatchIndex{0}, HeadIndex{0}).row(i)[0] = kNaN;
      const Outcome outcome = run(spec, problem, in.view());
      for (const RowRef row : rows_of(problem)) {
        INFO("NaN query " << i << ", query " << row.query);
        const bool touched = (row.query == i && !is_empty(spec, problem, outcome, row)) ||
                             (spec.shares_qk() && sees(spec, problem, outcome, row, i));
        if (touched) {
          REQUIRE(is_nan_row(outcome, row, problem.shape.value_dim));
        } else {
          REQUIRE(is_clean_row(outcome, row, problem.shape.value_dim));
        }
      }
    }
  });
}

TEST_CASE("NaN in a value makes at least that component NaN in the rows that see it, and touches no other row") {
  for_each_method([](const MethodSpec& spec, const Problem& problem) {
    for (const std::int64_t j : {std::int64_t{0}, std::int64_t{33}, problem.shape.keys - 1}) {
      TestInputs in = gaussian(problem);
      in.v.view().matrix(BatchIndex{0}, KvHeadIndex{0}).row(j)[1] = kNaN;
      const Outcome outcome = run(spec, problem, in.view());
      for (const RowRef row : rows_of(problem)) {
        INFO("value " << j << ", query " << row.query);
        if (groups_of(spec, problem, outcome, row)[static_cast<std::size_t>(j)] >= 0) {
          REQUIRE(std::isnan(outcome.row(row)[1]));
        } else if (!sees(spec, problem, outcome, row, j)) {
          REQUIRE(is_clean_row(outcome, row, problem.shape.value_dim));
        }
      }
    }
  });
}

TEST_CASE("NaN everywhere makes every row NaN that sees any key") {
  for_each_method([](const MethodSpec& spec, const Problem& problem) {
    TestInputs in = gaussian(problem);
    const Fill nan = [](auto...) { return kNaN; };
    fill(in.q, nan);
    fill(in.k, nan);
    fill(in.v, nan);
    const Outcome outcome = run(spec, problem, in.view());
    for (const RowRef row : rows_of(problem)) {
      REQUIRE((is_empty(spec, problem, outcome, row) || is_nan_row(outcome, row, problem.shape.value_dim)));
    }
  });
}

TEST_CASE("finite inputs whose scores overflow fp32 are never taken for right") {
  for (const std::string& target : kernels::available_targets()) {
    const std::string before = kernels::current_target();
    kernels::use_target(target);
    for_each_method([&](const MethodSpec& spec, const Problem& problem) {
      INFO(target);
      TestInputs in = gaussian(problem);
      const Change enlarge = [](float old, auto...) { return old * 1e20f; };
      change(in.q, enlarge);
      change(in.k, enlarge);
      const Outcome outcome = run(spec, problem, in.view());
      // A row whose scores all lie below -1e38 may underflow to anything; one bad row is enough for the verdict.
      const Comparison comparison = compare(spec, problem, in.view(), outcome);
      // Shared keys have norm 1, so their scores do not overflow and must be right.
      CHECK((comparison.worst > 1) == !spec.shares_qk());
    });
    kernels::use_target(before);
  }
}

TEST_CASE("shared keys: a zero query stays a zero key, tiny and huge queries are normalised like any other") {
  for (const char* text : {"exact.shared", "lsh:rounds=2,bucket=8,qk=shared"}) {
    for (const float scale : {1e-30f, 1e-12f, 1.0f, 1e12f, 1e30f}) {
      const MethodSpec spec = spec_of(text);
      const Problem problem = square(65);
      INFO(describe(spec, problem) << ", scale " << scale);
      TestInputs in = gaussian(problem);
      change(in.q, [&](float old, auto, auto, std::int64_t i, auto) { return i % 7 == 3 ? 0.0f : old * scale; });
      const Outcome outcome = run(spec, problem, in.view());
      CHECK(compare(spec, problem, in.view(), outcome).worst <= 1);
      CHECK(std::isfinite(outcome.lse_of({BatchIndex{0}, HeadIndex{0}, 3})));
    }
  }
}
