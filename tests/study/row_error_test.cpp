// Error figures on cases small enough to work out by hand.
#include "study/verify/row_error.hpp"

#include <cmath>
#include <limits>

#include "study/verify/evaluate.hpp"
#include "support.hpp"

namespace attnscale::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

ReferenceRow reference(std::vector<double> out, double lse) {
  ReferenceRow row;
  row.out = std::move(out);
  row.lse = lse;
  row.pseudo_keys = 2;
  row.out_tolerance = 0.1;
  row.lse_tolerance = 0.01;
  row.largest_value = 5;
  return row;
}

// The method gives (3, 0); exact is (0, 4); it sees keys 0 and 2, whose exact mass is 1/4.
struct Case {
  std::vector<float> out = {3, 0};
  float lse = 1;
  ReferenceRow own = reference({3, 0}, 1);
  ExactRow exact{reference({0, 4}, 1 + std::log(4.0)), {1, 2, 3, 0}};
  std::vector<std::int32_t> groups = {0, -1, 2, -1};
  [[nodiscard]] RowError error() const { return row_error({out, lse, &own, &exact, &exact, groups}); }
};

}  // namespace

TEST_CASE("approximation error of one row") {
  const RowError error = Case().error();
  CHECK_FALSE(error.empty);
  CHECK(error.error2 == Approx(25));
  CHECK(error.exact2 == Approx(16));
  CHECK(error.max_abs == Approx(4));
  CHECK(error.max_abs_v == Approx(0.4));
  CHECK(error.cosine == Approx(0));
  CHECK(error.mass == Approx(0.25));
  CHECK(error.top64 == Approx(0.5));
  CHECK(error.bound == Approx(2 * 0.75 * 5));
  CHECK(error.bound_held);
  CHECK(error.impl_error == 0);
  CHECK(error.impl_ratio == 0);
}

TEST_CASE("implementation error is relative to the row's tolerance, LSE included") {
  Case c;
  c.out = {3, 0.05F};
  CHECK(c.error().impl_ratio == Approx(0.5).epsilon(1e-6));
  c.lse = 1.02F;
  CHECK(c.error().impl_ratio == Approx(2).epsilon(1e-4));
  CHECK(c.error().lse_error == Approx(0.02).epsilon(1e-4));
  c = {};
  c.own.out_tolerance = 0;
  CHECK(c.error().impl_ratio == 0);  // 0/0
  c.out = {3, 1e-30F};
  CHECK(c.error().impl_ratio == kInfinity);  // x/0
}

TEST_CASE("values that are not numbers must stand where they belong") {
  Case c;
  c.out = {kNaN, 0};
  CHECK(c.error().impl_ratio == kInfinity);
  CHECK(c.error().empty);
  c.own.out = {std::nan(""), 0};
  CHECK(c.error().impl_ratio == 0);
  c.out = {kNaN, kNaN};  // the whole row may go
  CHECK(c.error().impl_ratio == 0);
  c.out = {3, 0};
  CHECK(c.error().impl_ratio == kInfinity);
  c = {};
  c.own = reference({0, 0}, -kInfinity);
  c.out = {0, 0};
  c.lse = -std::numeric_limits<float>::infinity();
  CHECK(c.error().impl_ratio == 0);
  CHECK(c.error().mass == 0);
  CHECK(c.error().bound == Approx(10));
  c.lse = 0;
  CHECK(c.error().impl_ratio == kInfinity);
}

TEST_CASE("a bound that does not hold is seen") {
  Case c;
  c.exact.row.largest_value = 1;  // not what these outputs could come from
  CHECK_FALSE(c.error().bound_held);
}

TEST_CASE("an overflow of the definition's scores is seen") {
  Case c;
  c.own.lse = 1e39;
  CHECK(c.error().overflow);
}

TEST_CASE("columns: means over averaged rows, extremes over all, what does not apply is empty") {
  std::vector<RowError> rows(3, Case().error());
  rows[1].error2 = 0;
  rows[1].mass = 0.75;
  rows[1].cosine = 1;
  rows[2].averaged = false;
  rows[2].max_abs = 9;
  rows[2].mass = 0.125;
  rows[2].bound = 20;
  rows.push_back(rows[0]);
  rows[3].empty = true;
  rows[3].mass = 0;

  Record pruned;
  summarise(rows, Contract::pruned, false, pruned);
  CHECK(pruned.error_rows == 2);
  CHECK(pruned.empty_rows == 1);
  CHECK(pruned.verified_rows == 4);
  CHECK(*pruned.rel_fro == Approx(std::sqrt(25.0 / 32.0)));
  CHECK(*pruned.max_abs == Approx(9));
  CHECK(*pruned.cosine_mean == Approx(0.5));
  CHECK(*pruned.cosine_p1 == Approx(0));
  CHECK(*pruned.mass_recall_mean == Approx(0.5));
  CHECK(*pruned.mass_recall_min == Approx(0.125));
  CHECK(*pruned.mass_recall_p5 == Approx(0.25));
  CHECK(*pruned.tv_mean == Approx(0.5));
  CHECK(*pruned.kl_mean == Approx(-(std::log(0.25) + std::log(0.75)) / 2));
  CHECK(*pruned.error_bound == Approx(20));
  CHECK(pruned.bound_held == true);
  CHECK(pruned.error_reference == "exact");
  CHECK(*pruned.row_rel_p50 == Approx(0));
  CHECK(*pruned.row_rel_p95 == Approx(1.25));

  Record exact;
  summarise(rows, Contract::exact, false, exact);
  CHECK_FALSE(exact.mass_recall_mean);
  CHECK_FALSE(exact.error_bound);
  CHECK_FALSE(exact.bound_held);
  CHECK(exact.top64_recall);
  Record merged;
  summarise(rows, Contract::merged, true, merged);
  CHECK_FALSE(merged.mass_recall_mean);
  CHECK_FALSE(merged.top64_recall);
  CHECK(merged.error_reference == "exact.shared");

  rows.resize(4);
  for (RowError& row : rows) row.empty = true;
  Record none;
  summarise(rows, Contract::pruned, false, none);
  CHECK(none.error_rows == 0);
  CHECK_FALSE(none.rel_fro);
  CHECK_FALSE(none.mass_recall_min);
  CHECK_FALSE(none.bound_held);
}

TEST_CASE("a cosine of two zero rows is left out, of one it is 0") {
  Case c;
  c.out = {0, 0};
  CHECK(c.error().cosine == 0);
  c.exact.row.out = {0, 0};
  CHECK(std::isnan(c.error().cosine));
}

}  // namespace attnscale::test
