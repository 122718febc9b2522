// One method of a plugin, called through its C functions: our types in and out, and everything that comes back checked.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/params.hpp"
#include "core/problem.hpp"
#include "methods/method.hpp"
#include "plugin/attnscale_plugin.h"

namespace attnscale {

/// Every function throws PluginError when the plugin fails or answers what cannot be.
class PluginMethod {
 public:
  /// `table` has all the functions that it must have; `params` are the names of its parameters.
  PluginMethod(const attnscale_method& table, std::vector<std::string> params)
      : table_(table), params_(std::move(params)) {}

  [[nodiscard]] std::optional<std::string> unsupported(const Problem& problem, const Params& params) const;
  /// The plan holds what the plugin prepared, and gives it back when it goes; the plugin's table must outlive it.
  [[nodiscard]] Plan plan(const Problem& problem, const Params& params, int threads) const;
  /// Keys that the mask hides are left out, whatever the plugin says.
  [[nodiscard]] KeyGroups visible(const Problem& problem, const Params& params) const;

 private:
  [[nodiscard]] Cost cost(const Problem& problem, const attnscale_problem& asked, const std::int64_t* values) const;
  [[nodiscard]] std::vector<std::int64_t> values_of(const Params& params) const;

  attnscale_method table_;
  std::vector<std::string> params_;
};

}  // namespace attnscale
