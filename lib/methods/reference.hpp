// The fp64 oracle: naive attention by definition, row by row. It shares no code with the methods or the kernels; the
// only thing it takes from a method is the key set of a row (Method::visible).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/problem.hpp"
#include "methods/method.hpp"

namespace attnscale {

struct ReferenceRow {
  std::vector<double> out;       ///< value_dim
  double lse = 0;                ///< natural; -inf for an empty row
  std::int64_t pseudo_keys = 0;  ///< |A(i)|: groups that the row sees
  double out_tolerance = 0;      ///< fp32 tolerance of the 2-norm of the output's error (derivation: reference.cpp)
  double lse_tolerance = 0;
  double largest_value = 0;  ///< max 2-norm of v over all keys allowed by the mask
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

  /// Score of one key for one row: q.k scale/temperature, whether the row sees the key or not.
  [[nodiscard]] double score(RowRef row, std::int64_t key) const;

 private:
  [[nodiscard]] const double* norms_of_queries(RowRef row) const;
  [[nodiscard]] const double* norms_of_keys(RowRef row) const;
  [[nodiscard]] const double* norms_of_values(RowRef row) const;
  /// Largest 2-norm of a key among those with of_key >= 0.
  [[nodiscard]] double largest_key(RowRef row, const std::vector<std::int32_t>& of_key) const;

  Problem problem_;
  Qkv inputs_;
  bool shared_qk_;
  std::vector<double> query_norms_;  ///< by (batch, head, query); so for keys and values
  std::vector<double> key_norms_;    ///< empty with shared_qk, where keys have norm 1 or 0
  std::vector<double> value_norms_;
};

/// Key groups of exact attention: the mask alone.
KeyGroups allowed_keys(const Problem& problem);

// Judges of data-dependent choices (Method::judge), in fp64: near ties are free, anything else is a sentence.
std::optional<std::string> judge_topk(const Problem&, const Params&, const Qkv&, std::span<const std::int32_t> choices,
                                      std::span<const RowRef> rows);
std::optional<std::string> judge_select(const Problem&, const Params&, const Qkv&,
                                        std::span<const std::int32_t> choices, std::span<const RowRef> rows);
std::optional<std::string> judge_lsh(const Problem&, const Params&, const Qkv&, std::span<const std::int32_t> choices,
                                     std::span<const RowRef> rows);

}  // namespace attnscale
