#include "analysis/crossover.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

namespace attnscale {
namespace {

using Pick = std::function<std::optional<double>(const RatioPoint&)>;

std::vector<RatioPoint> by_size(std::span<const RatioPoint> points) {
  std::vector<RatioPoint> sorted;
  for (const RatioPoint& point : points) {
    if (std::isfinite(point.ratio) && point.ratio > 0 && point.n > 0) sorted.push_back(point);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const RatioPoint& a, const RatioPoint& b) { return a.n < b.n; });
  return sorted;
}

/// Crossings of one curve (the ratios or an end of their intervals) between neighbouring sizes that both have it.
std::vector<Crossing> crossings_of(std::span<const RatioPoint> sorted, const Pick& pick) {
  std::vector<Crossing> found;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const auto before = pick(sorted[i - 1]);
    const auto after = pick(sorted[i]);
    if (!before || !after || *before <= 0 || *after <= 0 || (*before < 1) == (*after < 1)) continue;
    const double share = std::log(*before) / (std::log(*before) - std::log(*after));
    const double n = sorted[i - 1].n * std::pow(sorted[i].n / sorted[i - 1].n, share);
    found.push_back({n, *after < 1, std::nullopt, std::nullopt});
  }
  return found;
}

/// The nearest crossing of the same direction at or below n (`below`) or at or above it.
std::optional<double> nearest(std::span<const Crossing> candidates, const Crossing& of, bool below) {
  std::optional<double> best;
  for (const Crossing& candidate : candidates) {
    if (candidate.becomes_faster != of.becomes_faster || (below ? candidate.n > of.n : candidate.n < of.n)) continue;
    if (!best || (below ? candidate.n > *best : candidate.n < *best)) best = candidate.n;
  }
  return best;
}

}  // namespace

std::vector<Crossing> crossovers(std::span<const RatioPoint> points) {
  const std::vector<RatioPoint> sorted = by_size(points);
  std::vector<Crossing> found = crossings_of(sorted, [](const RatioPoint& p) { return std::optional(p.ratio); });
  const std::vector<Crossing> of_low = crossings_of(sorted, [](const RatioPoint& p) { return p.low; });
  const std::vector<Crossing> of_high = crossings_of(sorted, [](const RatioPoint& p) { return p.high; });
  for (Crossing& crossing : found) {
    // A falling curve passes 1 first with the low ends, a rising one with the high ends.
    crossing.low = nearest(crossing.becomes_faster ? of_low : of_high, crossing, true);
    crossing.high = nearest(crossing.becomes_faster ? of_high : of_low, crossing, false);
  }
  return found;
}

std::string crossover_text(std::span<const RatioPoint> points) {
  const std::vector<RatioPoint> sorted = by_size(points);
  if (sorted.empty()) return "no ratios";
  const std::vector<Crossing> found = crossovers(points);
  if (found.empty())
    return fmt::format("not within the range: always {}", sorted.front().ratio < 1 ? "faster" : "slower");
  std::string text;
  for (const Crossing& crossing : found) {
    const std::string low = crossing.low ? fmt::format("{:.0f}", *crossing.low) : "?";
    const std::string high = crossing.high ? fmt::format("{:.0f}", *crossing.high) : "?";
    text += fmt::format("{}{} from n = {:.0f} ({} to {}) on", text.empty() ? "" : ", ",
                        crossing.becomes_faster ? "faster" : "slower", crossing.n, low, high);
  }
  return text;
}

}  // namespace attnscale
