#include "analysis/fit.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

#include "analysis/class_fit.hpp"

namespace attnscale {
namespace {

constexpr std::size_t kLeastSizes = 5;
constexpr double kLeastRange = 16;
/// Classes within this much AICc of the best have a likelihood of more than e^-2 of it: not ruled out.
constexpr double kAmbiguousAicc = 4;
/// A class that predicts left-out sizes this much better than the best by AICc casts doubt on the choice.
constexpr double kClearlyBetter = 0.8;

std::vector<SizePoint> joined_by_size(std::span<const SizePoint> points) {
  std::vector<SizePoint> sorted(points.begin(), points.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const SizePoint& a, const SizePoint& b) { return a.n < b.n; });
  std::vector<SizePoint> joined;
  for (std::size_t i = 0; i < sorted.size();) {
    std::vector<double> values;
    std::vector<double> spreads;
    const double n = sorted[i].n;
    for (; i < sorted.size() && sorted[i].n == n; ++i) {
      values.push_back(sorted[i].value);
      spreads.push_back(sorted[i].spread);
    }
    joined.push_back({n, median(values), median(spreads)});
  }
  return joined;
}

std::string refusal(std::span<const SizePoint> points) {
  for (const SizePoint& point : points) {
    if (!std::isfinite(point.n) || point.n < 1) return fmt::format("n = {} is not a size", point.n);
    if (!std::isfinite(point.value) || point.value <= 0) {
      return fmt::format("the value at n = {} is {}, and a growth law needs positive values", point.n, point.value);
    }
  }
  if (points.size() < kLeastSizes) return fmt::format("{} sizes, at least {} are needed", points.size(), kLeastSizes);
  const double range = points.back().n / points.front().n;
  if (range < kLeastRange) return fmt::format("n spans a factor of {:.3g}, at least {} is needed", range, kLeastRange);
  return "";
}

/// True when `small` is `large` with some coefficients set to zero (or, for a step, with both of them equal).
bool special_case(const FittedClass& small, const FittedClass& large) {
  if (small.growth == large.growth || (small.intercept != 0 && large.intercept == 0)) return false;
  if (small.growth->step) return false;
  const auto& terms = large.growth->terms;
  return std::all_of(small.growth->terms.begin(), small.growth->terms.end(),
                     [&](const Growth& term) { return std::find(terms.begin(), terms.end(), term) != terms.end(); });
}

std::vector<FittedClass> fit_all(std::span<const SizePoint> points, Quantity quantity) {
  std::vector<FittedClass> fitted;
  for (const GrowthClass& growth : growth_classes()) {
    // Counts know no caches.
    if (growth.step && quantity == Quantity::counted) continue;
    if (auto one = fit_class(growth, points, quantity)) fitted.push_back(std::move(*one));
  }
  // A larger class that fits no better than a part of it (by AICc) says nothing of its own: its extra coefficient is
  // noise.
  std::vector<FittedClass> kept;
  for (const FittedClass& one : fitted) {
    const bool idle = std::any_of(fitted.begin(), fitted.end(), [&](const FittedClass& other) {
      return other.aicc < one.aicc && special_case(other, one);
    });
    if (!idle) kept.push_back(one);
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const FittedClass& a, const FittedClass& b) { return a.aicc < b.aicc; });
  return kept;
}

/// Root mean square log error of predicting each size from all others; NaN when the class cannot be fitted to so few.
double left_out_error(const GrowthClass& growth, std::span<const SizePoint> points, Quantity quantity) {
  double sum = 0;
  for (std::size_t left = 0; left < points.size(); ++left) {
    std::vector<SizePoint> rest(points.begin(), points.end());
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(left));
    const auto fitted = fit_class(growth, rest, quantity);
    if (!fitted || fitted->at(points[left].n) <= 0) return std::nan("");
    sum += std::pow(std::log(fitted->at(points[left].n) / points[left].value), 2);
  }
  return std::sqrt(sum / static_cast<double>(points.size()));
}

/// Counts the classes near the best, and moves a class there that predicts left-out sizes clearly better.
void choose_plausible(GrowthFit& fit) {
  if (fit.classes.empty()) return;
  for (FittedClass& one : fit.classes) {
    one.left_out_error = one.exact ? 0 : left_out_error(*one.growth, fit.points, fit.quantity);
  }
  const double limit = fit.best().aicc + kAmbiguousAicc;
  const auto near =
      std::find_if(fit.classes.begin(), fit.classes.end(), [&](const FittedClass& one) { return one.aicc >= limit; });
  fit.plausible = static_cast<std::size_t>(near - fit.classes.begin());
  const auto best_predictor = std::min_element(near, fit.classes.end(), [](const FittedClass& a, const FittedClass& b) {
    return !std::isnan(a.left_out_error) && (std::isnan(b.left_out_error) || a.left_out_error < b.left_out_error);
  });
  if (best_predictor != fit.classes.end() &&
      best_predictor->left_out_error < kClearlyBetter * fit.best().left_out_error) {
    std::rotate(near, best_predictor, best_predictor + 1);
    ++fit.plausible;
  }
}

/// Tail of the percentile interval that stands for 2.5 %. Plain percentiles are too narrow for a dozen sizes, as normal
/// quantiles are beside Student's; the tail is moved out as far as t lies beyond z (Hesterberg 2015, "expanded
/// percentile").
double widened_tail(double degrees_of_freedom) {
  const boost::math::students_t_distribution<double> student(degrees_of_freedom);
  const double t = boost::math::quantile(boost::math::complement(student, 0.025));
  return boost::math::cdf(boost::math::normal_distribution<double>(), -t);
}

/// Percentile interval of the exponent from resampled residuals. The residuals are spread to undo their shrinkage by
/// the fit, and drawn with integer arithmetic, so that a seed gives the same interval on every platform.
std::optional<ConfidenceInterval> exponent_interval(const PowerLaw& law, std::span<const SizePoint> points,
                                                    const FitOptions& options) {
  if (options.bootstrap_draws <= 0) return std::nullopt;
  const std::vector<double> weights = spread_weights(points);
  const std::size_t m = points.size();
  const double parameters = law.intercept > 0 ? 3 : 2;
  const double widen = std::sqrt(static_cast<double>(m) / (static_cast<double>(m) - parameters));
  std::vector<double> residuals(m);
  for (std::size_t i = 0; i < m; ++i)
    residuals[i] = widen * std::sqrt(weights[i]) * std::log(points[i].value / law.at(points[i].n));
  std::mt19937_64 random(options.seed);
  std::vector<double> exponents;
  std::vector<SizePoint> drawn(points.begin(), points.end());
  for (int draw = 0; draw < options.bootstrap_draws; ++draw) {
    for (std::size_t i = 0; i < m; ++i) {
      drawn[i].value = law.at(points[i].n) * std::exp(residuals[random() % m] / std::sqrt(weights[i]));
    }
    exponents.push_back(fit_power_law(drawn, weights).exponent);
  }
  const double tail = widened_tail(static_cast<double>(m) - parameters);
  return ConfidenceInterval{percentile(exponents, tail), percentile(exponents, 1 - tail), 0.95};
}

void fit_exponent(GrowthFit& fit, const FitOptions& options) {
  const bool counted = fit.quantity == Quantity::counted;
  const bool constant = counted && fit.best().exact && fit.best().growth->terms.empty();
  PowerLaw law{fit.points.front().value, 0, 0};
  if (!constant)
    law = counted ? fit_exact_power_law(fit.points) : fit_power_law(fit.points, spread_weights(fit.points));
  fit.exponent = law.exponent;
  fit.exponent_intercept = law.intercept;
  fit.exponent_coefficient = law.coefficient;
  fit.loglog_slope = loglog_slope(fit.points);
  if (!counted) fit.exponent_ci = exponent_interval(law, fit.points, options);
}

double exponent_between(const SizePoint& a, const SizePoint& b) {
  return std::log(b.value / a.value) / std::log(b.n / a.n);
}

void find_local_exponents(GrowthFit& fit) {
  const std::vector<SizePoint>& points = fit.points;
  for (std::size_t i = 1; i < points.size(); ++i) {
    fit.local.push_back({std::sqrt(points[i - 1].n * points[i].n), exponent_between(points[i - 1], points[i])});
  }
  const auto distance = [&](const SizePoint& point) { return std::abs(std::log2(point.n * 2 / points.back().n)); };
  const auto half = std::min_element(points.begin(), points.end() - 1,
                                     [&](const SizePoint& a, const SizePoint& b) { return distance(a) < distance(b); });
  fit.last_octave_exponent = exponent_between(*half, points.back());
}

}  // namespace

double relative_spread(std::span<const double> samples) {
  if (samples.empty()) return 0;
  constexpr double kNormalDeviation = 1.4826;   // of the MAD of a normal distribution
  constexpr double kMedianEfficiency = 1.2533;  // sqrt(pi / 2)
  const double deviation = kNormalDeviation * median_absolute_deviation(samples);
  return kMedianEfficiency * deviation / std::sqrt(static_cast<double>(samples.size())) / std::abs(median(samples));
}

std::string GrowthFit::ambiguous() const {
  std::string names;
  for (std::size_t i = 0; i < plausible; ++i) names += fmt::format("{}{}", i == 0 ? "" : "; ", classes[i].growth->name);
  return names;
}

GrowthFit fit_growth(std::span<const SizePoint> points, const FitOptions& options) {
  GrowthFit fit;
  fit.quantity = options.quantity;
  fit.points = joined_by_size(points);
  fit.refused = refusal(fit.points);
  if (!fit.refused.empty()) return fit;
  fit.classes = fit_all(fit.points, options.quantity);
  if (fit.classes.empty()) {
    fit.refused = "the values fall with n, and no class of growth does";
    return fit;
  }
  choose_plausible(fit);
  fit_exponent(fit, options);
  find_local_exponents(fit);
  return fit;
}

std::string verdict(const GrowthFit& fit, std::string_view theory, const Constants& constants) {
  if (!fit.refused.empty()) return "refused: " + fit.refused;
  if (theory.empty()) return "";
  const std::optional<Growth> expected = parse_growth(theory, constants);
  if (!expected) return fmt::format("refused: theory {} is not an expression in n", theory);
  const std::span<const FittedClass> plausible(fit.classes.data(), fit.plausible);
  const auto matches = [&](const FittedClass& one) { return one.growth->leading() == *expected; };
  const bool all = std::all_of(plausible.begin(), plausible.end(), matches);
  const bool any = std::any_of(plausible.begin(), plausible.end(), matches);
  const std::string found = fmt::format("{}, exponent {:.2f}", fit.ambiguous(), fit.exponent);
  if (fit.quantity == Quantity::counted) {
    constexpr double kSameExponent = 0.1;
    const double last = fit.last_octave_exponent;
    const bool same = std::abs(last - expected->local_exponent(fit.points.back().n / std::sqrt(2.0))) <= kSameExponent;
    if (all && same) return "agrees";
    if (same != any)
      return fmt::format("ambiguous: {} over the whole range, exponent {:.2f} in the last octave", found, last);
  } else if (all) {
    return "agrees";
  }
  if (any) return fmt::format("ambiguous: {}", found);
  return fmt::format("differs: {} instead of {}", found, theory);
}

}  // namespace attnscale
