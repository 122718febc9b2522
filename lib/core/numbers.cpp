#include "core/numbers.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnscale {

std::int64_t parse_integer(const std::string& text, const std::string& what, std::int64_t lowest,
                           std::int64_t highest) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) {
    throw InputError(fmt::format("{} is {}, which is out of range: give a whole number from {} to {}", what,
                                 quoted(text), lowest, highest));
  }
  if (error != std::errc() || stop != end) {
    throw InputError(fmt::format("{} is {}, which is not a whole number: give one from {} to {}", what, quoted(text),
                                 lowest, highest));
  }
  if (value < lowest || value > highest) {
    throw InputError(fmt::format("{} is {}, which is out of range: the nearest valid value is {} (from {} to {})", what,
                                 value, value < lowest ? lowest : highest, lowest, highest));
  }
  return value;
}

double parse_real(const std::string& text, const std::string& what, double lowest, double highest) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) {
    throw InputError(
        fmt::format("{} is {}, which is not a number: give one from {} to {}", what, quoted(text), lowest, highest));
  }
  if (value < lowest || value > highest) {
    throw InputError(fmt::format("{} is {}, which is out of range: the nearest valid value is {} (from {} to {})", what,
                                 value, value < lowest ? lowest : highest, lowest, highest));
  }
  return value;
}

std::int64_t ceil_root(std::int64_t n, int k) {
  const auto reaches = [n, k](std::int64_t b) {
    std::int64_t power = 1;
    for (int i = 0; i < k; ++i) {
      if (power >= ceil_div(n, b)) return true;  // power * b >= n, without overflow
      power *= b;
    }
    return power >= n;
  };
  std::int64_t low = 1;
  std::int64_t high = n;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (reaches(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace attnscale
