// Fits of times: simulated truths with noise, refusals, intervals, local exponents.
#include <random>

#include "analysis/fit_support.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

/// Standard normal numbers that are the same with every standard library (Box-Muller over raw bits).
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : random_(seed) {}
  double operator()() {
    const double u = (static_cast<double>(random_() >> 11) + 0.5) / 9007199254740992.0;
    const double v = (static_cast<double>(random_() >> 11) + 0.5) / 9007199254740992.0;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979323846 * v);
  }

 private:
  std::mt19937_64 random_;
};

struct Truth {
  const char* name;
  double (*time)(double n);
};

const std::vector<Truth> kTruths = {
    {"O(n)", [](double n) { return 3 * n; }},
    {"O(n)", [](double n) { return n + 2000; }},
    {"O(n lg n)", [](double n) { return 0.2 * n * std::log2(n); }},
    {"O(n^1.5)", [](double n) { return std::pow(n, 1.5); }},
    {"O(n^2)", [](double n) { return n * n; }},
    {"O(n + n^2)", [](double n) { return 512 * n + n * n; }},
    {"O(n) with a step", [](double n) { return n < 3000 ? n : 1.5 * n; }},
};

std::vector<SizePoint> noisy(std::vector<SizePoint> points, double noise, Normal& normal) {
  for (SizePoint& point : points) {
    point.value *= std::exp(noise * normal());
    point.spread = noise;
  }
  return points;
}

}  // namespace

TEST_CASE("simulated truths with 2 % noise are named, rightly or among others") {
  constexpr int kDraws = 30;
  const auto n = sizes(512, 16384, 2);
  for (std::size_t t = 0; t < kTruths.size(); ++t) {
    Normal normal(100 + t);
    int named = 0;
    int sure = 0;
    int sure_and_wrong = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const GrowthFit fit = fit_times(noisy(points_of(n, kTruths[t].time), 0.02, normal));
      REQUIRE(fit.refused.empty());
      const bool right = names(fit, kTruths[t].name);
      named += right ? 1 : 0;
      sure += right && fit.plausible == 1 ? 1 : 0;
      sure_and_wrong += !right && fit.plausible == 1 ? 1 : 0;
    }
    INFO("truth " << t << ", " << kTruths[t].name << ": named " << named << ", sure " << sure << " of " << kDraws);
    CHECK(named >= kDraws * 9 / 10);
    CHECK(sure >= kDraws * 6 / 10);
    CHECK(sure_and_wrong <= 1);
  }
}

TEST_CASE("without noise the coefficients come back") {
  const auto n = sizes(512, 16384, 2);
  const GrowthFit fit = fit_times(points_of(n, [](double x) { return 512 * x + 2 * x * x; }));
  REQUIRE(fit.best().growth->name == "O(n + n^2)");
  REQUIRE(fit.best().coefficients.size() == 2);
  CHECK(fit.best().coefficients[0] == Approx(512).epsilon(1e-4));
  CHECK(fit.best().coefficients[1] == Approx(2).epsilon(1e-4));
  CHECK(fit.best().at(1000) == Approx(512e3 + 2e6).epsilon(1e-4));
  const GrowthFit step = fit_times(points_of(n, kTruths.back().time));
  REQUIRE(step.best().growth->step);
  CHECK(step.best().step_after == 2896);
  CHECK(step.best().coefficients[1] / step.best().coefficients[0] == Approx(1.5));
  const GrowthFit offset = fit_times(points_of(n, [](double x) { return 5000 + std::pow(x, 1.3); }));
  CHECK(offset.exponent == Approx(1.3).margin(0.01));
  CHECK(offset.exponent_intercept == Approx(5000).epsilon(0.05));
}

TEST_CASE("every size counts alike: a wrong largest size does not decide") {
  auto points = points_of(sizes(512, 16384, 2), [](double x) { return x * x; });
  points.back().value *= 1.1;
  const GrowthFit fit = fit_times(points);
  CHECK(fit.exponent == Approx(2).margin(0.06));
  // A size that is known to be noisy counts less.
  for (SizePoint& point : points) point.spread = 0.001;
  points.back().spread = 0.1;
  CHECK(std::abs(fit_times(points).exponent - 2) < std::abs(fit.exponent - 2));
}

TEST_CASE("poor data are refused with the reason") {
  const auto time = [](double x) { return x; };
  CHECK(fit_times({}).refused == "0 sizes, at least 5 are needed");
  CHECK(fit_times(points_of({256, 1024, 2048, 4096}, time)).refused == "4 sizes, at least 5 are needed");
  CHECK(fit_times(points_of({512, 1024, 2048, 3072, 4096}, time)).refused ==
        "n spans a factor of 8, at least 16 is needed");
  CHECK(fit_times(points_of({256, 512, 1024, 2048, 4096}, time)).refused.empty());
  CHECK(fit_times({{256, 1}, {256, 2}, {256, 3}, {512, 1}, {8192, 1}}).refused == "3 sizes, at least 5 are needed");
  auto zero = points_of(sizes(512, 16384, 1), time);
  zero[2].value = 0;
  const GrowthFit fit = fit_times(zero);
  CHECK(fit.refused == "the value at n = 2048 is 0, and a growth law needs positive values");
  CHECK(verdict(fit, "O(n)") == "refused: " + fit.refused);
  zero[2].value = std::nan("");
  CHECK_FALSE(fit_times(zero).refused.empty());
  const GrowthFit good = fit_times(points_of(sizes(512, 16384, 2), time));
  CHECK(verdict(good, "O(n^k)") == "refused: theory O(n^k) is not an expression in n");
  CHECK(verdict(good, "").empty());
}

TEST_CASE("points of one size are joined by their medians, in any order") {
  auto points = points_of(sizes(512, 16384, 2), [](double x) { return x * x; });
  std::vector<SizePoint> shuffled(points.rbegin(), points.rend());
  for (const SizePoint& point : points) {
    shuffled.push_back({point.n, point.value * 100, 0});
    shuffled.push_back({point.n, point.value * 0.99, 0});
  }
  const GrowthFit fit = fit_times(shuffled);
  REQUIRE(fit.points.size() == points.size());
  CHECK(fit.points.front().n == 512);
  CHECK(fit.points.front().value == points.front().value);
}

TEST_CASE("the bootstrap interval holds the exponent, and the seed decides it") {
  Normal normal(5);
  const auto points = noisy(points_of(sizes(512, 16384, 2), [](double x) { return std::pow(x, 1.5); }), 0.02, normal);
  const GrowthFit fit = fit_times(points, 300);
  REQUIRE(fit.exponent_ci);
  CHECK(fit.exponent_ci->low < 1.5);
  CHECK(fit.exponent_ci->high > 1.5);
  CHECK(fit.exponent_ci->high - fit.exponent_ci->low < 0.15);
  const GrowthFit again = fit_times(points, 300);
  CHECK(again.exponent_ci->low == fit.exponent_ci->low);
  CHECK(again.exponent_ci->high == fit.exponent_ci->high);
  CHECK_FALSE(fit_times(points, 0).exponent_ci);
}

TEST_CASE("local exponents and the last octave") {
  const GrowthFit fit = fit_times(points_of(sizes(512, 8192, 1), [](double x) { return x < 3000 ? x : x * x / 2048; }));
  REQUIRE(fit.local.size() == 4);
  CHECK(fit.local[0].exponent == Approx(1));
  CHECK(fit.local[0].n == Approx(512 * std::sqrt(2.0)));
  CHECK(fit.last_octave_exponent == Approx(2));
}

TEST_CASE("verdicts on times") {
  const auto n = sizes(512, 16384, 2);
  const GrowthFit square = fit_times(points_of(n, [](double x) { return x * x; }));
  CHECK(verdict(square, "O(n^2)") == "agrees");
  CHECK(verdict(square, "O(n w)") == "differs: O(n^2), exponent 2.00 instead of O(n w)");
  Normal normal(3);
  bool ambiguous = false;
  for (int draw = 0; draw < 20 && !ambiguous; ++draw) {
    const GrowthFit fit = fit_times(noisy(points_of(n, [](double x) { return x + 2000; }), 0.05, normal));
    ambiguous = fit.plausible > 1 && verdict(fit, "O(n)").rfind("ambiguous: ", 0) == 0;
  }
  CHECK(ambiguous);
}

TEST_CASE("the spread of a median comes from the MAD") {
  CHECK(relative_spread(std::vector<double>{}) == 0);
  CHECK(relative_spread(std::vector<double>{4, 4, 4}) == 0);
  CHECK(relative_spread(std::vector<double>{90, 100, 110, 100}) == Approx(1.2533 * 1.4826 * 5 / 2 / 100));
}
