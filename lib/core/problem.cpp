#include "core/problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/numbers.hpp"
#include "core/ranges.hpp"
#include "core/suggest.hpp"

namespace attnscale {
namespace {

constexpr std::int64_t kMostHeads = 1 << 16;
constexpr std::int64_t kWidest = 1 << 16;

void check(std::int64_t value, const char* name, std::int64_t highest) {
  if (value >= 1 && value <= highest) return;
  throw InputError(fmt::format("{} is {}, which is out of range: the nearest valid value is {} (from 1 to {})", name,
                               value, value < 1 ? 1 : highest, highest));
}

}  // namespace

const char* name_of(Mask mask) {
  return mask == Mask::causal ? "causal" : "none";
}

Mask parse_mask(const std::string& text) {
  if (text == "none") return Mask::none;
  if (text == "causal") return Mask::causal;
  const std::vector<std::string> names = {"none", "causal"};
  throw InputError(unknown_name("mask", text, names));
}

void Problem::validate() const {
  check(shape.batch, "batch", kMostHeads);
  check(shape.heads, "heads", kMostHeads);
  check(shape.kv_heads, "kv-heads", kMostHeads);
  check(shape.queries, "queries", kLongestSequence);
  check(shape.keys, "keys", kLongestSequence);
  check(shape.dim, "dim", kWidest);
  check(shape.value_dim, "value-dim", kWidest);
  if (shape.heads % shape.kv_heads != 0) {
    std::int64_t nearest = std::min(shape.kv_heads, shape.heads);
    while (shape.heads % nearest != 0) --nearest;
    throw InputError(
        fmt::format("heads is {}, which is not a multiple of kv-heads {}: the nearest valid kv-heads is {}",
                    shape.heads, shape.kv_heads, nearest));
  }
  if (first_head < 0 || first_head % shape.group() != 0) {
    throw InputError(
        fmt::format("first-head is {}, which is not a multiple of heads / kv-heads = {}: the nearest valid "
                    "value is {}",
                    first_head, shape.group(), std::max<std::int64_t>(first_head, 0) / shape.group() * shape.group()));
  }
  if (!(temperature > 0) || !std::isfinite(temperature)) {
    throw InputError(fmt::format("temperature is {}: give a number above 0", temperature));
  }
  if (scale < 0 || !std::isfinite(scale)) {
    throw InputError(fmt::format("scale is {}: give a number above 0, or 0 for 1/sqrt(dim)", scale));
  }
}

double Problem::score_scale() const {
  const double base = scale != 0 ? scale : 1.0 / std::sqrt(static_cast<double>(shape.dim));
  return base / temperature;
}

std::int64_t Problem::allowed(std::int64_t query) const {
  return causal() ? std::clamp<std::int64_t>(position(query) + 1, 0, shape.keys) : shape.keys;
}

std::int64_t Problem::allowed_pairs() const {
  if (!causal()) return shape.queries * shape.keys;
  // The last query sees every key, the one before it one key fewer, and so on down to none.
  const std::int64_t rows = std::min(shape.queries, shape.keys);
  return rows * shape.keys - rows * (rows - 1) / 2;
}

std::string Problem::str() const {
  return fmt::format(
      "batch={},heads={},kv_heads={},queries={},keys={},dim={},value_dim={},mask={},scale={},temperature={},seed={},"
      "first_head={},input={}",
      shape.batch, shape.heads, shape.kv_heads, shape.queries, shape.keys, shape.dim, shape.value_dim, name_of(mask),
      scale, temperature, seed, first_head, input);
}

Problem Problem::parse(const std::string& text) {
  Problem problem;
  std::string rest = text;
  if (const std::size_t at = text.find("input="); at == 0 || (at != std::string::npos && text[at - 1] == ',')) {
    problem.input = text.substr(at + 6);
    rest = text.substr(0, at == 0 ? 0 : at - 1);
  }
  Shape& s = problem.shape;
  const std::vector<std::string> names = {"batch", "heads", "kv_heads",    "queries", "keys",       "dim",  "value_dim",
                                          "mask",  "scale", "temperature", "seed",    "first_head", "input"};
  const std::vector<std::int64_t*> sizes = {&s.batch, &s.heads, &s.kv_heads, &s.queries, &s.keys, &s.dim, &s.value_dim};
  for (const std::string& field : rest.empty() ? std::vector<std::string>{} : split(rest, ',')) {
    const std::size_t equals = std::min(field.find('='), field.size());
    const std::string name = field.substr(0, equals);
    const std::string value = equals < field.size() ? field.substr(equals + 1) : "";
    const auto index = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (index >= names.size()) throw InputError(unknown_name("problem field", name, names));
    constexpr double kHuge = std::numeric_limits<double>::max();
    if (index < sizes.size()) *sizes[index] = parse_integer(value, name, 1, kLongestSequence);
    if (name == "mask") problem.mask = parse_mask(value);
    if (name == "scale") problem.scale = parse_real(value, name, 0, kHuge);
    if (name == "temperature") problem.temperature = parse_real(value, name, 0, kHuge);
    if (name == "seed")
      problem.seed =
          static_cast<std::uint64_t>(parse_integer(value, name, 0, std::numeric_limits<std::int64_t>::max()));
    if (name == "first_head") problem.first_head = parse_integer(value, name, 0, kMostHeads);
  }
  problem.validate();
  return problem;
}

}  // namespace attnscale
