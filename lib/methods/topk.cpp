// Top-k attention: every query attends to the k keys of largest score, ties to the lower index (Gupta et al. 2021,
// arXiv:2106.06899). All keys are scored, so the cost stays quadratic and the gain is in the weighted sum alone; among
// all sets of k keys this one has the largest softmax mass, so it is the best that any pruned method with k keys could
// do.
//
// A strip selects in a stream over the keys (kernels::select_topk), and the second stage weighs what was selected;
// between the two lie k keys and scores per query row, O(n k).
//
// Plan::choices: [batch][heads][queries][K] key indices in ascending order, K = min(k, n_k), -1 behind the last one. A
// row with a NaN score has no largest ones: it reports one key that scores NaN, and is NaN.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/numbers.hpp"
#include "kernels/strip.hpp"
#include "methods/catalog.hpp"
#include "methods/patterns.hpp"
#include "methods/reference.hpp"
#include "methods/strips.hpp"

namespace attnscale::methods {
namespace {

constexpr std::array kParams = {
    ParamSpec{.name = "k",
              .kind = ParamKind::integer,
              .fallback = "64",
              .lowest = 1,
              .highest = kLongestSequence,
              .doc = "keys per query"},
};

std::int64_t kept_keys(const Problem& problem, const Params& params) {
  return std::min(params.integer("k"), problem.shape.keys);
}

// Selected keys of all rows of the run, row by row.
struct Selection {
  std::int64_t k = 0;
  SharedBuffer<std::int32_t> keys;
  SharedBuffer<float> scores;
  SharedBuffer<std::int32_t> found;
  SharedBuffer<std::int32_t> poison;

  [[nodiscard]] kernels::TopkResult of_rows(const TaskContext& context, std::int64_t first, std::int64_t count) const {
    const auto at = static_cast<std::size_t>(first);
    const auto rows = static_cast<std::size_t>(count);
    const auto many = static_cast<std::size_t>(k);
    return {context.get(keys).subspan(at * many, rows * many), context.get(scores).subspan(at * many, rows * many),
            context.get(found).subspan(at, rows), context.get(poison).subspan(at, rows)};
  }
};

Selection declare_selection(ScratchLayout& layout, const Shape& shape, std::int64_t k) {
  const std::int64_t rows = shape.rows();
  return {k, layout.shared<std::int32_t>(rows * k), layout.shared<float>(rows * k), layout.shared<std::int32_t>(rows),
          layout.shared<std::int32_t>(rows)};
}

std::int64_t flat_row(const Shape& shape, const RowRun& strip) {
  return (strip.batch.value * shape.heads + strip.head.value) * shape.queries + strip.first;
}

// A key that makes the score of a poisoned row NaN.
std::int32_t poisonous_key(const float* q, const MatrixView<const float>& k, std::int64_t allowed) {
  for (std::int64_t j = 0; j < allowed; ++j) {
    float sum = 0;
    for (std::int64_t c = 0; c < k.width; ++c) sum += q[c] * k.row(j)[c];
    if (std::isnan(sum)) return static_cast<std::int32_t>(j);
  }
  return 0;
}

void report(const TaskContext& context, const Problem& problem, const RowRun& strip,
            const kernels::TopkResult& selected, std::int64_t k) {
  const std::int64_t first = flat_row(problem.shape, strip);
  for (std::int64_t l = 0; l < strip.count; ++l) {
    const auto row = context.choices.subspan(static_cast<std::size_t>((first + l) * k), static_cast<std::size_t>(k));
    std::fill(row.begin(), row.end(), -1);
    const auto lane = static_cast<std::size_t>(l);
    if (selected.poison[lane] != 0) {
      row[0] = poisonous_key(context.in.q.matrix(strip.batch, strip.head).row(strip.row(l)),
                             context.in.k.matrix(strip.batch, strip.kv_head), problem.allowed(strip.row(l)));
    } else {
      std::copy_n(&selected.keys[lane * static_cast<std::size_t>(k)], selected.found[lane], row.begin());
    }
  }
}

Stage select_stage(ScratchLayout& layout, const Problem& problem, const Selection& selection) {
  const auto scratch = layout.per_worker<float>(kernels::topk_scratch(problem.shape.dim, selection.k));
  return strip_stage(
      "select", problem, {}, [problem, selection, scratch](const TaskContext& context, const RowRun& strip) {
        std::array<std::int32_t, kernels::kMaxStrip> rows{};
        std::array<std::int32_t, kernels::kMaxStrip> lo{};
        std::array<std::int32_t, kernels::kMaxStrip> hi{};
        std::int64_t most = 0;
        for (std::int64_t l = 0; l < strip.count; ++l) {
          most = std::max(most, problem.allowed(strip.row(l)));
          hi[static_cast<std::size_t>(l)] = static_cast<std::int32_t>(problem.allowed(strip.row(l)));
        }
        const SpanSource keys = input_keys(context, strip);
        kernels::Span span{.k = keys.k.data, .count = most, .k_stride = keys.k.row_stride};
        if (problem.causal()) {
          span.lo = lo.data();
          span.hi = hi.data();
        }
        const kernels::TopkResult selected = selection.of_rows(context, flat_row(problem.shape, strip), strip.count);
        context.count->scored_pairs +=
            kernels::select_topk(kernel_strip(context, strip, rows), span, problem.score_scale(), selection.k, selected,
                                 context.get(scratch));
        if (!context.choices.empty()) report(context, problem, strip, selected, selection.k);
      });
}

Stage weigh_stage(const Problem& problem, const Selection& selection) {
  return strip_stage("attend", problem, {}, [problem, selection](const TaskContext& context, const RowRun& strip) {
    std::array<std::int32_t, kernels::kMaxStrip> rows{};
    const kernels::TopkResult selected = selection.of_rows(context, flat_row(problem.shape, strip), strip.count);
    kernels::attend_selected(kernel_strip(context, strip, rows), input_keys(context, strip).v, selection.k, selected);
    for (std::int64_t l = 0; l < strip.count; ++l) {
      context.count->visible_pairs += selected.found[static_cast<std::size_t>(l)];
    }
  });
}

Plan make_plan(const Problem& problem, const Params& params) {
  const Shape& s = problem.shape;
  const std::int64_t k = kept_keys(problem, params);
  Plan plan;
  const Selection selection = declare_selection(plan.scratch, s, k);
  plan.stages.push_back(select_stage(plan.scratch, problem, selection));
  plan.stages.push_back(weigh_stage(problem, selection));
  plan.choices = s.rows() * k;
  // Rows allow 1, 2, ... keys up to n_k under a causal mask: those below k keep all that they have.
  const std::int64_t fewest = problem.causal() ? std::max<std::int64_t>(s.keys - s.queries + 1, 1) : s.keys;
  const std::int64_t short_rows = std::max<std::int64_t>(k - fewest, 0);
  const std::int64_t rows = problem.causal() ? std::min(s.queries, s.keys) : s.queries;
  const std::int64_t pairs = rows * k - short_rows * (short_rows + 1) / 2;
  plan.cost.visible_pairs = head_count(problem) * pairs;
  plan.cost.scored_pairs = head_count(problem) * problem.allowed_pairs();
  plan.cost.bytes_moved = compulsory_bytes(problem) + 2 * plan.scratch.shared_bytes();
  plan.cost.exact_fallback = k == s.keys;
  return plan;
}

KeyGroups visible(const Problem& problem, const Params& params, std::span<const std::int32_t> choices) {
  const auto k = static_cast<std::size_t>(kept_keys(problem, params));
  return [shape = problem.shape, k, choices](RowRef row, std::span<std::int32_t> groups) {
    std::fill(groups.begin(), groups.end(), -1);
    const auto flat =
        static_cast<std::size_t>((row.batch.value * shape.heads + row.head.value) * shape.queries + row.query);
    for (const std::int32_t key : choices.subspan(flat * k, k)) {
      if (key >= 0) groups[static_cast<std::size_t>(key)] = key;
    }
  };
}

}  // namespace

const Method topk = {
    .name = "topk",
    .summary = "the k keys of largest score: the best pruned attention of its size, at quadratic cost",
    .paper = "Gupta et al. 2021, arXiv:2106.06899",
    .complexity = "O(n^2)",
    .contract = Contract::pruned,
    .params = kParams,
    .plan = make_plan,
    .visible = visible,
    .judge = judge_topk,
};

}  // namespace attnscale::methods
