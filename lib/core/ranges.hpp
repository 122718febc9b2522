// The range grammar that flags, TOML files and method parameters share:
//   a        one value              a..bxf    a, a*f, a*f^2, ... <= b
//   a,b,c    a list (see below)     a..b+s    a, a+s, ... <= b
//   a..b@k   k sizes per octave from a to b, each rounded to a multiple of 16
// Lists are separated by ',' on the command line and by '/' inside a method spec, which holds commas of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attnscale {

struct Bounds {
  std::int64_t lowest;
  std::int64_t highest;
};

/// Expands a range to its values in ascending order of appearance, without repetitions.
/// Throws InputError naming `what` for an empty, descending, malformed or out-of-bounds range, or one of over 4096
/// values.
std::vector<std::int64_t> parse_range(const std::string& text, const std::string& what, Bounds bounds,
                                      char separator = ',');

/// Splits at every separator; an empty text gives one empty part.
std::vector<std::string> split(const std::string& text, char separator);

}  // namespace attnscale
