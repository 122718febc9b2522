#include "analysis/pareto.hpp"

#include <algorithm>
#include <cmath>

namespace attnscale {

std::vector<std::size_t> pareto_front(std::span<const Tradeoff> choices) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (!std::isnan(choices[i].cost) && !std::isnan(choices[i].error)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return choices[a].cost != choices[b].cost ? choices[a].cost < choices[b].cost : choices[a].error < choices[b].error;
  });
  // By rising cost, a choice is on the front when its error is below all before it, or when it equals the latest one.
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    const bool better = front.empty() || choices[i].error < choices[front.back()].error;
    const bool equal = !front.empty() && choices[i].error == choices[front.back()].error &&
                       choices[i].cost == choices[front.back()].cost;
    if (better || equal) front.push_back(i);
  }
  return front;
}

}  // namespace attnscale
