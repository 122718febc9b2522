// The fp64 oracle: naive attention by definition, row by row. It shares no code with the methods or the kernels; the only
// thing it takes from a method is the key set of a row (Method::visible).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/problem.hpp"
#include "methods/method.hpp"

namespace attnscale {

struct ReferenceRow {
  std::vector<double> out;      ///< value_dim
  double lse = 0;               ///< natural; -inf for an empty row
  std::int64_t pseudo_keys = 0; ///< |A(i)|: groups that the row sees
  double out_tolerance = 0;     ///< fp32 tolerance of the 2-norm of the output's error (derivation: reference.cpp)
  double lse_tolerance = 0;
  double largest_value = 0;     ///< max 2-norm of v over all keys allowed by the mask
};

class Reference {
 public:
  /// `shared_qk`: the keys are the normalised queries. The views must outlive the object.
  Reference(const Problem& problem, const Qkv& inputs, bool shared_qk);

  /// Attention of one row over the key groups given (see KeyGroups). Safe from several threads.
  [[nodiscard]] ReferenceRow row(RowRef row, std::span<const std::int32_t> groups) const;

  /// Exact attention of one row: every key that the mask allows.
  [[nodiscard]] ReferenceRow exact_row(RowRef row) const;

  /// The min(count, allowed) keys of largest exact score of a row, best first, ties to the lower index.
  [[nodiscard]] std::vector<std::int32_t> best_keys(RowRef row, std::int64_t count) const;

 private:
  Problem problem_;
  Qkv inputs_;
  bool shared_qk_;
};

/// Key groups of exact attention: the mask alone.
KeyGroups allowed_keys(const Problem& problem);

// Judges of data-dependent choices (Method::judge), in fp64: near ties are free, anything else is a sentence.
std::optional<std::string> judge_topk(const Problem&, const Params&, const Qkv&, std::span<const std::int32_t> choices,
                                      std::span<const RowRef> rows);
std::optional<std::string> judge_select(const Problem&, const Params&, const Qkv&, std::span<const std::int32_t> choices,
                                        std::span<const RowRef> rows);
std::optional<std::string> judge_lsh(const Problem&, const Params&, const Qkv&, std::span<const std::int32_t> choices,
                                     std::span<const RowRef> rows);

}  // namespace attnscale
