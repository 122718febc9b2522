#include "study/verify/oracle.hpp"

#include <cmath>

namespace attnscale {
namespace {

struct Oddities {
  std::int64_t nans = 0;
  std::int64_t infinities = 0;
};

template <class Head>
void count_oddities(const TensorView<const float, Head>& tensor, Oddities& found) {
  for (std::int64_t b = 0; b < tensor.extents.batch; ++b) {
    for (std::int64_t h = 0; h < tensor.extents.heads; ++h) {
      const MatrixView<const float> rows = tensor.matrix(BatchIndex{b}, Head{h});
      for (std::int64_t i = 0; i < rows.rows; ++i) {
        for (std::int64_t c = 0; c < rows.width; ++c) {
          found.nans += std::isnan(rows.row(i)[c]) ? 1 : 0;
          found.infinities += std::isinf(rows.row(i)[c]) ? 1 : 0;
        }
      }
    }
  }
}

}  // namespace

Oracle::Oracle(const Problem& problem, const Qkv& inputs, Executor& executor)
    : problem_(problem), inputs_(inputs), executor_(executor) {
  Oddities found;
  count_oddities(inputs.q, found);
  count_oddities(inputs.k, found);
  count_oddities(inputs.v, found);
  input_nans_ = found.nans;
  finite_inputs_ = found.nans + found.infinities == 0;
}

const Reference& Oracle::reference(bool shared_qk) {
  std::optional<Reference>& reference = references_[shared_qk ? 1 : 0];
  if (!reference) reference.emplace(problem_, inputs_, shared_qk);
  return *reference;
}

void Oracle::prepare(std::span<const SampledRow> rows, bool shared_qk) {
  std::vector<std::pair<RowRef, ExactRow*>> missing;
  for (const SampledRow& row : rows) {
    const auto [at, added] = rows_.try_emplace(key_of(row.ref, shared_qk));
    if (added) missing.emplace_back(row.ref, &at->second);  // nodes of a map stay where they are
  }
  if (missing.empty()) return;
  const Reference& reference = this->reference(shared_qk);
  executor_.parallel_for(static_cast<std::int64_t>(missing.size()), [&](std::int64_t i) {
    const auto& [ref, exact] = missing[static_cast<std::size_t>(i)];
    exact->row = reference.exact_row(ref);
    exact->best = reference.best_keys(ref, kBestKeys);
  });
}

const ExactRow& Oracle::exact(const RowRef& row, bool shared_qk) const {
  return rows_.at(key_of(row, shared_qk));
}

}  // namespace attnscale
