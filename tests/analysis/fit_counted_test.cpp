// Fits of counts: no noise, a signed intercept, exact classes, and the exponents that the closed forms promise.
#include "analysis/fit_support.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

double window_pairs(double n, double w) {
  return n * (2 * w + 1) - w * (w + 1);
}

/// hierarchical, levels 2, b = ceil(sqrt n): sum over blocks of c (c + nb - 1).
double hierarchical_pairs(double n) {
  const double b = std::ceil(std::sqrt(n));
  const double blocks = std::ceil(n / b);
  double pairs = 0;
  for (double start = 0; start < n; start += b) {
    const double c = std::min(b, n - start);
    pairs += c * (c + blocks - 1);
  }
  return pairs;
}

}  // namespace

TEST_CASE("the exponents of counted pairs are 2, 1 and 1.5 over 512..16384") {
  const auto n = sizes(512, 16384, 2);
  REQUIRE(n.size() == 11);
  const GrowthFit exact = fit_counts(points_of(n, [](double x) { return x * x; }));
  CHECK(exact.ambiguous() == "O(n^2)");
  CHECK(exact.exponent == Approx(2).margin(1e-6));
  CHECK(exact.best().coefficients.back() == Approx(1));
  CHECK(verdict(exact, "O(n^2)") == "agrees");

  const GrowthFit window = fit_counts(points_of(n, [](double x) { return window_pairs(x, 16); }));
  CHECK(window.ambiguous() == "O(n)");
  CHECK(window.best().exact);
  CHECK(window.best().coefficients.back() == Approx(33));
  CHECK(window.best().intercept == Approx(-16 * 17));
  CHECK(window.exponent == Approx(1).margin(1e-6));
  CHECK_FALSE(window.exponent_ci);
  CHECK(verdict(window, "O(n w)") == "agrees");

  const GrowthFit hierarchical = fit_counts(points_of(n, hierarchical_pairs));
  CHECK(hierarchical.ambiguous() == "O(n^1.5)");
  CHECK(hierarchical.exponent == Approx(1.5).margin(0.05));
  CHECK(verdict(hierarchical, "O(n sqrt n)") == "agrees");
}

TEST_CASE("the edges of a wide window bend the log-log slope, not the fit") {
  const GrowthFit fit = fit_counts(points_of(sizes(512, 16384, 2), [](double x) { return window_pairs(x, 256); }));
  CHECK(fit.loglog_slope == Approx(1.07).margin(0.005));
  CHECK(fit.exponent == Approx(1).margin(1e-6));
  CHECK(fit.ambiguous() == "O(n)");
  CHECK(verdict(fit, "O(n w)") == "agrees");
}

TEST_CASE("a window wider than the shortest sequences is told by the last octave") {
  const auto pairs = [](double n) { return n <= 1025 ? n * n : window_pairs(n, 1024); };
  const GrowthFit fit = fit_counts(points_of(sizes(512, 16384, 2), pairs));
  CHECK(fit.last_octave_exponent == Approx(1.047).margin(0.005));
  CHECK(verdict(fit, "O(n w)").rfind("ambiguous: ", 0) == 0);
  CHECK(verdict(fit, "O(n^2)").rfind("differs: ", 0) == 0);
}

TEST_CASE("an exact class wins over every other, with no residual to divide by") {
  const auto n = sizes(512, 16384, 2);
  const GrowthFit causal = fit_counts(points_of(n, [](double x) { return x * (x + 1) / 2; }));
  CHECK(causal.ambiguous() == "O(n + n^2)");
  CHECK(causal.best().exact);
  CHECK(std::isfinite(causal.best().aicc));
  CHECK(verdict(causal, "O(n^2)") == "agrees");
  const GrowthFit constant = fit_counts(points_of(n, [](double) { return 4096.0; }));
  CHECK(constant.ambiguous() == "O(1)");
  CHECK(constant.exponent == 0);
  CHECK(constant.best().intercept == Approx(4096));
  CHECK(verdict(constant, "O(1)") == "agrees");
  const GrowthFit cube = fit_counts(points_of(n, [](double x) { return x * x * x; }));
  CHECK(cube.ambiguous() == "O(n^3)");
  CHECK(verdict(cube, "O(n^2)") == "differs: O(n^3), exponent 3.00 instead of O(n^2)");
}

TEST_CASE("a wrong count is found: one extra linear term in a window") {
  const GrowthFit fit =
      fit_counts(points_of(sizes(512, 16384, 2), [](double x) { return window_pairs(x, 16) + x * x / 64; }));
  CHECK(verdict(fit, "O(n w)").rfind("differs: ", 0) == 0);
}
