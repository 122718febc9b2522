#include "methods/external.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "methods/catalog.hpp"
#include "methods/patterns.hpp"

namespace attnscale {
namespace {

constexpr std::size_t kLongestName = 64;

// What the catalogue's entry views. It lives in a deque, so it never moves.
struct Kept {
  Method method;
  std::deque<std::string> texts;
  std::vector<ParamSpec> params;

  std::string_view keep(std::string_view text) { return texts.emplace_back(text); }
};

// A spec is typed as name:parameter=value,...; its names must not hold what separates them.
bool can_be_typed(std::string_view name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= kLongestName && std::all_of(name.begin(), name.end(), fits);
}

void check_name(const Method& method) {
  const std::string name(method.name);
  if (!can_be_typed(name) || name == "all") {
    throw InputError(fmt::format(
        "{} brings a method named {}: a name has 1 to {} letters, digits, '.', '_' or '-', and is not 'all'",
        method.origin, quoted(name), kLongestName));
  }
  const Method* taken = find_method(name);
  if (taken == nullptr) return;
  throw InputError(fmt::format("{} brings a method named {}, which {} has already: rename one of the two",
                               method.origin, quoted(name),
                               taken->origin.empty() ? "the program" : std::string(taken->origin)));
}

void check_params(const Method& method) {
  const std::span<const ParamSpec> params = method.params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const std::string_view name = params[i].name;
    const auto same = [&](const ParamSpec& other) { return other.name == name; };
    if (can_be_typed(name) && std::none_of(params.begin(), params.begin() + static_cast<std::ptrdiff_t>(i), same))
      continue;
    throw InputError(
        fmt::format("{} brings the method {} with a parameter named {}: each needs a name of its own, of 1 "
                    "to {} letters, digits, '.', '_' or '-'",
                    method.origin, method.name, quoted(std::string(name)), kLongestName));
  }
  try {
    Params::parse("", params, method.name);  // the defaults
  } catch (const InputError& error) {
    throw InputError(fmt::format("{} declares a default that cannot be: {}", method.origin, error.what()));
  }
}

void check_functions(const Method& method) {
  if (method.plan == nullptr && method.plan_with_threads == nullptr)
    throw InputError(fmt::format("{} brings the method {} without a plan", method.origin, method.name));
  if (method.visible == nullptr && method.contract != Contract::exact) {
    throw InputError(
        fmt::format("{} brings the method {}, which does not see all keys, without saying which: it could "
                    "not be verified",
                    method.origin, method.name));
  }
}

KeyGroups sees_all(const Problem& problem, const Params&, std::span<const std::int32_t>) {
  return methods::visible_where(problem, [](std::int64_t, std::int64_t) { return true; });
}

}  // namespace

const Method& add_method(const Method& method) {
  check_name(method);
  check_params(method);
  check_functions(method);
  static std::deque<Kept> all;
  Kept& kept = all.emplace_back();
  kept.method = method;
  for (std::string_view Method::*text :
       {&Method::name, &Method::summary, &Method::paper, &Method::complexity, &Method::origin})
    kept.method.*text = kept.keep(method.*text);
  for (ParamSpec param : method.params) {
    for (std::string_view ParamSpec::*text :
         {&ParamSpec::name, &ParamSpec::fallback, &ParamSpec::choices, &ParamSpec::doc})
      param.*text = kept.keep(param.*text);
    kept.params.push_back(param);
  }
  kept.method.params = kept.params;
  if (kept.method.visible == nullptr) kept.method.visible = sees_all;
  methods::append_to_catalog(kept.method);
  return kept.method;
}

Plan call_plan(const Cost& cost, std::function<void(const Qkv&, const AttentionOutput&)> call) {
  Plan plan;
  plan.cost = cost;
  const WorkCount work{*cost.visible_pairs, *cost.scored_pairs};
  plan.stages.push_back({"call", 1, [work, call = std::move(call)](const TaskContext& context, std::int64_t) {
                           call(context.in, context.out);
                           context.count->visible_pairs += work.visible_pairs;
                           context.count->scored_pairs += work.scored_pairs;
                         }});
  return plan;
}

Cost external_cost(const Problem& problem, std::int64_t pairs) {
  return methods::static_cost(problem, pairs);
}

std::int64_t all_pairs(const Problem& problem) {
  return problem.allowed_pairs() * methods::head_count(problem);
}

std::string plain_text(const char* text, std::size_t longest) {
  if (text == nullptr) return "";
  std::string plain(text, strnlen(text, longest + 1));
  const bool cut = plain.size() > longest;
  if (cut) plain.resize(longest);
  for (char& c : plain) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) c = ' ';
    if (byte > 0x7e) c = '?';
  }
  return cut ? plain + "..." : plain;
}

}  // namespace attnscale
