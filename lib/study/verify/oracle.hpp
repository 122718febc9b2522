// The fp64 side of a problem: references and exact rows, computed once and shared by all methods that run on it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "methods/reference.hpp"
#include "run/executor.hpp"
#include "study/verify/rows.hpp"

namespace attnscale {

/// Keys that top-64 recall looks for.
inline constexpr std::int64_t kBestKeys = 64;

struct ExactRow {
  ReferenceRow row;
  std::vector<std::int32_t> best;  ///< the min(64, allowed) keys of largest exact score
};

class Oracle {
 public:
  /// The views and the executor must outlive the object.
  Oracle(const Problem& problem, const Qkv& inputs, Executor& executor);

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const Qkv& inputs() const { return inputs_; }
  [[nodiscard]] bool finite_inputs() const { return finite_inputs_; }
  [[nodiscard]] std::int64_t input_nans() const { return input_nans_; }

  /// `shared_qk`: attention with k := q / norm(q).
  const Reference& reference(bool shared_qk);

  /// Computes what is missing of these exact rows, in parallel.
  void prepare(std::span<const SampledRow> rows, bool shared_qk);
  /// A row that was prepared.
  [[nodiscard]] const ExactRow& exact(const RowRef& row, bool shared_qk) const;

  void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body) {
    executor_.parallel_for(count, body);
  }

 private:
  using Key = std::tuple<bool, std::int64_t, std::int64_t, std::int64_t>;
  static Key key_of(const RowRef& row, bool shared_qk) {
    return {shared_qk, row.batch.value, row.head.value, row.query};
  }

  Problem problem_;
  Qkv inputs_;
  Executor& executor_;
  bool finite_inputs_ = true;
  std::int64_t input_nans_ = 0;
  std::array<std::optional<Reference>, 2> references_;
  std::map<Key, ExactRow> rows_;
};

}  // namespace attnscale
