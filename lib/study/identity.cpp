#include "study/identity.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "inputs/inputs.hpp"
#include "kernels/strip.hpp"

namespace attnscale {
namespace {

std::string problem_text(Problem problem) {
  problem.input = input_label(problem.input);
  return problem.str();
}

std::string shape_flags(const Problem& problem) {
  const Shape& s = problem.shape;
  std::string flags =
      s.queries == s.keys ? fmt::format(" --n {}", s.keys) : fmt::format(" --queries {} --keys {}", s.queries, s.keys);
  flags += fmt::format(" --dim {} --value-dim {} --heads {} --kv-heads {} --batch {}", s.dim, s.value_dim, s.heads,
                       s.kv_heads, s.batch);
  if (problem.causal()) flags += " --causal";
  if (problem.first_head != 0) flags += fmt::format(" --first-head {}", problem.first_head);
  return flags;
}

}  // namespace

std::string hash_text(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string condition_flags(const RunOptions& options) {
  std::string flags;
  if (!options.simd.empty()) flags += " --simd " + options.simd;
  if (options.cold) flags += " --cache cold";
  if (options.pin) flags += " --pin";
  return flags;
}

std::string cell_id(const Problem& problem, const MethodSpec& spec, int threads, const std::string& input_hash,
                    const std::string& conditions) {
  return hash_text(
      fmt::format("{}\n{}\nthreads={}\n{}{}", problem_text(problem), spec.str(), threads, input_hash, conditions));
}

std::string repro_command(const Group& group, const MethodSpec& spec) {
  const RunOptions& o = group.options;
  std::string command = fmt::format("attnscale run --methods {}{}", spec.str(), shape_flags(group.problem));
  const std::string input = input_label(group.problem.input);
  command +=
      input.find(' ') == std::string::npos ? fmt::format(" --input {}", input) : fmt::format(" --input '{}'", input);
  command += fmt::format(" --temperature {} --seed {} --threads {}", group.problem.temperature, group.problem.seed,
                         group.threads);
  command += fmt::format(" --precision {} --max-time {} --min-rounds {} --cell-budget {}", o.precision, o.max_time_s,
                         o.min_rounds, o.cell_budget_s);
  command += condition_flags(o);
  return spec.method->origin.empty() ? command : command + fmt::format(" {}", spec.method->origin);
}

std::string config_hash(const Group& group) {
  const RunOptions& o = group.options;
  return hash_text(
      fmt::format("{}\nthreads={} precision={} max_time={} min_rounds={} cell_budget={} simd={} cache={} pin={}",
                  problem_text(group.problem), group.threads, o.precision, o.max_time_s, o.min_rounds, o.cell_budget_s,
                  kernels::current_target(), o.cold ? "cold" : "warm", o.pin));
}

}  // namespace attnscale
