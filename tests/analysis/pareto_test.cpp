// The Pareto front against its definition.
#include "analysis/pareto.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "support/catch.hpp"

using namespace attnscale;

TEST_CASE("a small front by hand") {
  const std::vector<Tradeoff> choices = {{5, 0},   {1, 0.9}, {2, 0.5},          {3, 0.6},
                                         {2, 0.7}, {2, 0.5}, {std::nan(""), 0}, {6, 0}};
  CHECK(pareto_front(choices) == std::vector<std::size_t>{1, 2, 5, 0});
  CHECK(pareto_front({}).empty());
}

TEST_CASE("the front is what nothing dominates") {
  std::mt19937_64 random(2);
  for (int draw = 0; draw < 50; ++draw) {
    std::vector<Tradeoff> choices;
    for (int i = 0; i < 20; ++i)
      choices.push_back({static_cast<double>(random() % 8), static_cast<double>(random() % 8)});
    const auto front = pareto_front(choices);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      bool dominated = false;
      for (const Tradeoff& other : choices) {
        const bool no_worse = other.cost <= choices[i].cost && other.error <= choices[i].error;
        dominated |= no_worse && (other.cost < choices[i].cost || other.error < choices[i].error);
      }
      CHECK((std::find(front.begin(), front.end(), i) != front.end()) == !dominated);
    }
  }
}
