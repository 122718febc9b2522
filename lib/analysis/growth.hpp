// Classes of growth: what a time or a count may be fitted by, and what theory says in words such as "O(n w)".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attnscale {

/// n^power (lg n)^log, up to a constant factor.
struct Growth {
  double power = 0;
  double log = 0;
  bool operator==(const Growth&) const = default;
  auto operator<=>(const Growth&) const = default;

  /// n^power (lg n)^log; lg is the logarithm to base 2.
  [[nodiscard]] double at(double n) const;
  /// d ln / d ln n at n: what a local exponent near n should be.
  [[nodiscard]] double local_exponent(double n) const;
};

/// A fitted form: a + sum of c_k g_k(n), the terms in rising order. With `step`, the one term has two coefficients, one
/// up to some n and a larger one beyond it.
struct GrowthClass {
  std::string_view name;
  std::vector<Growth> terms;  ///< none: the constant alone
  bool step = false;
  [[nodiscard]] Growth leading() const { return terms.empty() ? Growth{} : terms.back(); }
};

/// All classes that a fit chooses among, simplest first.
std::span<const GrowthClass> growth_classes();

/// Values of names in exponents: {"levels", 2} for "O(n^(1 + 1/levels))".
using Constants = std::vector<std::pair<std::string, double>>;

/// The numbers among the parameters of a method spec: {"levels", 2} of "hierarchical:block=auto,levels=2".
Constants constants_of(std::string_view spec);

/// Growth in n of an expression such as "O(n sqrt n)", "O(n (w + g))", "n^2 d", "O(n log n)": `n`, `n_q` and `n_k`
/// grow, every other name or number is a constant, a sum grows like its fastest term. Of "O(n^2) time, O(n) memory" the
/// first O(...) is read. Nothing when it cannot be read, or when an exponent holds a name without a value.
std::optional<Growth> parse_growth(std::string_view text, const Constants& constants = {});

}  // namespace attnscale
