#include "study/expand.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/error.hpp"
#include "inputs/inputs.hpp"
#include "study/identity.hpp"

namespace attnscale {
namespace {

using Sizes = std::vector<std::int64_t>;

Sizes or_else(const Sizes& given, std::int64_t fallback) {
  return given.empty() ? Sizes{fallback} : given;
}

void check_held(std::int64_t asked, std::int64_t held, const char* name, const std::string& input) {
  if (asked <= held) return;
  throw InputError(fmt::format("{} is {}, but {} holds {}: the nearest valid {} is {}", name, asked, input_label(input),
                               held, name, held));
}

// What a file fixes: sizes may be cut in rows and heads, never in width.
void check_against_file(const Problem& problem, const Shape& own) {
  const Shape& s = problem.shape;
  const std::string& input = problem.input;
  check_held(s.queries, own.queries, s.queries == s.keys ? "n" : "queries", input);
  check_held(s.keys, own.keys, s.queries == s.keys ? "n" : "keys", input);
  check_held(problem.first_head + s.heads, own.heads, problem.first_head == 0 ? "heads" : "first-head + heads", input);
  check_held(s.batch, own.batch, "batch", input);
  const auto fixed = [&](std::int64_t asked, std::int64_t held, const char* name) {
    if (asked == held) return;
    throw InputError(fmt::format("{} is {}, but {} has {}: leave {} out", name, asked, input_label(input), held, name));
  };
  fixed(s.dim, own.dim, "dim");
  fixed(s.value_dim, own.value_dim, "value-dim");
  if (s.heads % s.kv_heads == 0) fixed(s.group(), own.group(), "heads per kv-head");
}

std::int64_t own_kv_heads(std::int64_t heads, const std::optional<Shape>& own) {
  if (!own) return heads;
  return std::max<std::int64_t>(1, heads / own->group());
}

class Expansion {
 public:
  void add(const Run& run) {
    std::vector<Problem> problems;
    for (const std::string& input : run.inputs) add_shapes(run, input, problems);
    check_window2d(run, problems);
    for (const Problem& problem : problems) {
      for (const int threads : run.threads) add_cells(run, problem, threads);
    }
  }
  std::vector<Group> take() { return std::move(groups_); }

 private:
  void add_shapes(const Run& run, const std::string& input, std::vector<Problem>& problems) {
    const std::optional<Shape> own = input_shape(input);
    for (const std::int64_t batch : or_else(run.batches, own ? own->batch : 1)) {
      for (const std::int64_t heads : or_else(run.heads, own ? own->heads : 1)) {
        for (const std::int64_t kv_heads : or_else(run.kv_heads, own_kv_heads(heads, own))) {
          for (const std::int64_t dim : or_else(run.dims, own ? own->dim : 64)) {
            for (const std::int64_t value_dim : or_else(run.value_dims, own ? own->value_dim : dim)) {
              add_problems(run, {batch, heads, kv_heads, 0, 0, dim, value_dim}, input, own, problems);
            }
          }
        }
      }
    }
  }

  static void add_problems(const Run& run, Shape shape, const std::string& input, const std::optional<Shape>& own,
                           std::vector<Problem>& problems) {
    for (const Lengths& lengths : run.lengths) {
      if (!own && (lengths.queries == 0 || lengths.keys == 0)) {
        throw InputError(
            fmt::format("the input {} has no length of its own: give n, as in --n 256,512, or name a study", input));
      }
      shape.queries = lengths.queries == 0 ? own->queries : lengths.queries;
      shape.keys = lengths.keys == 0 ? own->keys : lengths.keys;
      for (const double temperature : run.temperatures) {
        for (const std::uint64_t seed : run.seeds) {
          Problem problem{shape, run.causal ? Mask::causal : Mask::none, 0, temperature, seed, input, run.first_head};
          problem.validate();
          if (own) check_against_file(problem, *own);
          problems.push_back(problem);
        }
      }
    }
  }

  // The one method whose parameters may fit no n at all; a single misfit is a row `unsupported`.
  static void check_window2d(const Run& run, const std::vector<Problem>& problems) {
    for (const MethodSpec& spec : run.methods) {
      if (spec.method->name != "window2d") continue;
      const std::int64_t height = spec.params.integer_or("height", 1);
      const std::int64_t width = spec.params.integer_or("width", 1);
      const std::int64_t pixels = height * width;  // n must be a multiple of it, or equal when both are given
      const bool exact = !spec.params.is_auto("height") && !spec.params.is_auto("width");
      const auto fits = [&](const Problem& p) { return exact ? p.shape.keys == pixels : p.shape.keys % pixels == 0; };
      if (std::any_of(problems.begin(), problems.end(), fits)) continue;
      const std::int64_t n = problems.front().shape.keys;
      const std::int64_t nearest = exact ? pixels : std::max<std::int64_t>(1, (n + pixels / 2) / pixels) * pixels;
      throw InputError(fmt::format("{}: no n of the run is height x width, {} is not: the nearest valid n is {}",
                                   spec.str(), n, nearest));
    }
  }

  void add_cells(const Run& run, const Problem& problem, int threads) {
    const std::string conditions = condition_flags(run.options);
    const auto same = [&](const Group& group) {
      return group.problem == problem && group.threads == threads && condition_flags(group.options) == conditions;
    };
    auto group = std::find_if(groups_.begin(), groups_.end(), same);
    if (group == groups_.end()) {
      groups_.push_back({problem, threads, run.options, parse_method("exact.streaming")});
      group = groups_.end() - 1;
    }
    for (const MethodSpec& spec : run.methods) {
      const auto equal = [&](const MethodSpec& other) { return other.str() == spec.str(); };
      if (std::none_of(group->methods.begin(), group->methods.end(), equal)) group->methods.push_back(spec);
    }
  }

  std::vector<Group> groups_;
};

}  // namespace

std::vector<Group> expand(const Study& study) {
  Expansion expansion;
  for (const Run& run : study.runs) expansion.add(run);
  return expansion.take();
}

std::size_t count_cells(const std::vector<Group>& groups) {
  std::size_t cells = 0;
  for (const Group& group : groups) cells += group.methods.size();
  return cells;
}

}  // namespace attnscale
