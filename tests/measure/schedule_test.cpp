#include "measure/schedule.hpp"

#include <algorithm>
#include <map>

#include "support/catch.hpp"

using namespace attnscale;

TEST_CASE("every round holds every callable once, and each takes each place equally often") {
  for (const int count : {1, 2, 3, 4, 5, 8, 13}) {
    for (const std::uint64_t seed : {0U, 1U, 42U}) {
      CAPTURE(count, seed);
      std::map<std::pair<int, int>, int> at_place;
      std::map<std::pair<int, int>, int> follows;
      const int rounds = 2 * count;
      for (int round = 0; round < rounds; ++round) {
        const std::vector<int> order = round_order(count, round, seed);
        REQUIRE(order.size() == static_cast<std::size_t>(count));
        for (int place = 0; place < count; ++place) {
          const int callable = order[static_cast<std::size_t>(place)];
          ++at_place[{callable, place}];
          if (place > 0) ++follows[{order[static_cast<std::size_t>(place - 1)], callable}];
        }
        std::vector<int> sorted = order;
        std::sort(sorted.begin(), sorted.end());
        for (int i = 0; i < count; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i);
      }
      CHECK(at_place.size() == static_cast<std::size_t>(count * count));
      CHECK(std::all_of(at_place.begin(), at_place.end(), [](const auto& entry) { return entry.second == 2; }));
      CHECK(follows.size() == static_cast<std::size_t>(count * (count - 1)));
      CHECK(std::all_of(follows.begin(), follows.end(), [](const auto& entry) { return entry.second == 2; }));
    }
  }
}

TEST_CASE("the order depends on the seed and on nothing else") {
  bool differs = false;
  for (int round = 0; round < 20; ++round) {
    CHECK(round_order(9, round, 7) == round_order(9, round, 7));
    differs = differs || round_order(9, round, 7) != round_order(9, round, 8);
  }
  CHECK(differs);
  // Fixed for ever: committed results name their seed. Only the 64-bit Mersenne Twister of the standard stands behind
  // it.
  CHECK(round_order(5, 3, 1) == std::vector<int>{4, 0, 1, 2, 3});
}

TEST_CASE("a sample lasts at least its floor") {
  constexpr double kFloor = 10e6;
  for (const double call_ns : {0.5, 1.0, 17.0, 999.0, 1e4, 3e6, 9.99e6, 1e7, 2e7, 6e10}) {
    CAPTURE(call_ns);
    const std::int64_t iterations = iterations_for(call_ns, kFloor);
    CHECK(static_cast<double>(iterations) * std::max(call_ns, 1.0) >= kFloor);
    CHECK((iterations == 1) == (call_ns >= kFloor));
  }
  CHECK(iterations_for(0, kFloor) == 12000000);
  CHECK(iterations_for(1e6, kFloor) == 12);
  CHECK(iterations_for(1, 1e30) == 1000000000);
  CHECK(iterations_for(100, 0) == 1);
}
