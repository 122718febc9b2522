// The shared shape of the methods that run on the strip kernel: query rows are cut into runs, runs into strips of
// strip_width() rows, and for each strip the method lists the keys that its rows see. Threads, scratch memory, causal
// clipping and counting happen here, so that a method says nothing but its pattern. The cut depends on the problem and
// the SIMD width alone.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "core/problem.hpp"
#include "kernels/strip.hpp"
#include "methods/plan.hpp"

namespace attnscale::methods {

/// A run of query rows of one head: first, first + stride, ...; as a strip, lane l is the l-th of them.
struct RowRun {
  BatchIndex batch;
  HeadIndex head;
  KvHeadIndex kv_head;
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;
  std::int64_t first_position = 0;  ///< Problem::position(first)
  [[nodiscard]] std::int64_t row(std::int64_t lane) const { return first + lane * stride; }
  [[nodiscard]] std::int64_t position(std::int64_t lane) const { return first_position + lane * stride; }
};

/// How the query rows of a head are cut. A strip never crosses a run, and a run lies
///  - in one residue class of rows mod `stride` (dilated and strided patterns), and
///  - in one block of `block` positions, when that is above 0 (patterns that change with the query's block; stride 1),
///  and
///  - on one side of row `leading` (rows before it keep stride 1: global rows).
struct RowCut {
  std::int64_t stride = 1;
  std::int64_t block = 0;
  std::int64_t leading = 0;
};

/// Places first <= t < last; empty when last <= first.
struct Interval {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// Matrices that spans point into: keys or summaries, and their values.
struct SpanSource {
  MatrixView<const float> k;
  MatrixView<const float> v;
};

/// Most spans of one strip, and how many of them may differ between lanes (those need lo and hi arrays).
struct SpanCapacity {
  std::int64_t spans = 1;
  std::int64_t per_lane = 1;
};

/// The spans of one strip, in storage of the worker.
class SpanList {
 public:
  SpanList(const Problem& problem, const RowRun& strip, const SpanSource& keys, std::span<kernels::Span> spans,
           std::span<std::int32_t> bounds)
      : problem_(problem), strip_(strip), keys_(keys), spans_(spans), bounds_(bounds) {}

  /// A query at position p sees the keys base + t * stride for t in interval(p), as far as they exist and the mask
  /// allows them. Keys that no lane sees are left out; base >= 0.
  template <class F>
  void add_keys(std::int64_t base, std::int64_t stride, F&& interval) {
    Lanes lanes;
    for (std::int64_t l = 0; l < strip_.count; ++l) {
      lanes[static_cast<std::size_t>(l)] = clip(interval(strip_.position(l)), l, base, stride);
    }
    push(keys_, base, stride, 0, lanes);
  }

  /// A query at position p sees rows interval(p) of `source`, with `log2_bias` on every score; no mask applies. The
  /// intervals must lie within the source.
  template <class F>
  void add_rows(const SpanSource& source, float log2_bias, F&& interval) {
    Lanes lanes;
    for (std::int64_t l = 0; l < strip_.count; ++l) lanes[static_cast<std::size_t>(l)] = interval(strip_.position(l));
    push(source, 0, 1, log2_bias, lanes);
  }

  /// A span as it is.
  void add(const kernels::Span& span);

  [[nodiscard]] std::span<const kernels::Span> spans() const { return spans_.first(size_); }

 private:
  using Lanes = std::array<Interval, kernels::kMaxStrip>;
  [[nodiscard]] Interval clip(Interval wanted, std::int64_t lane, std::int64_t base, std::int64_t stride) const;
  void push(const SpanSource& source, std::int64_t base, std::int64_t stride, float log2_bias, const Lanes& lanes);

  const Problem& problem_;
  const RowRun& strip_;
  SpanSource keys_;
  std::span<kernels::Span> spans_;
  std::span<std::int32_t> bounds_;
  std::size_t size_ = 0;
  std::size_t bounds_used_ = 0;
};

/// Lists what one strip sees. Called from any worker.
using ListSpans = std::function<void(const TaskContext&, const RowRun&, SpanList&)>;

/// The keys and values of the head of a strip, as given.
SpanSource input_keys(const TaskContext& context, const RowRun& rows);

/// The strip with rows[lane] filled in for the kernels; `rows` must outlive it.
kernels::Strip kernel_strip(const TaskContext& context, const RowRun& strip,
                            std::array<std::int32_t, kernels::kMaxStrip>& rows);

/// Counts pairs that were scored and are visible.
void count_attended(const TaskContext& context, std::int64_t pairs);

/// A stage whose tasks are runs of about 128 query rows of a head (causal: longest first); `body` is called once per
/// strip.
Stage strip_stage(std::string_view name, const Problem& problem, const RowCut& cut,
                  std::function<void(const TaskContext&, const RowRun& strip)> body);

/// A strip_stage "attend" that attends to the spans listed and counts the pairs. `resume`: goes on from what an earlier
/// stage left in the output. Its scratch is declared in `layout`.
Stage attend_stage(ScratchLayout& layout, const Problem& problem, const RowCut& cut, SpanCapacity capacity,
                   ListSpans list, bool resume = false);

/// An attend_stage for strips that see one span each, and mostly the same keys: the strips of a run go together.
Stage attend_together_stage(ScratchLayout& layout, const Problem& problem, ListSpans list);

/// The plan of a method with an attend_stage alone.
Plan strip_plan(const Problem& problem, const Cost& cost, const RowCut& cut, SpanCapacity capacity, ListSpans list);

}  // namespace attnscale::methods
