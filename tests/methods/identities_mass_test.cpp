// What pruning does to the softmax: the certified bound and the identities behind it, row by row in fp64.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cases.hpp"
#include "harness.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

struct Row {
  RowRef ref;
  ReferenceRow exact;
  ReferenceRow kept;                  // over A(i)
  std::vector<std::int32_t> visible;  // A(i) as groups
  double mass = 0;
};

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double square = 0;
  for (std::size_t c = 0; c < a.size(); ++c) square += std::pow(a[c] - b[c], 2);
  return std::sqrt(square);
}

std::vector<MethodSpec> pruned_specs() {
  std::vector<MethodSpec> specs;
  for (const MethodSpec& spec : few_specs()) {
    if (spec.method->contract == Contract::pruned) specs.push_back(spec);
  }
  return specs;
}

// Calls `check(oracle, outcome, row)` for the non-empty rows of pruned methods.
template <class Check>
void for_each_pruned_row(Check&& check) {
  for (const MethodSpec& spec : pruned_specs()) {
    for (const Problem& problem : {square(65), square(100, Mask::causal, 16)}) {
      INFO(describe(spec, problem));
      const TestInputs in = gaussian(problem);
      const Outcome outcome = run(spec, problem, in.view());
      const Reference oracle(problem, in.view(), spec.shares_qk());
      for (const RowRef ref : rows_of(problem)) {
        Row row{ref, oracle.exact_row(ref), {}, groups_of(spec, problem, outcome, ref), 0};
        row.kept = oracle.row(ref, row.visible);
        if (row.kept.pseudo_keys == 0) continue;
        row.mass = std::exp(row.kept.lse - row.exact.lse);
        check(oracle, outcome, row, problem);
      }
    }
  }
}

// Groups of the allowed keys that `row` leaves out.
std::vector<std::int32_t> complement(const Row& row, const Problem& problem) {
  std::vector<std::int32_t> rest(row.visible.size(), -1);
  for (std::int64_t j = 0; j < problem.allowed(row.ref.query); ++j) {
    if (row.visible[static_cast<std::size_t>(j)] < 0) rest[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(j);
  }
  return rest;
}

}  // namespace

TEST_CASE("the certified bound holds in every row: error <= 2 (1 - mass) max norm(v) + tolerance") {
  for_each_pruned_row([](const Reference&, const Outcome& outcome, const Row& row, const Problem& problem) {
    const float* out = outcome.row(row.ref);
    const double error = distance({out, out + problem.shape.value_dim}, row.exact.out);
    REQUIRE(row.mass <= 1 + 1e-12);
    REQUIRE(error <= 2 * (1 - row.mass) * row.exact.largest_value + row.kept.out_tolerance + 1e-12);
  });
}

TEST_CASE("O - O_A = (1 - m)(O_rest - O_A)") {
  for_each_pruned_row([](const Reference& oracle, const Outcome&, const Row& row, const Problem& problem) {
    const ReferenceRow rest = oracle.row(row.ref, complement(row, problem));
    std::vector<double> left = row.exact.out;
    std::vector<double> right = rest.out;
    for (std::size_t c = 0; c < left.size(); ++c) {
      left[c] -= row.kept.out[c];
      right[c] = (1 - row.mass) * (right[c] - row.kept.out[c]);
    }
    REQUIRE(distance(left, right) < 1e-12);
    // The two masses are all there is: sets merge by log-sum-exp.
    REQUIRE(row.mass + (rest.pseudo_keys > 0 ? std::exp(rest.lse - row.exact.lse) : 0) == Approx(1).epsilon(1e-12));
  });
}

TEST_CASE("TV(p, p_A) = 1 - m and KL(p_A || p) = -ln m") {
  for_each_pruned_row([](const Reference& oracle, const Outcome&, const Row& row, const Problem& problem) {
    double variation = 0;
    double divergence = 0;
    for (std::int64_t j = 0; j < problem.allowed(row.ref.query); ++j) {
      const double score = oracle.score(row.ref, j);
      const double p = std::exp(score - row.exact.lse);
      const double kept = row.visible[static_cast<std::size_t>(j)] < 0 ? 0 : std::exp(score - row.kept.lse);
      variation += std::abs(p - kept) / 2;
      if (kept > 0) divergence += kept * std::log(kept / p);
    }
    REQUIRE(variation == Approx(1 - row.mass).margin(1e-12));
    REQUIRE(divergence == Approx(-std::log(row.mass)).margin(1e-12));
  });
}

TEST_CASE("the method's own LSE gives its mass recall") {
  for_each_pruned_row([](const Reference&, const Outcome& outcome, const Row& row, const Problem&) {
    const double measured = std::exp(static_cast<double>(outcome.lse_of(row.ref)) - row.exact.lse);
    REQUIRE(std::abs(std::log(measured / row.mass)) <= row.kept.lse_tolerance + 1e-12);
  });
}

TEST_CASE("topk has the largest mass of all sets of k keys") {
  for (const std::int64_t k : {1, 5, 16, 64}) {
    for (const Problem& problem : {square(100), square(65, Mask::causal, 16)}) {
      const MethodSpec spec = spec_of("topk:k=" + std::to_string(k));
      const TestInputs in = gaussian(problem);
      const Outcome outcome = run(spec, problem, in.view());
      const Reference oracle(problem, in.view(), false);
      for (const RowRef row : rows_of(problem)) {
        std::vector<std::int32_t> best(static_cast<std::size_t>(problem.shape.keys), -1);
        for (const std::int32_t j : oracle.best_keys(row, k)) best[static_cast<std::size_t>(j)] = j;
        const ReferenceRow chosen = oracle.row(row, groups_of(spec, problem, outcome, row));
        const ReferenceRow ideal = oracle.row(row, best);
        REQUIRE(chosen.pseudo_keys == ideal.pseudo_keys);
        REQUIRE(chosen.lse <= ideal.lse + 1e-12);
        REQUIRE(chosen.lse >=
                ideal.lse - 2 * ideal.lse_tolerance);  // near ties: a score 2 delta lower for each key at most
      }
    }
  }
}

TEST_CASE("mass never falls when the set grows") {
  const std::vector<std::vector<std::string>> families = {
      {"window:w=0", "window:w=1", "window:w=4", "window:w=30", "window:w=100"},
      {"longformer:w=2,globals=first:0", "longformer:w=2,globals=first:1", "longformer:w=2,globals=first:9",
       "longformer:w=20,globals=first:9"},
      {"topk:k=1", "topk:k=2", "topk:k=16", "topk:k=100"},
      {"bigbird:block=8,random=0", "bigbird:block=8,random=1", "bigbird:block=8,random=3", "bigbird:block=8,random=50"},
      {"window2d:r=0", "window2d:r=1", "window2d:r=3", "window2d:r=50"},
      {"lsh:bucket=8,rounds=1", "lsh:bucket=8,rounds=2", "lsh:bucket=8,rounds=5"},
      {"hierarchical.select:block=8,blocks=1", "hierarchical.select:block=8,blocks=2",
       "hierarchical.select:block=8,blocks=13"}};
  for (const auto& family : families) {
    for (const Problem& problem : {square(100), square(100, Mask::causal)}) {
      const TestInputs in = gaussian(problem);
      std::vector<Outcome> grown;
      for (const std::string& text : family) grown.push_back(run(spec_of(text), problem, in.view()));
      for (std::size_t step = 1; step < family.size(); ++step) {
        const MethodSpec spec = spec_of(family[step]);
        INFO(family[step - 1] << " -> " << describe(spec, problem));
        const Reference oracle(problem, in.view(), false);
        for (const RowRef row : rows_of(problem)) {
          const double tolerance = oracle.row(row, groups_of(spec, problem, grown[step], row)).lse_tolerance;
          REQUIRE(grown[step].lse_of(row) >= grown[step - 1].lse_of(row) - 2 * tolerance);
        }
      }
    }
  }
}
