#include "methods/strips.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/numbers.hpp"

namespace attnscale::methods {
namespace {

using kernels::kMaxStrip;
using kernels::Span;

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -ceil_div(-a, b);
}

/// Query rows of a task: about 128, in whole strips.
std::int64_t task_rows() {
  const std::int64_t width = kernels::strip_width();
  return width * std::max<std::int64_t>(1, 128 / width);
}

/// The same for strips that go together. The more they are, the less of K and V each fetches for the others (256 rows
/// instead of 128 take 0.97 of the time at d = 128, n = 16384), but a head must give work to many threads.
std::int64_t rows_together(const Problem& problem) {
  constexpr std::int64_t kMostRows = 256, kTasks = 16;
  const std::int64_t width = kernels::strip_width(), most = kernels::kMostTogether * width;
  return std::min(most, problem.shape.queries >= kTasks * kMostRows ? kMostRows / width * width : task_rows());
}

/// The runs of one head. A run holds at most `piece` rows; several short runs make up one task.
class Runs {
 public:
  Runs(const Problem& problem, const RowCut& cut, std::int64_t piece)
      : cut_(cut), queries_(problem.shape.queries), offset_(problem.position(0)), piece_(piece) {
    assert(cut.stride >= 1 && (cut.block == 0 || (cut.stride == 1 && cut.leading == 0)));
    cut_.leading = std::clamp<std::int64_t>(cut.leading, 0, queries_);
    leading_runs_ = ceil_div(cut_.leading, piece_);
    const std::int64_t rest = queries_ - cut_.leading;
    parts_ = cut.block > 0 ? floor_div(offset_ + queries_ - 1, cut.block) - floor_div(offset_, cut.block) + 1
                           : std::min(cut.stride, rest);
    longest_ = cut.block > 0 ? std::min(cut.block, rest) : ceil_div(rest, cut.stride);
    rest_runs_ = parts_ * ceil_div(longest_, piece_);
    per_task_ = std::max<std::int64_t>(1, piece_ / std::max<std::int64_t>(1, longest_));
  }

  [[nodiscard]] std::int64_t tasks() const { return leading_runs_ + ceil_div(rest_runs_, per_task_); }

  /// Calls body(first, stride, count) for each run of a task.
  template <class F>
  void for_each(std::int64_t task, F&& body) const {
    if (task < leading_runs_) {
      body(task * piece_, std::int64_t{1}, std::min(piece_, cut_.leading - task * piece_));
      return;
    }
    const std::int64_t begin = (task - leading_runs_) * per_task_;
    for (std::int64_t run = begin; run < std::min(begin + per_task_, rest_runs_); ++run) {
      const auto [first, count] = cut_.block > 0 ? in_block(run) : in_class(run);
      if (count > 0) body(first, cut_.stride, count);
    }
  }

 private:
  using Part = std::pair<std::int64_t, std::int64_t>;

  [[nodiscard]] Part in_block(std::int64_t run) const {
    const std::int64_t pieces = rest_runs_ / parts_;
    const std::int64_t block_row = (floor_div(offset_, cut_.block) + run / pieces) * cut_.block - offset_;
    const std::int64_t first = std::max<std::int64_t>(block_row, 0) + run % pieces * piece_;
    return {first, std::min(piece_, std::min(block_row + cut_.block, queries_) - first)};
  }

  /// Runs of later rows come later in all classes together, so that the reversed order is longest first under a causal
  /// mask.
  [[nodiscard]] Part in_class(std::int64_t run) const {
    const std::int64_t skipped = run / parts_ * piece_;
    const std::int64_t start = cut_.leading + run % parts_;
    const std::int64_t length = ceil_div(queries_ - start, cut_.stride);
    return {start + skipped * cut_.stride, std::min(piece_, length - skipped)};
  }

  RowCut cut_;
  std::int64_t queries_;
  std::int64_t offset_;
  std::int64_t piece_;
  std::int64_t leading_runs_ = 0;
  std::int64_t parts_ = 0;  ///< residue classes or blocks
  std::int64_t longest_ = 0;
  std::int64_t rest_runs_ = 0;
  std::int64_t per_task_ = 1;
};

/// A stage whose tasks are runs of about `piece` query rows of a head (causal: longest first); `body` is called once
/// per run.
Stage run_stage(std::string_view name, const Problem& problem, const RowCut& cut, std::int64_t piece,
                std::function<void(const TaskContext&, const RowRun& run)> body) {
  const Runs runs(problem, cut, piece);
  const std::int64_t per_head = runs.tasks();
  const Shape& shape = problem.shape;
  const auto run_task = [problem, runs, per_head, body = std::move(body)](const TaskContext& context,
                                                                          std::int64_t task) {
    const std::int64_t at = task % per_head;
    RowRun run;
    run.batch = BatchIndex{task / per_head / problem.shape.heads};
    run.head = HeadIndex{task / per_head % problem.shape.heads};
    run.kv_head = problem.shape.kv_head(run.head);
    runs.for_each(problem.causal() ? per_head - 1 - at : at,
                  [&](std::int64_t first, std::int64_t stride, std::int64_t count) {
                    run.stride = stride;
                    run.first = first;
                    run.count = count;
                    run.first_position = problem.position(first);
                    body(context, run);
                  });
  };
  return {name, shape.batch * shape.heads * per_head, run_task};
}

/// Calls body(strip) for the strips of a run, in order.
template <class F>
void for_each_strip(const Problem& problem, const RowRun& run, F&& body) {
  const std::int64_t width = kernels::strip_width();
  RowRun strip = run;
  for (std::int64_t done = 0; done < run.count; done += width) {
    strip.first = run.row(done);
    strip.count = std::min(width, run.count - done);
    strip.first_position = problem.position(strip.first);
    body(strip);
  }
}

}  // namespace

Interval SpanList::clip(Interval wanted, std::int64_t lane, std::int64_t base, std::int64_t stride) const {
  const std::int64_t allowed = problem_.allowed(strip_.row(lane));
  const std::int64_t end = allowed > base ? ceil_div(allowed - base, stride) : 0;
  return {std::max<std::int64_t>(wanted.first, 0), std::min(wanted.last, end)};
}

void SpanList::push(const SpanSource& source, std::int64_t base, std::int64_t stride, float log2_bias,
                    const Lanes& lanes) {
  const std::span<const Interval> used(lanes.data(), static_cast<std::size_t>(strip_.count));
  Interval all{};
  for (const Interval& lane : used) {
    if (lane.last <= lane.first) continue;
    all = all.last <= all.first ? lane : Interval{std::min(all.first, lane.first), std::max(all.last, lane.last)};
  }
  if (all.last <= all.first) return;
  Span span;
  span.k = source.k.row(base + all.first * stride);
  span.v = source.v.row(base + all.first * stride);
  span.count = all.last - all.first;
  span.k_stride = stride * source.k.row_stride;
  span.v_stride = stride * source.v.row_stride;
  span.log2_bias = log2_bias;
  const bool same = std::all_of(used.begin(), used.end(),
                                [&](const Interval& lane) { return lane.first == all.first && lane.last == all.last; });
  if (!same) {
    assert(bounds_used_ + 2 * kMaxStrip <= bounds_.size());
    std::int32_t* lo = bounds_.data() + bounds_used_;
    std::int32_t* hi = lo + kMaxStrip;
    bounds_used_ += 2 * kMaxStrip;
    std::fill_n(lo, 2 * kMaxStrip, 0);
    for (std::size_t l = 0; l < used.size(); ++l) {
      if (used[l].last <= used[l].first) continue;
      lo[l] = static_cast<std::int32_t>(used[l].first - all.first);
      hi[l] = static_cast<std::int32_t>(used[l].last - all.first);
    }
    span.lo = lo;
    span.hi = hi;
  }
  add(span);
}

void SpanList::add(const Span& span) {
  assert(size_ < spans_.size());
  spans_[size_++] = span;
}

SpanSource input_keys(const TaskContext& context, const RowRun& rows) {
  return {context.in.k.matrix(rows.batch, rows.kv_head), context.in.v.matrix(rows.batch, rows.kv_head)};
}

kernels::Strip kernel_strip(const TaskContext& context, const RowRun& strip,
                            std::array<std::int32_t, kMaxStrip>& rows) {
  for (std::int64_t l = 0; l < strip.count; ++l) {
    rows[static_cast<std::size_t>(l)] = static_cast<std::int32_t>(strip.row(l));
  }
  kernels::Strip result;
  result.q = context.in.q.matrix(strip.batch, strip.head);
  result.out = context.out.out.matrix(strip.batch, strip.head);
  result.lse = context.out.lse.matrix(strip.batch, strip.head);
  result.rows = rows.data();
  result.count = static_cast<int>(strip.count);
  return result;
}

void count_attended(const TaskContext& context, std::int64_t pairs) {
  context.count->visible_pairs += pairs;
  context.count->scored_pairs += pairs;
}

Stage strip_stage(std::string_view name, const Problem& problem, const RowCut& cut,
                  std::function<void(const TaskContext&, const RowRun& strip)> body) {
  return run_stage(name, problem, cut, task_rows(),
                   [problem, body = std::move(body)](const TaskContext& context, const RowRun& run) {
                     for_each_strip(problem, run, [&](const RowRun& strip) { body(context, strip); });
                   });
}

Stage attend_stage(ScratchLayout& layout, const Problem& problem, const RowCut& cut, SpanCapacity capacity,
                   ListSpans list, bool resume) {
  const auto spans = layout.per_worker<Span>(capacity.spans);
  const auto bounds = layout.per_worker<std::int32_t>(capacity.per_lane * 2 * kMaxStrip);
  const auto scratch = layout.per_worker<float>(kernels::attend_scratch(problem.shape.dim, problem.shape.value_dim));
  const auto body = [=, list = std::move(list)](const TaskContext& context, const RowRun& strip) {
    SpanList listed(problem, strip, input_keys(context, strip), context.get(spans), context.get(bounds));
    list(context, strip, listed);
    if (resume && listed.spans().empty()) return;
    std::array<std::int32_t, kMaxStrip> rows{};
    kernels::Strip kernel = kernel_strip(context, strip, rows);
    kernel.resume = resume;
    count_attended(context, kernels::attend(kernel, listed.spans(), problem.score_scale(), context.get(scratch)));
  };
  return strip_stage("attend", problem, cut, body);
}

Stage attend_together_stage(ScratchLayout& layout, const Problem& problem, ListSpans list) {
  const std::int64_t piece = rows_together(problem);
  const std::int64_t most = piece / kernels::strip_width();
  const auto bounds = layout.per_worker<std::int32_t>(most * 2 * kMaxStrip);
  const auto scratch =
      layout.per_worker<float>(kernels::attend_block_scratch(problem.shape.dim, problem.shape.value_dim, most));
  const auto body = [=, list = std::move(list)](const TaskContext& context, const RowRun& run) {
    std::array<kernels::Strip, kernels::kMostTogether> strips;
    std::array<std::array<std::int32_t, kMaxStrip>, kernels::kMostTogether> rows;
    std::array<Span, kernels::kMostTogether> spans;
    std::size_t used = 0;
    for_each_strip(problem, run, [&](const RowRun& strip) {
      const auto own_bounds = context.get(bounds).subspan(used * 2 * kMaxStrip, 2 * kMaxStrip);
      spans[used] = {};  // stays empty for a strip that sees nothing
      SpanList listed(problem, strip, input_keys(context, strip), std::span(spans).subspan(used, 1), own_bounds);
      list(context, strip, listed);
      strips[used] = kernel_strip(context, strip, rows[used]);
      ++used;
    });
    count_attended(context, kernels::attend_block(std::span(strips).first(used), std::span(spans).first(used),
                                                  problem.score_scale(), context.get(scratch)));
  };
  return run_stage("attend", problem, {}, piece, body);
}

Plan strip_plan(const Problem& problem, const Cost& cost, const RowCut& cut, SpanCapacity capacity, ListSpans list) {
  Plan plan;
  plan.cost = cost;
  plan.stages.push_back(attend_stage(plan.scratch, problem, cut, capacity, std::move(list)));
  return plan;
}

}  // namespace attnscale::methods
