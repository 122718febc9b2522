// The oracle itself, against values worked out by hand and against sums in extended precision.
#include "methods/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cases.hpp"
#include "harness.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

constexpr RowRef kFirst{BatchIndex{0}, HeadIndex{0}, 0};

// One query against the keys and values given, dim 1, scale 1.
struct Tiny {
  Problem problem;
  TestInputs in;
  Tiny(float q, const std::vector<float>& k, const std::vector<float>& v) {
    problem = square(static_cast<std::int64_t>(k.size()), Mask::none, 1);
    problem.shape.queries = 1;
    problem.scale = 1;
    in = zeros(problem);
    fill(in.q, [&](auto...) { return q; });
    fill(in.k, [&](auto, auto, std::int64_t i, auto) { return k[static_cast<std::size_t>(i)]; });
    fill(in.v, [&](auto, auto, std::int64_t i, auto) { return v[static_cast<std::size_t>(i)]; });
  }
  [[nodiscard]] Reference oracle() const { return {problem, in.view(), false}; }
};

// Attention by definition in long double, with the mean vectors of merged keys really formed.
std::vector<long double> by_definition(const Problem& p, const Qkv& in, RowRef row,
                                       const std::vector<std::int32_t>& groups, long double& lse) {
  const MatrixView<const float> q = in.q.matrix(row.batch, row.head);
  const MatrixView<const float> k = in.k.matrix(row.batch, p.shape.kv_head(row.head));
  const MatrixView<const float> v = in.v.matrix(row.batch, p.shape.kv_head(row.head));
  std::vector<long double> out(static_cast<std::size_t>(p.shape.value_dim), 0);
  long double total = 0;
  for (std::int32_t g = 0; g <= *std::max_element(groups.begin(), groups.end()); ++g) {
    const auto count = static_cast<long double>(std::count(groups.begin(), groups.end(), g));
    if (count == 0) continue;
    long double score = 0;
    for (std::int64_t c = 0; c < p.shape.dim; ++c) {
      long double mean = 0;
      for (std::int64_t j = 0; j < p.shape.keys; ++j)
        mean += groups[static_cast<std::size_t>(j)] == g ? k.row(j)[c] / count : 0;
      score += mean * q.row(row.query)[c];
    }
    const long double weight = count * std::exp(score * static_cast<long double>(p.score_scale()));
    total += weight;
    for (std::int64_t c = 0; c < p.shape.value_dim; ++c) {
      long double mean = 0;
      for (std::int64_t j = 0; j < p.shape.keys; ++j)
        mean += groups[static_cast<std::size_t>(j)] == g ? v.row(j)[c] / count : 0;
      out[static_cast<std::size_t>(c)] += weight * mean;
    }
  }
  for (long double& x : out) x /= total;
  lse = std::log(total);
  return out;
}

}  // namespace

TEST_CASE("two keys: a logistic") {
  const Tiny tiny(2, {1, 0}, {10, 20});
  const ReferenceRow row = tiny.oracle().exact_row(kFirst);
  const double p = 1 / (1 + std::exp(-2.0));
  CHECK(row.out[0] == Approx(10 * p + 20 * (1 - p)).epsilon(1e-14));
  CHECK(row.lse == Approx(std::log(std::exp(2.0) + 1)).epsilon(1e-14));
  CHECK(row.pseudo_keys == 2);
  CHECK(row.largest_value == 20);
}

TEST_CASE("hidden keys count for nothing, an empty row is 0 with LSE -inf") {
  const Tiny tiny(2, {1, 0, 5}, {10, 20, 1000});
  const Reference oracle = tiny.oracle();
  const ReferenceRow one = oracle.row(kFirst, std::vector<std::int32_t>{-1, 1, -1});
  CHECK(one.out[0] == 20);
  CHECK(one.lse == 0);
  CHECK(one.pseudo_keys == 1);
  CHECK(one.largest_value == 1000);  // over all allowed keys: the certified bound needs it
  const ReferenceRow none = oracle.row(kFirst, std::vector<std::int32_t>{-1, -1, -1});
  CHECK(none.out[0] == 0);
  CHECK(none.lse == -kInfinity);
  CHECK(none.pseudo_keys == 0);
  CHECK(none.out_tolerance == 0);
  CHECK(none.lse_tolerance == 0);
}

TEST_CASE("a group is one pseudo-key of mean key, mean value and logit + ln(count), whatever its number") {
  const Tiny tiny(1, {1, 3, 0}, {10, 30, 5});
  for (const std::vector<std::int32_t>& groups : {std::vector<std::int32_t>{0, 0, 2}, {7, 7, 1}, {0, 0, 5000000}}) {
    const ReferenceRow row = tiny.oracle().row(kFirst, groups);
    const double a = 2 * std::exp(2.0);
    CHECK(row.out[0] == Approx((a * 20 + 5) / (a + 1)).epsilon(1e-14));
    CHECK(row.lse == Approx(std::log(a + 1)).epsilon(1e-14));
    CHECK(row.pseudo_keys == 2);
  }
}

TEST_CASE("the oracle agrees with extended precision on scattered groups, grouped heads and batches") {
  const Problem problem =
      problem_of("queries=9,keys=40,dim=13,value_dim=5,heads=4,kv_heads=2,batch=2,temperature=0.25,mask=causal");
  const TestInputs in = gaussian(problem, kHostile);
  const Reference oracle(problem, in.view(), false);
  for (const RowRef row : rows_of(problem)) {
    std::vector<std::int32_t> groups(40);
    for (std::int32_t j = 0; j < 40; ++j) {
      groups[static_cast<std::size_t>(j)] = j >= problem.allowed(row.query) || j % 7 == 3 ? -1 : j * 11 % 23 * 3;
    }
    long double lse = 0;
    const std::vector<long double> expected = by_definition(problem, in.view(), row, groups, lse);
    const ReferenceRow got = oracle.row(row, groups);
    REQUIRE(std::abs(got.lse - static_cast<double>(lse)) < 1e-13);
    for (std::size_t c = 0; c < expected.size(); ++c)
      REQUIRE(std::abs(got.out[c] - static_cast<double>(expected[c])) < 1e-13);
  }
}

TEST_CASE("large scores do not overflow the oracle") {
  const Tiny tiny(1e20f, {1e19f, -1e19f}, {3, 4});
  const ReferenceRow row = tiny.oracle().exact_row(kFirst);
  CHECK(row.out[0] == 3);
  CHECK(row.lse == Approx(1e39));
}

TEST_CASE("NaN in a visible query or key makes the row NaN, in a visible value its component, hidden it is nothing") {
  Problem problem = square(3, Mask::causal, 2);
  const auto row_with = [&](auto&& change, std::int64_t query) {
    TestInputs in = gaussian(problem);
    change(in);
    return Reference(problem, in.view(), false).exact_row({BatchIndex{0}, HeadIndex{0}, query});
  };
  const auto poison_k = [](TestInputs& in) { in.k.view().matrix(BatchIndex{0}, KvHeadIndex{0}).row(2)[1] = kNaN; };
  const auto poison_q = [](TestInputs& in) { in.q.view().matrix(BatchIndex{0}, HeadIndex{0}).row(2)[1] = kNaN; };
  const auto poison_v = [](TestInputs& in) { in.v.view().matrix(BatchIndex{0}, KvHeadIndex{0}).row(2)[1] = kNaN; };
  CHECK(std::isnan(row_with(poison_k, 2).out[0]));
  CHECK(std::isnan(row_with(poison_k, 2).lse));
  CHECK(std::isnan(row_with(poison_q, 2).out[0]));
  CHECK(std::isnan(row_with(poison_q, 2).lse));
  CHECK(std::isfinite(row_with(poison_v, 2).out[0]));
  CHECK(std::isnan(row_with(poison_v, 2).out[1]));
  CHECK(std::isfinite(row_with(poison_v, 2).lse));
  for (const auto& row : {row_with(poison_k, 1), row_with(poison_q, 1), row_with(poison_v, 1)}) {
    CHECK(std::isfinite(row.out[0] + row.out[1] + row.lse));
  }
}

TEST_CASE("shared keys are the normalised queries of the same head, a zero query stays zero") {
  Problem problem = square(3, Mask::none, 2);
  problem.shape.heads = 2;  // one key head: shared keys come from each query head all the same
  problem.scale = 1;
  TestInputs in = zeros(problem);
  fill(in.q, [](auto, std::int64_t h, std::int64_t i, std::int64_t c) {
    constexpr float kRows[3][2] = {{3, 4}, {0, 0}, {0, 2}};
    return kRows[i][c] * (h == 0 ? 1.0f : -2.0f);
  });
  fill(in.k, [](auto...) { return kNaN; });  // never read
  fill(in.v, [](auto, auto, std::int64_t i, auto) { return static_cast<float>(i); });
  const Reference oracle(problem, in.view(), true);
  const double e0 = std::exp(5.0);
  const double e2 = std::exp(4.0);
  CHECK(oracle.exact_row(kFirst).out[0] == Approx((1 + 2 * e2) / (e0 + 1 + e2)).epsilon(1e-13));
  CHECK(oracle.exact_row({BatchIndex{0}, HeadIndex{0}, 1}).out[0] == Approx(1.0));
  CHECK(oracle.score({BatchIndex{0}, HeadIndex{1}, 0}, 2) == Approx(8.0));
}

TEST_CASE("the tolerance is the derived one") {
  // Norms: q 6, k at most 5 and v at most 7 among the visible; the hidden ones are larger and must not matter.
  Problem problem = square(4, Mask::none, 3);
  problem.shape.queries = 1;
  problem.scale = 0.5;
  problem.temperature = 2;
  TestInputs in = zeros(problem);
  fill(in.q, [](auto, auto, auto, std::int64_t c) { return c == 0 ? 6.0f : 0.0f; });
  fill(in.k, [](auto, auto, std::int64_t i, std::int64_t c) {
    return c == 1 ? static_cast<float>(i == 3 ? 50 : 3 + i) : 0.0f;
  });
  fill(in.v, [](auto, auto, std::int64_t i, std::int64_t c) {
    return c == 2 ? static_cast<float>(i == 3 ? 90 : 5 + i) : 0.0f;
  });
  const double u = std::exp2(-24);
  const auto check = [&](std::vector<std::int32_t> groups, double factor, double keys, double summary, double norms,
                         bool shared) {
    const ReferenceRow row = Reference(problem, in.view(), shared).row(kFirst, groups);
    const double delta = factor * u * norms * 0.25;
    CHECK(row.out_tolerance == Approx(7 * (2 * std::tanh(delta / 2) + (16 + 64 + keys / 64 + summary) * u)));
    CHECK(row.lse_tolerance == Approx(delta + (16 + 64 + keys / 64) * u + 4 * u * std::abs(row.lse)));
  };
  check({0, 1, 2, -1}, 3 + 2, 3, 0, 6 * 5, false);
  check({9, 9, 2, -1}, 3 + 2 + 2, 2, 2, 6 * 5, false);
  problem.shape.queries = 4;
  in = zeros(problem);
  fill(in.q, [](auto, auto, auto, std::int64_t c) { return c == 0 ? 6.0f : 0.0f; });
  fill(in.v, [](auto, auto, std::int64_t i, std::int64_t c) {
    return c == 2 ? static_cast<float>(i == 3 ? 90 : 5 + i) : 0.0f;
  });
  check({0, 1, 2, -1}, 1.5 * 3 + 4, 3, 0, 6 * 1, true);
}

TEST_CASE("tiles are 32 keys from width 128 on") {
  const auto sums = [](std::int64_t dim, std::int64_t value_dim) {
    Problem problem = square(128, Mask::none, dim);
    problem.shape.value_dim = value_dim;
    const TestInputs in = zeros(problem);
    return Reference(problem, in.view(), false).exact_row(kFirst).lse_tolerance * std::exp2(24) - 4 * std::log(128.0);
  };
  CHECK(sums(127, 127) == Approx(16 + 64 + 2));
  CHECK(sums(128, 8) == Approx(16 + 32 + 4));
  CHECK(sums(8, 128) == Approx(16 + 32 + 4));
}

TEST_CASE("best_keys: best first, ties to the lower index, never more than allowed") {
  const Tiny tiny(1, {2, 5, 2, 5, 1}, {0, 0, 0, 0, 0});
  using Keys = std::vector<std::int32_t>;
  CHECK(tiny.oracle().best_keys(kFirst, 3) == Keys{1, 3, 0});
  CHECK(tiny.oracle().best_keys(kFirst, 4) == Keys{1, 3, 0, 2});
  CHECK(tiny.oracle().best_keys(kFirst, 99) == Keys{1, 3, 0, 2, 4});
  const Problem causal = square(5, Mask::causal);
  const TestInputs in = gaussian(causal);
  CHECK(Reference(causal, in.view(), false).best_keys({BatchIndex{0}, HeadIndex{0}, 1}, 4).size() == 2);
}

TEST_CASE("allowed_keys is the mask alone") {
  const Problem problem = problem_of("queries=3,keys=2,mask=causal");
  std::vector<std::int32_t> groups(2);
  using Groups = std::vector<std::int32_t>;
  const std::vector<Groups> expected = {{-1, -1}, {0, -1}, {0, 1}};
  for (std::int64_t i = 0; i < 3; ++i) {
    allowed_keys(problem)({BatchIndex{0}, HeadIndex{0}, i}, groups);
    CHECK(groups == expected[static_cast<std::size_t>(i)]);
  }
}
