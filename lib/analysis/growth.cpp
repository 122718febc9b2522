#include "analysis/growth.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace attnscale {
namespace {

/// Recursive descent over  sum := product {+ product},  product := factor {[* /] factor},  factor := base [^ number].
class Parser {
 public:
  Parser(std::string_view text, const Constants& constants) : text_(text), constants_(constants) {}

  std::optional<Growth> whole() {
    const Growth growth = sum();
    skip_space();
    if (failed_ || at_ != text_.size()) return std::nullopt;
    return growth;
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (peek() == ' ') ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  Growth sum() {
    Growth fastest = product();
    while (!failed_ && (accept('+') || accept('-'))) fastest = std::max(fastest, product());
    return fastest;
  }

  Growth product() {
    Growth total = factor();
    while (!failed_) {
      const bool divides = accept('/');
      if (!divides) accept('*');
      skip_space();
      if (!divides && !starts_factor()) break;
      const Growth next = factor();
      const double sign = divides ? -1 : 1;
      total = {total.power + sign * next.power, total.log + sign * next.log};
    }
    return total;
  }

  [[nodiscard]] bool starts_factor() const {
    return std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '(';
  }

  Growth factor() {
    Growth growth = base();
    if (accept('^')) {
      const double power = exponent();
      growth = {growth.power * power, growth.log * power};
    }
    return growth;
  }

  Growth base() {
    skip_space();
    if (accept('(')) {
      const Growth inside = sum();
      if (!accept(')')) failed_ = true;
      return inside;
    }
    if (!starts_factor()) {
      failed_ = true;
      return {};
    }
    const std::string_view word = name();
    if (word == "n" || word == "N" || word == "n_q" || word == "n_k") return {1, 0};
    if (word == "sqrt") {
      const Growth inside = factor();
      return {inside.power / 2, inside.log / 2};
    }
    // The logarithm of anything that grows like a power grows like lg n.
    if (word == "log" || word == "lg" || word == "ln") return {0, factor().power > 0 ? 1.0 : 0.0};
    return {};
  }

  std::string_view name() {
    const std::size_t start = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '_' || peek() == '.') ++at_;
    return text_.substr(start, at_ - start);
  }

  /// An exponent: a number, a constant, or a bracketed expression of them.
  double exponent() {
    skip_space();
    if (accept('(')) {
      double total = quotient();
      while (!failed_ && accept('+')) total += quotient();
      if (!accept(')')) failed_ = true;
      return total;
    }
    return number();
  }

  double quotient() {
    double value = exponent();
    while (!failed_ && accept('/')) value /= exponent();
    return value;
  }

  double number() {
    const std::string_view word = name();
    for (const auto& [constant, value] : constants_) {
      if (word == constant) return value;
    }
    double value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    failed_ = failed_ || error != std::errc() || stop != word.data() + word.size();
    return value;
  }

  std::string_view text_;
  const Constants& constants_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace

double Growth::at(double n) const {
  return std::pow(n, power) * std::pow(std::log2(n), log);
}

double Growth::local_exponent(double n) const {
  return power + log / std::log(n);
}

std::span<const GrowthClass> growth_classes() {
  static const std::vector<GrowthClass> classes = {
      {"O(1)", {}},
      {"O(lg n)", {{0, 1}}},
      {"O(sqrt n)", {{0.5, 0}}},
      {"O(n)", {{1, 0}}},
      {"O(n lg n)", {{1, 1}}},
      {"O(n^1.5)", {{1.5, 0}}},
      {"O(n^2)", {{2, 0}}},
      {"O(n^2 lg n)", {{2, 1}}},
      {"O(n^3)", {{3, 0}}},
      {"O(n + n lg n)", {{1, 0}, {1, 1}}},
      {"O(n + n^2)", {{1, 0}, {2, 0}}},
      {"O(n) with a step", {{1, 0}}, true},
  };
  return classes;
}

Constants constants_of(std::string_view spec) {
  Constants constants;
  for (std::size_t at = spec.find(':'); at != std::string_view::npos; at = spec.find(',', at + 1)) {
    const std::string_view parameter = spec.substr(at + 1, spec.find(',', at + 1) - at - 1);
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view text = parameter.substr(equals + 1);
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && stop == text.data() + text.size())
      constants.emplace_back(parameter.substr(0, equals), value);
  }
  return constants;
}

std::optional<Growth> parse_growth(std::string_view text, const Constants& constants) {
  const std::size_t start = text.find("O(");
  if (start == std::string_view::npos) return Parser(text, constants).whole();
  std::size_t depth = 0;
  for (std::size_t end = start + 1; end < text.size(); ++end) {
    if (text[end] == '(') ++depth;
    if (text[end] == ')' && --depth == 0) return Parser(text.substr(start + 1, end - start), constants).whole();
  }
  return std::nullopt;
}

}  // namespace attnscale
