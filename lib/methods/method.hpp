// A method is a constant value: names, parameters, and functions from a problem to a plan. No class hierarchy.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/params.hpp"
#include "core/problem.hpp"
#include "methods/plan.hpp"

namespace attnscale {

enum class Contract {
  exact,       ///< softmax over all allowed keys
  pruned,      ///< softmax over a subset: mass recall and the certified bound apply
  merged,      ///< keys replaced by summaries
  kernelised,  ///< another operator
};

const char* name_of(Contract contract);

/// One query row of a problem.
struct RowRef {
  BatchIndex batch;
  HeadIndex head;
  std::int64_t query = 0;
};

/// Writes, for one query row, the group of every key: -1 when the row does not see it, else the number of its
/// pseudo-key. In exact and pruned methods every visible key j is its own group j. In merged methods keys of one group
/// stand as one pseudo-key: mean key, mean value, logit + ln(count). Safe to call from several threads at once.
using KeyGroups = std::function<void(RowRef row, std::span<std::int32_t> groups)>;

/// One of ours is a constant in its own file; one from outside (external.hpp) may hold closures.
struct Method {
  std::string_view name;
  std::string_view summary;
  std::string_view paper;
  std::string_view complexity;  ///< "O(n^2)", "O(n w)", ...
  Contract contract = Contract::exact;
  std::span<const ParamSpec> params = {};

  /// Why no problem at all could use these parameters (bad input), or nothing. May be null.
  std::optional<std::string> (*invalid)(const Params&) = nullptr;
  /// Why this problem cannot be done (a row `unsupported`), or nothing. May be null.
  std::function<std::optional<std::string>(const Problem&, const Params&)> unsupported = nullptr;
  Plan (*plan)(const Problem&, const Params&) = nullptr;

  /// The key set of each query row, from the definition; never calls the code that builds spans. Data-dependent methods
  /// read what they reported in `choices`; static ones ignore it. The closure may copy what it needs but outlives
  /// neither the problem nor the choices.
  std::function<KeyGroups(const Problem&, const Params&, std::span<const std::int32_t> choices)> visible = nullptr;
  /// Data-dependent methods: judges the choice itself in fp64 (near ties are free); a sentence when it is wrong.
  std::optional<std::string> (*judge)(const Problem&, const Params&, const Qkv&, std::span<const std::int32_t> choices,
                                      std::span<const RowRef> rows) = nullptr;
  /// True when the keys are the normalised queries (Reformer). Null means never.
  bool (*shared_qk)(const Params&) = nullptr;

  // For methods from outside; external.hpp says more.
  std::string_view origin = {};  ///< the flag that brings it in, as in "--plugin libx.so"; empty: one of ours
  bool gives_lse = true;         ///< false: the output alone is verified
  /// In place of `plan`, for a method that starts its own threads.
  std::function<Plan(const Problem&, const Params&, int threads)> plan_with_threads = nullptr;
};

/// A method with its parameters; `str()` is its identity in every record.
struct MethodSpec {
  const Method* method = nullptr;
  Params params;
  [[nodiscard]] std::string str() const;
  /// A short name for tables and legends, without commas: "window:w=16", "lsh:rounds=4;qk=shared".
  [[nodiscard]] std::string label() const;
  [[nodiscard]] bool shares_qk() const { return method->shared_qk != nullptr && method->shared_qk(params); }
  [[nodiscard]] std::optional<std::string> unsupported(const Problem& problem) const {
    return method->unsupported == nullptr ? std::nullopt : method->unsupported(problem, params);
  }
  [[nodiscard]] Plan plan(const Problem& problem, int threads) const {
    return method->plan != nullptr ? method->plan(problem, params)
                                   : method->plan_with_threads(problem, params, threads);
  }
};

/// All methods: ours in the order of catalog.def, then those from outside in the order in which they came. Valid until
/// the next one comes.
std::span<const Method* const> catalog();

/// Null when there is none of that name.
const Method* find_method(std::string_view name);

/// Parses "window:w=64..512x2,edge=shift" and expands its ranges. Throws InputError for unknown methods and parameters,
/// bad values and combinations that no problem could use.
std::vector<MethodSpec> parse_method(const std::string& spec);

}  // namespace attnscale
