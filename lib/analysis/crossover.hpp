// Where a method begins to pay off: the n at which its ratio to a baseline passes 1.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attnscale {

struct RatioPoint {
  double n = 0;
  double ratio = 0;           ///< time over the baseline's, above 0
  std::optional<double> low;  ///< confidence interval of the ratio
  std::optional<double> high;
};

struct Crossing {
  double n = 0;                ///< by interpolation of ln ratio over ln n
  bool becomes_faster = true;  ///< the ratio falls below 1 with growing n; else it rises above
  std::optional<double> low;   ///< interval: where the ends of the ratios' intervals cross; nothing: beyond the range
  std::optional<double> high;
};

/// All crossings, by rising n. None is an answer: see crossover_text. A ratio of exactly 1 counts as not yet faster.
std::vector<Crossing> crossovers(std::span<const RatioPoint> points);

/// A phrase for people: "faster from n = 1200 (1000 to 1400) on", "not within the range: always slower", ...
std::string crossover_text(std::span<const RatioPoint> points);

}  // namespace attnscale
