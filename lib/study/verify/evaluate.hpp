// Verifies one output of a method and fills the error columns of its record.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/tensor.hpp"
#include "methods/method.hpp"
#include "record/record.hpp"
#include "run/executor.hpp"
#include "study/verify/oracle.hpp"
#include "study/verify/row_error.hpp"

namespace attnscale {

/// What one run of a method left behind.
struct MethodRun {
  MethodSpec spec;
  AttentionOutput out;
  std::span<const std::int32_t> choices;  ///< what a data-dependent method chose
  WorkCount work;
  Cost cost;
};

/// Checks the sampled rows against the fp64 oracle (implementation error, the choice itself, counts) and compares them
/// with exact attention. Returns why the output is incorrect, or nothing. The error columns are filled in either case.
std::optional<std::string> evaluate(const MethodRun& run, Oracle& oracle, Record& record);

/// The errors of these rows, in their order.
std::vector<RowError> row_errors(const MethodRun& run, std::span<const SampledRow> rows, Oracle& oracle);

/// Means and percentiles over averaged rows, extremes over all; what does not apply to the contract stays empty.
void summarise(std::span<const RowError> errors, Contract contract, bool shares_qk, Record& record);

}  // namespace attnscale
