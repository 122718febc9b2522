// Order statistics against small examples worked by hand, and the coverage of their intervals by simulation.
#include "analysis/stats.hpp"

#include <cmath>
#include <random>

#include "support/catch.hpp"

using namespace attnscale;

TEST_CASE("median and MAD of small samples") {
  const std::vector<double> odd = {9, 1, 4};
  const std::vector<double> even = {1, 2, 10, 3};
  CHECK(median(odd) == 4);
  CHECK(median(even) == 2.5);
  CHECK(median(std::vector<double>{7}) == 7);
  CHECK(std::isnan(median(std::vector<double>{})));
  CHECK(median_absolute_deviation(odd) == 3);  // deviations 5, 3, 0
  CHECK(median_absolute_deviation(std::vector<double>{2, 2, 2}) == 0);
  CHECK(std::isnan(median_absolute_deviation(std::vector<double>{})));
}

TEST_CASE("percentiles are by nearest rank") {
  const std::vector<double> v = {50, 15, 35, 20, 40};
  CHECK(percentile(v, 0.05) == 15);
  CHECK(percentile(v, 0.30) == 20);
  CHECK(percentile(v, 0.40) == 20);
  CHECK(percentile(v, 0.41) == 35);
  CHECK(percentile(v, 1) == 50);
  CHECK(std::isnan(percentile(std::vector<double>{}, 0.5)));
}

TEST_CASE("the median's interval lies between order statistics and states its true level") {
  CHECK_FALSE(median_interval(std::vector<double>{}));
  CHECK_FALSE(median_interval(std::vector<double>{1, 2, 3, 4, 5}));
  const auto six = median_interval(std::vector<double>{6, 5, 4, 3, 2, 1});
  REQUIRE(six);
  CHECK(six->low == 1);
  CHECK(six->high == 6);
  CHECK(six->level == Approx(1 - 2.0 / 64));
  // 9 samples: P(Bin(9, 1/2) <= 1) = 10/512, so depth 2 holds with 1 - 20/512; depth 3 would hold with 0.82 only.
  const auto nine = median_interval(std::vector<double>{9, 8, 7, 6, 5, 4, 3, 2, 1});
  REQUIRE(nine);
  CHECK(nine->low == 2);
  CHECK(nine->high == 8);
  CHECK(nine->level == Approx(1 - 20.0 / 512));
  const auto half = median_interval(std::vector<double>{1, 2, 3}, 0.5);
  REQUIRE(half);
  CHECK(half->low == 1);
  CHECK(half->level == Approx(0.75));
}

TEST_CASE("the interval covers the median as often as it says, whatever the distribution") {
  constexpr int kDraws = 4000;
  std::mt19937_64 random(11);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) / 9007199254740992.0; };
  for (const std::size_t samples : {7, 12, 25}) {
    int covered = 0;
    double level = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<double> v(samples);
      // Skewed, with a heavy tail: 1 / sqrt(u) has the median sqrt(2) and no variance.
      for (double& value : v) value = 1 / std::sqrt(uniform());
      const auto interval = median_interval(v);
      REQUIRE(interval);
      level = interval->level;
      covered += interval->low <= std::sqrt(2.0) && std::sqrt(2.0) <= interval->high ? 1 : 0;
    }
    INFO(samples << " samples, level " << level);
    const double deviation = std::sqrt(level * (1 - level) / kDraws);
    CHECK(level >= 0.95);
    CHECK(std::abs(static_cast<double>(covered) / kDraws - level) < 4 * deviation);
  }
}

TEST_CASE("a ratio is taken inside rounds, so that a slow round cancels out") {
  std::vector<double> baseline;
  std::vector<double> times;
  for (int round = 0; round < 7; ++round) {
    const double slow = round == 3 ? 10 : 1 + 0.1 * round;
    baseline.push_back(100 * slow);
    times.push_back(50 * slow);
  }
  const Ratio ratio = ratio_of_rounds(times, baseline);
  CHECK(ratio.value == Approx(0.5));
  CHECK(ratio.rounds == 7);
  REQUIRE(ratio.ci);
  CHECK(ratio.ci->low == Approx(0.5));
  CHECK(ratio.ci->high == Approx(0.5));
  CHECK(ratio.ci->level == Approx(1 - 2.0 / 128));
  const Ratio few = ratio_of_rounds(std::vector<double>{2, 8}, std::vector<double>{1, 2});
  CHECK(few.value == Approx(std::sqrt(8.0)));
  CHECK_FALSE(few.ci);
  CHECK(std::isnan(ratio_of_rounds({}, {}).value));
}

TEST_CASE("the stop rule waits for an interval, then measures its half width") {
  CHECK(std::isinf(relative_half_width({1, 1, 1, 1, 1})));
  CHECK(relative_half_width({1, 1, 1, 1, 1, 1}) == 0);
  CHECK(relative_half_width({90, 110, 100, 95, 105, 100}) == Approx(0.1));
}
