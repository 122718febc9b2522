// Crossovers by interpolation of ln ratio over ln n.
#include "analysis/crossover.hpp"

#include "support/catch.hpp"

using namespace attnscale;

TEST_CASE("a falling ratio crosses 1 where the power law says") {
  std::vector<RatioPoint> points;
  for (const double n : {256.0, 512.0, 1024.0, 2048.0, 4096.0}) points.push_back({n, 1200 / n, 1000 / n, 1500 / n});
  const auto found = crossovers(points);
  REQUIRE(found.size() == 1);
  CHECK(found[0].becomes_faster);
  CHECK(found[0].n == Approx(1200));
  REQUIRE(found[0].low);
  REQUIRE(found[0].high);
  CHECK(*found[0].low == Approx(1000));
  CHECK(*found[0].high == Approx(1500));
  CHECK(crossover_text(points) == "faster from n = 1200 (1000 to 1500) on");
}

TEST_CASE("a rising ratio, unsorted points and open ends") {
  const std::vector<RatioPoint> points = {{400, 2, {}, {}}, {100, 0.5, {}, {}}};
  const auto found = crossovers(points);
  REQUIRE(found.size() == 1);
  CHECK_FALSE(found[0].becomes_faster);
  CHECK(found[0].n == Approx(200));
  CHECK_FALSE(found[0].low);
  CHECK(crossover_text(points) == "slower from n = 200 (? to ?) on");
  // The upper ends never fall below 1: the crossing may lie beyond the range.
  const std::vector<RatioPoint> open = {{100, 2, 1.9, 2.1}, {400, 0.9, 0.5, 1.3}};
  REQUIRE(crossovers(open).size() == 1);
  CHECK(crossovers(open)[0].low);
  CHECK_FALSE(crossovers(open)[0].high);
}

TEST_CASE("no crossing is an answer, several are listed") {
  CHECK(crossover_text(std::vector<RatioPoint>{{100, 2, {}, {}}, {200, 1.5, {}, {}}}) ==
        "not within the range: always slower");
  CHECK(crossover_text(std::vector<RatioPoint>{{100, 0.2, {}, {}}}) == "not within the range: always faster");
  CHECK(crossover_text({}) == "no ratios");
  const std::vector<RatioPoint> several = {{100, 2, {}, {}}, {200, 0.5, {}, {}}, {400, 2, {}, {}}};
  CHECK(crossovers(several).size() == 2);
  // Exactly 1 is not yet faster, and is no crossing of its own.
  CHECK(crossovers(std::vector<RatioPoint>{{100, 2, {}, {}}, {200, 1, {}, {}}, {400, 0.5, {}, {}}}).size() == 1);
  CHECK(crossovers(std::vector<RatioPoint>{{100, 2, {}, {}}, {200, 1, {}, {}}, {400, 2, {}, {}}}).empty());
}
