#include "study/verify/evaluate.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include <fmt/format.h>

namespace attnscale {
namespace {

std::string place_of(const RowRef& row) {
  return fmt::format("batch {}, head {}, query {}", row.batch.value, row.head.value, row.query);
}

std::span<const float> row_of(const OutputView& view, const RowRef& row) {
  const MatrixView<float> rows = view.matrix(row.batch, row.head);
  return {rows.row(row.query), static_cast<std::size_t>(rows.width)};
}

// Not every row is sampled, but a value that is no number is looked for in all of them.
std::optional<std::string> find_not_finite(const MethodRun& run, Oracle& oracle) {
  const AttentionOutput& output = run.out;
  const bool gives_lse = run.spec.method->gives_lse;
  const Shape& s = oracle.problem().shape;
  std::atomic<std::int64_t> first{s.rows()};
  oracle.parallel_for(s.batch * s.heads, [&](std::int64_t matrix) {
    for (std::int64_t i = 0; i < s.queries; ++i) {
      const RowRef ref{BatchIndex{matrix / s.heads}, HeadIndex{matrix % s.heads}, i};
      const std::span<const float> out = row_of(output.out, ref);
      const float lse = gives_lse ? row_of(output.lse, ref)[0] : 0;
      const bool finite = std::all_of(out.begin(), out.end(), [](float x) { return std::isfinite(x); });
      if (finite && (std::isfinite(lse) || (std::isinf(lse) && lse < 0))) continue;
      const std::int64_t row = matrix * s.queries + i;
      for (std::int64_t seen = first; row < seen && !first.compare_exchange_weak(seen, row);) {
      }
      return;
    }
  });
  if (first == s.rows()) return std::nullopt;
  const std::int64_t row = first;
  const RowRef ref{BatchIndex{row / s.queries / s.heads}, HeadIndex{row / s.queries % s.heads}, row % s.queries};
  return fmt::format("the output of finite inputs is not finite ({}): overflow of fp32", place_of(ref));
}

std::optional<std::string> find_wrong_row(std::span<const RowError> errors, std::span<const SampledRow> rows) {
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (errors[i].overflow) return fmt::format("scores overflow fp32 ({})", place_of(rows[i].ref));
    if (!(errors[i].impl_ratio <= 1)) {
      return fmt::format("row error is {:.3g} times its fp32 tolerance ({})", errors[i].impl_ratio,
                         place_of(rows[i].ref));
    }
  }
  return std::nullopt;
}

std::optional<std::string> find_broken_bound(std::span<const RowError> errors, std::span<const SampledRow> rows) {
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!errors[i].empty && !errors[i].bound_held) {
      return fmt::format("the certified error bound is violated ({})", place_of(rows[i].ref));
    }
  }
  return std::nullopt;
}

// The pairs that the method says it processed against its closed form, and against the definition when all rows were
// checked.
std::optional<std::string> find_wrong_count(const MethodRun& run, std::span<const RowError> errors,
                                            const Shape& shape) {
  const auto differs = [](const char* what, std::int64_t counted, std::int64_t expected) {
    return fmt::format("{} {} pairs were processed, but the definition has {}", counted, what, expected);
  };
  const Cost& cost = run.cost;
  if (cost.visible_pairs && *cost.visible_pairs != run.work.visible_pairs) {
    return differs("visible", run.work.visible_pairs, *cost.visible_pairs);
  }
  if (cost.scored_pairs && *cost.scored_pairs != run.work.scored_pairs) {
    return differs("scored", run.work.scored_pairs, *cost.scored_pairs);
  }
  if (static_cast<std::int64_t>(errors.size()) != shape.rows()) return std::nullopt;
  std::int64_t visible = 0;
  for (const RowError& error : errors) visible += error.pseudo_keys;
  if (visible != run.work.visible_pairs) return differs("visible", run.work.visible_pairs, visible);
  return std::nullopt;
}

std::optional<std::string> judge_choice(const MethodRun& run, std::span<const SampledRow> rows, Oracle& oracle) {
  constexpr std::size_t kRowsPerTask = 64;
  const std::size_t tasks = (rows.size() + kRowsPerTask - 1) / kRowsPerTask;
  std::vector<std::optional<std::string>> reasons(tasks);
  oracle.parallel_for(static_cast<std::int64_t>(tasks), [&](std::int64_t task) {
    const std::size_t begin = static_cast<std::size_t>(task) * kRowsPerTask;
    std::vector<RowRef> refs;
    for (std::size_t i = begin; i < std::min(rows.size(), begin + kRowsPerTask); ++i) refs.push_back(rows[i].ref);
    reasons[static_cast<std::size_t>(task)] =
        run.spec.method->judge(oracle.problem(), run.spec.params, oracle.inputs(), run.choices, refs);
  });
  for (const auto& reason : reasons) {
    if (reason) return reason;
  }
  return std::nullopt;
}

}  // namespace

std::vector<RowError> row_errors(const MethodRun& run, std::span<const SampledRow> rows, Oracle& oracle) {
  const bool shared = run.spec.shares_qk();
  oracle.prepare(rows, false);
  if (shared) oracle.prepare(rows, true);
  const Reference& reference = oracle.reference(shared);
  const KeyGroups visible = run.spec.method->visible(oracle.problem(), run.spec.params, run.choices);
  std::vector<RowError> errors(rows.size());
  oracle.parallel_for(static_cast<std::int64_t>(rows.size()), [&](std::int64_t at) {
    const auto i = static_cast<std::size_t>(at);
    const RowRef& ref = rows[i].ref;
    std::vector<std::int32_t> groups(static_cast<std::size_t>(oracle.problem().shape.keys), -1);
    visible(ref, groups);
    const ReferenceRow own = reference.row(ref, groups);
    std::optional<float> lse;
    if (run.spec.method->gives_lse) lse = row_of(run.out.lse, ref)[0];
    errors[i] =
        row_error({row_of(run.out.out, ref), lse, &own, &oracle.exact(ref, false), &oracle.exact(ref, shared), groups});
    errors[i].averaged = rows[i].averaged;
  });
  return errors;
}

std::optional<std::string> evaluate(const MethodRun& run, Oracle& oracle, Record& record) {
  const std::vector<SampledRow> rows = sample_rows(oracle.problem(), run.spec);
  const std::vector<RowError> errors = row_errors(run, rows, oracle);
  summarise(errors, run.spec.method->contract, run.spec.shares_qk(), record);
  if (!run.spec.method->gives_lse) {
    record.lse_error.reset();
    record.reason = "it gives no log-sum-exp: its output alone was verified";
  }
  std::optional<std::string> wrong;
  if (oracle.finite_inputs()) wrong = find_not_finite(run, oracle);
  if (!wrong) wrong = find_wrong_row(errors, rows);
  if (run.spec.method->judge != nullptr) {
    const auto misjudged = judge_choice(run, rows, oracle);
    record.choice_ok = !misjudged;
    if (!wrong) wrong = misjudged;
  }
  if (!wrong && run.spec.method->contract == Contract::pruned) wrong = find_broken_bound(errors, rows);
  if (!wrong) wrong = find_wrong_count(run, errors, oracle.problem().shape);
  return wrong;
}

}  // namespace attnscale
