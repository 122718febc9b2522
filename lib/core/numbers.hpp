// Whole-number helpers: strict parsing of what users type, and integer roots (never through pow, whose rounding would
// make a block size depend on the math library).
#pragma once

#include <cstdint>
#include <string>

namespace attnscale {

/// Longest sequence the suite accepts: 2^31, so that a key index fits 32 bits everywhere.
inline constexpr std::int64_t kLongestSequence = std::int64_t{1} << 31;

/// Parses a whole decimal number and checks lowest <= value <= highest.
/// Throws InputError with `what` as the name of the thing ("n", "parameter w of window").
std::int64_t parse_integer(const std::string& text, const std::string& what, std::int64_t lowest, std::int64_t highest);

/// Parses a finite real number and checks lowest <= value <= highest; throws InputError like parse_integer.
double parse_real(const std::string& text, const std::string& what, double lowest, double highest);

/// ceil(a / b) for a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// The least b >= 1 with b^k >= n, for 1 <= n <= 2^62 and k >= 1.
std::int64_t ceil_root(std::int64_t n, int k);

}  // namespace attnscale
