#include "core/ranges.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/numbers.hpp"

namespace attnscale {
namespace {

constexpr std::size_t kMostValues = 4096;

struct Sweep {
  std::int64_t first;
  std::int64_t last;
  char kind;  // 'x' factor, '+' step, '@' sizes per octave
  std::int64_t by;
};

void append(std::vector<std::int64_t>& values, std::int64_t value, const std::string& what) {
  if (std::find(values.begin(), values.end(), value) != values.end()) return;
  if (values.size() >= kMostValues) {
    throw InputError(fmt::format("{} expands to more than {} values: use a larger step or factor", what, kMostValues));
  }
  values.push_back(value);
}

Sweep parse_sweep(const std::string& text, const std::string& what, Bounds bounds) {
  const std::size_t dots = text.find("..");
  const std::string tail = text.substr(dots + 2);
  const std::size_t mark = tail.find_first_of("x+@*");
  if (mark == std::string::npos) {
    const auto [low, high] = std::minmax({parse_integer(text.substr(0, dots), what, bounds.lowest, bounds.highest),
                                          parse_integer(tail, what, bounds.lowest, bounds.highest)});
    throw InputError(
        fmt::format("{} is {}, a range without a step: write {}..{}x2 (factor), ..{}+16 (step) or ..{}@2 "
                    "(sizes per octave)",
                    what, quoted(text), low, high, high, high));
  }
  const char kind = tail[mark] == '*' ? 'x' : tail[mark];
  Sweep sweep{parse_integer(text.substr(0, dots), what, bounds.lowest, bounds.highest),
              parse_integer(tail.substr(0, mark), what, bounds.lowest, bounds.highest), kind, 0};
  const std::int64_t least = kind == 'x' ? 2 : 1;
  const std::int64_t most = kind == '@' ? 64 : kLongestSequence;
  sweep.by = parse_integer(tail.substr(mark + 1), fmt::format("the step of {}", what), least, most);
  if (sweep.last < sweep.first) {
    throw InputError(fmt::format("{} is {}, which runs downwards: write {}..{}{}{}", what, quoted(text), sweep.last,
                                 sweep.first, kind, sweep.by));
  }
  return sweep;
}

void expand_octaves(const Sweep& sweep, std::vector<std::int64_t>& values, const std::string& what) {
  constexpr std::int64_t kMultiple = 16;
  for (std::int64_t step = 0;; ++step) {
    const double exact =
        static_cast<double>(sweep.first) * std::exp2(static_cast<double>(step) / static_cast<double>(sweep.by));
    if (exact > static_cast<double>(sweep.last) * (1 + 1e-9)) break;
    const auto rounded = std::max<std::int64_t>(1, std::llround(exact / kMultiple)) * kMultiple;
    append(values, std::clamp(rounded, sweep.first, sweep.last), what);
  }
}

void expand(const std::string& text, std::vector<std::int64_t>& values, const std::string& what, Bounds bounds) {
  if (text.find("..") == std::string::npos) {
    append(values, parse_integer(text, what, bounds.lowest, bounds.highest), what);
    return;
  }
  const Sweep sweep = parse_sweep(text, what, bounds);
  if (sweep.kind != '+' && sweep.first <= 0) {
    throw InputError(fmt::format("{} is {}: a range by factor or by octaves starts at 1 or more", what, quoted(text)));
  }
  if (sweep.kind == '@') return expand_octaves(sweep, values, what);
  for (std::int64_t value = sweep.first; value <= sweep.last;) {
    append(values, value, what);
    if (sweep.kind == 'x' && value > sweep.last / sweep.by) break;
    value = sweep.kind == 'x' ? value * sweep.by : value + sweep.by;
  }
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t at = text.find(separator); at != std::string::npos; at = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<std::int64_t> parse_range(const std::string& text, const std::string& what, Bounds bounds, char separator) {
  std::vector<std::int64_t> values;
  for (const std::string& part : split(text, separator)) expand(part, values, what, bounds);
  return values;
}

}  // namespace attnscale
