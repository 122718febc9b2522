#include "definitions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

namespace attnscale::test {
namespace {

struct Row {
  const Params& params;
  std::int64_t n;  // keys
  std::int64_t p;  // position of the query
  bool causal;
};
// Group of key j, or -1.
using Definition = std::function<std::int64_t(const Row&, std::int64_t)>;

std::int64_t when(bool visible, std::int64_t j) {
  return visible ? j : -1;
}

std::int64_t in_shifted_window(std::int64_t n, std::int64_t p, std::int64_t j, std::int64_t w, std::int64_t dilation) {
  if (j % dilation != p % dilation) return -1;
  // The window of 2w+1 neighbours in p's residue class that lies inside and whose centre is nearest to p.
  std::vector<std::int64_t> members;
  for (std::int64_t key = p % dilation; key < n; key += dilation) members.push_back(key);
  const auto size = static_cast<std::int64_t>(members.size());
  if (size <= 2 * w + 1) return j;
  std::int64_t centre = p / dilation;
  while (centre - w < 0) ++centre;
  while (centre + w >= size) --centre;
  return when(std::abs(j / dilation - centre) <= w, j);
}

std::int64_t window(const Row& r, std::int64_t j) {
  const std::int64_t w = r.params.integer("w");
  const std::int64_t dilation = r.params.integer("dilation");
  if (r.params.choice("edge") == "shift") return in_shifted_window(r.n, r.p, j, w, dilation);
  for (std::int64_t t = -w; t <= w; ++t) {
    if (j == r.p + t * dilation) return j;
  }
  return -1;
}

std::int64_t window2d(const Row& r, std::int64_t j) {
  std::int64_t height = 1;
  for (std::int64_t h = 1; h * h <= r.n; ++h) {
    if (r.n % h == 0) height = h;
  }
  if (!r.params.is_auto("height"))
    height = r.params.integer("height");
  else if (!r.params.is_auto("width"))
    height = r.n / r.params.integer("width");
  const std::int64_t width = r.n / height;
  const std::int64_t rows = std::abs(j / width - r.p / width);
  const std::int64_t columns = std::abs(j % width - r.p % width);
  return when(std::max(rows, columns) <= r.params.integer("r"), j);
}

std::int64_t longformer(const Row& r, std::int64_t j) {
  const std::int64_t g = r.params.integer("globals");
  const std::int64_t dilation = r.params.integer("dilation");
  const std::int64_t distance = std::abs(j - r.p);
  const bool near = distance % dilation == 0 && distance / dilation <= r.params.integer("w");
  return when(r.p < g || j < g || near, j);
}

std::int64_t strided(const Row& r, std::int64_t j) {
  std::int64_t l = 1;
  while (l * l < r.n) ++l;
  if (!r.params.is_auto("l")) l = r.params.integer("l");
  const std::int64_t distance = std::abs(j - r.p);
  return when(distance <= l || distance % l == 0, j);
}

// Block sizes b, b f, b f^2, ... of a hierarchy.
struct Levels {
  std::int64_t block;
  std::int64_t factor;
};

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (std::int64_t i = 0; i < exponent; ++i) result *= base;
  return result;
}

Levels levels_of(const Params& params, std::int64_t n) {
  const std::int64_t levels = params.integer("levels");
  std::int64_t block = 1;
  while (power(block, levels) < n) ++block;
  if (!params.is_auto("block")) block = params.integer("block");
  const std::int64_t blocks = (n + block - 1) / block;
  std::int64_t factor = 1;
  while (power(factor, levels - 1) < blocks) ++factor;
  return {block, factor};
}

std::int64_t hierarchical(const Row& r, std::int64_t j) {
  const Levels levels = levels_of(r.params, r.n);
  if (j / levels.block == r.p / levels.block) return j;
  std::int64_t size = levels.block;
  for (std::int64_t level = 0; level + 1 < r.params.integer("levels"); ++level) {
    const std::int64_t parent = size * levels.factor;
    if (j / parent == r.p / parent) {
      const bool completed = (j / size + 1) * size <= r.p / size * size;
      // Any number that no other group has: the keys themselves end at n, each level has n numbers of its own.
      return r.causal && !completed ? -1 : (level + 1) * r.n + j / size;
    }
    size = parent;
  }
  return -2;  // the top block holds every key: never reached
}

std::int64_t everything(const Row&, std::int64_t j) {
  return j;
}

const std::map<std::string, Definition>& definitions() {
  static const std::map<std::string, Definition> table = {{"exact.materialized", everything},
                                                          {"exact.streaming", everything},
                                                          {"exact.shared", everything},
                                                          {"window", window},
                                                          {"window2d", window2d},
                                                          {"longformer", longformer},
                                                          {"strided", strided},
                                                          {"hierarchical", hierarchical}};
  return table;
}

}  // namespace

std::optional<std::vector<std::int32_t>> defined_groups(const MethodSpec& spec, const Problem& problem,
                                                        std::int64_t query) {
  const auto definition = definitions().find(std::string(spec.method->name));
  if (definition == definitions().end()) return std::nullopt;
  const Row row{spec.params, problem.shape.keys, query + problem.shape.keys - problem.shape.queries, problem.causal()};
  const bool positional = spec.method->contract != Contract::exact;
  std::vector<std::int32_t> groups(static_cast<std::size_t>(row.n), -1);
  if (positional && row.p < 0) return groups;
  for (std::int64_t j = 0; j < row.n; ++j) {
    if (row.causal && j > row.p) continue;
    groups[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(definition->second(row, j));
  }
  return groups;
}

}  // namespace attnscale::test
