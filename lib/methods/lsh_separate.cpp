// LSH attention with hashes of queries and keys of their own: in each round a query sees the keys of its bucket.
// Queries and keys are sorted by (bucket, position), and strips of neighbouring queries in sorted order attend to the
// interval of keys that their buckets take; inside a bucket keys ascend, so a causal mask cuts the interval short.
// Later rounds go on from the output of the earlier ones and hide the pairs that those have met. The kernel reads keys
// and values where they lie: gathering them in sorted order first took 26 ms where this takes 19 (n = 16384), for a
// bucket is read by no more than a few strips.
//
// scored_pairs: over rounds, pairs of one bucket that the mask allows, repetitions included.
#include <algorithm>
#include <array>

#include "core/numbers.hpp"
#include "kernels/strip.hpp"
#include "methods/counting_sort.hpp"
#include "methods/lsh_hash.hpp"
#include "methods/patterns.hpp"

namespace attnscale::methods::lsh_parts {
namespace {

constexpr std::int64_t kTaskRows = 256;

struct Layout {
  Setup setup;
  Table query_code;    // by query
  Table query_sorted;  // queries by (bucket, position)
  Table query_start;   // [buckets + 1]: first place of each bucket in query_sorted
  Table key_code;
  Table key_sorted;
  Table key_start;                       // [buckets + 1]: first place of each bucket in key_sorted
  WorkerBuffer<std::int32_t> lane_met;   // [earlier round][kMaxStrip]
  WorkerBuffer<std::int32_t> intervals;  // [span][lo, hi][kMaxStrip]
  WorkerBuffer<float> scratch;
};

Layout declare(ScratchLayout& scratch, const Setup& setup) {
  const Shape& s = setup.problem.shape;
  const std::int64_t lists = s.batch * s.heads;
  const std::int64_t kv_lists = s.batch * s.kv_heads;
  const std::int64_t starts = setup.buckets.count() + 1;
  constexpr std::int64_t kLanes = kernels::kMaxStrip;
  return {setup,
          declare_table(scratch, lists, setup.rounds, s.queries),
          declare_table(scratch, lists, setup.rounds, s.queries),
          declare_table(scratch, lists, setup.rounds, starts),
          declare_table(scratch, kv_lists, setup.rounds, s.keys),
          declare_table(scratch, kv_lists, setup.rounds, s.keys),
          declare_table(scratch, kv_lists, setup.rounds, starts),
          scratch.per_worker<std::int32_t>(setup.rounds * kLanes),
          scratch.per_worker<std::int32_t>(kLanes * 2 * kLanes),
          scratch.per_worker<float>(kernels::attend_scratch(s.dim, s.value_dim))};
}

Stage sort_stage(const Layout& layout) {
  const Shape& s = layout.setup.problem.shape;
  const std::int64_t rounds = layout.setup.rounds;
  const std::int64_t query_tasks = s.batch * s.heads * rounds;
  return {"sort", query_tasks + s.batch * s.kv_heads * rounds, [=](const TaskContext& context, std::int64_t task) {
            const bool queries = task < query_tasks;
            const std::int64_t list = (queries ? task : task - query_tasks) / rounds;
            const std::int64_t round = task % rounds;  // query_tasks is a multiple of rounds
            if (queries) {
              counting_sort(layout.query_code.of(context, list, round), layout.query_sorted.of(context, list, round),
                            layout.query_start.of(context, list, round));
            } else {
              counting_sort(layout.key_code.of(context, list, round), layout.key_sorted.of(context, list, round),
                            layout.key_start.of(context, list, round));
            }
          }};
}

// What the strips of one head read in one round.
struct HeadOfRound {
  std::int64_t list = 0;
  std::int64_t kv_list = 0;
  std::int64_t round = 0;
  MatrixView<const float> k;
  MatrixView<const float> v;
  std::span<const std::int32_t> code;     // of queries
  std::span<const std::int32_t> queries;  // sorted
  std::span<const std::int32_t> query_start;
  std::span<const std::int32_t> keys;  // sorted
  std::span<const std::int32_t> key_start;
};

// Lanes of the strip that begins at place `at`, before `end`. All keys of a bucket are scored for all lanes of every
// strip that holds a query of it, so a strip goes on into the next bucket only when it takes that one whole.
int strip_lanes(const HeadOfRound& head, std::int64_t at, std::int64_t end) {
  const std::int64_t most = std::min<std::int64_t>(at + kernels::strip_width(), end);
  auto bucket =
      static_cast<std::size_t>(head.code[static_cast<std::size_t>(head.queries[static_cast<std::size_t>(at)])]);
  std::int64_t last = std::min<std::int64_t>(head.query_start[bucket + 1], most);
  for (++bucket; bucket + 1 < head.query_start.size() && head.query_start[bucket + 1] <= most; ++bucket) {
    last = head.query_start[bucket + 1];
  }
  return static_cast<int>(last - at);
}

// The spans of one strip: its lanes take the intervals of their buckets in ascending order; where keys lie between two
// of them, a new span begins, so that no time goes to keys which no lane sees.
class BucketSpans {
 public:
  BucketSpans(const Layout& layout, const TaskContext& context, const HeadOfRound& head)
      : layout_(layout), context_(context), head_(head), intervals_(context.get(layout.intervals)) {}

  // Lane `lane` sees the places [first, last) of its bucket, which ends at `end`.
  void add(std::size_t lane, std::int32_t first, std::int32_t last, std::int32_t end) {
    if (size_ == 0 || first > begin_ + static_cast<std::int32_t>(spans_[size_ - 1].count)) open(first);
    kernels::Span& span = spans_[size_ - 1];
    span.count = std::max<std::int64_t>(span.count, end - begin_);
    lo(size_ - 1)[lane] = first - begin_;
    hi(size_ - 1)[lane] = last - begin_;
  }

  [[nodiscard]] std::span<const kernels::Span> finish() { return std::span(spans_).first(size_); }

 private:
  [[nodiscard]] std::int32_t* lo(std::size_t span) const { return &intervals_[span * 2 * kernels::kMaxStrip]; }
  [[nodiscard]] std::int32_t* hi(std::size_t span) const { return lo(span) + kernels::kMaxStrip; }

  void open(std::int32_t first) {
    begin_ = first;
    std::fill_n(lo(size_), 2 * kernels::kMaxStrip, 0);
    kernels::PairMask& met = met_[size_];
    if (head_.round > 0) {
      met.codes = static_cast<int>(head_.round);
      met.key_code = layout_.key_code.of(context_, head_.kv_list, 0).data();
      met.key_code_stride = layout_.setup.problem.shape.keys;
      met.query_code = context_.get(layout_.lane_met).data();
    }
    spans_[size_] = {.k = head_.k.data,
                     .v = head_.v.data,
                     .count = 0,
                     .k_stride = head_.k.row_stride,
                     .v_stride = head_.v.row_stride,
                     .lo = lo(size_),
                     .hi = hi(size_),
                     .pairs = head_.round > 0 ? &met : nullptr,
                     .order = head_.keys.data() + first};
    ++size_;
  }

  const Layout& layout_;
  const TaskContext& context_;
  const HeadOfRound& head_;
  std::span<std::int32_t> intervals_;
  std::array<kernels::Span, kernels::kMaxStrip> spans_{};
  std::array<kernels::PairMask, kernels::kMaxStrip> met_{};
  std::size_t size_ = 0;
  std::int32_t begin_ = 0;  // of the span that is open
};

// What strips after this one read, at place `at`: the queries and outputs of the next, and of the keys and values of
// the next bucket the share that falls to this strip, as many strips read them after it. They lie scattered over more
// memory than the cache holds.
std::array<kernels::Rows, 4> rows_ahead(const HeadOfRound& head, const kernels::Strip& strip, std::int64_t at) {
  constexpr std::int64_t kMostKeys = 256;  // more would leave the cache before they are read
  const auto places = static_cast<std::int64_t>(head.queries.size());
  // As a place moves through the queries of a bucket, this moves through the keys of the next.
  const auto key_place = [&](std::int64_t place) -> std::int64_t {
    if (place >= places) return head.key_start.back();
    const auto bucket =
        static_cast<std::size_t>(head.code[static_cast<std::size_t>(head.queries[static_cast<std::size_t>(place)])]);
    const std::int64_t first = head.key_start[bucket + 1];
    const std::int64_t last = head.key_start[std::min(bucket + 2, head.key_start.size() - 1)];
    const std::int64_t begin = head.query_start[bucket], size = head.query_start[bucket + 1] - begin;
    return first + (last - first) * (place - begin) / size;
  };
  const std::int64_t next = at + strip.count;
  const std::int64_t queries = std::min<std::int64_t>(kernels::strip_width(), places - next);
  const std::int64_t first = key_place(at), keys = std::min(key_place(next) - first, kMostKeys);
  const std::int32_t* const order = head.keys.data() + first;
  return {kernels::Rows{strip.q.data, strip.q.row_stride, queries, strip.q.width, head.queries.data() + next},
          kernels::Rows{strip.out.data, strip.out.row_stride, strip.resume ? queries : 0, strip.out.width,
                        head.queries.data() + next},
          kernels::Rows{head.k.data, head.k.row_stride, keys, strip.q.width, order},
          kernels::Rows{head.v.data, head.v.row_stride, keys, strip.out.width, order}};
}

// Attends with the strip's lanes, the sorted queries at [at, at + count).
void attend_strip(const Layout& layout, const TaskContext& context, const HeadOfRound& head,
                  const kernels::Strip& strip) {
  const Problem& problem = layout.setup.problem;
  const std::span<std::int32_t> lane_met = context.get(layout.lane_met);
  BucketSpans spans(layout, context, head);
  for (std::size_t l = 0; l < static_cast<std::size_t>(strip.count); ++l) {
    const auto query = static_cast<std::size_t>(strip.rows[l]);
    for (std::int64_t r = 0; r < head.round; ++r) {
      lane_met[static_cast<std::size_t>(r) * kernels::kMaxStrip + l] =
          layout.query_code.of(context, head.list, r)[query];
    }
    const auto bucket = static_cast<std::size_t>(head.code[query]);
    const std::int32_t first = head.key_start[bucket];
    const std::int32_t end = head.key_start[bucket + 1];
    std::int32_t last = end;
    if (problem.causal()) {
      const auto keys = head.keys.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
      last = first + static_cast<std::int32_t>(
                         std::lower_bound(keys.begin(), keys.end(), problem.allowed(strip.rows[l])) - keys.begin());
    }
    context.count->scored_pairs += last - first;
    if (last > first) spans.add(l, first, last, end);
  }
  context.count->visible_pairs +=
      kernels::attend(strip, spans.finish(), problem.score_scale(), context.get(layout.scratch));
}

Stage attend_stage(const Layout& layout, std::int64_t round) {
  const Shape s = layout.setup.problem.shape;
  const std::int64_t chunks = ceil_div(s.queries, kTaskRows);
  return {"attend", s.batch * s.heads * chunks, [=](const TaskContext& context, std::int64_t task) {
            const std::int64_t list = task / chunks;
            const BatchIndex batch{list / s.heads};
            const HeadIndex query_head{list % s.heads};
            const KvHeadIndex kv_head = s.kv_head(query_head);
            const std::int64_t kv_list = batch.value * s.kv_heads + kv_head.value;
            const HeadOfRound head{list,
                                   kv_list,
                                   round,
                                   context.in.k.matrix(batch, kv_head),
                                   context.in.v.matrix(batch, kv_head),
                                   layout.query_code.of(context, list, round),
                                   layout.query_sorted.of(context, list, round),
                                   layout.query_start.of(context, list, round),
                                   layout.key_sorted.of(context, kv_list, round),
                                   layout.key_start.of(context, kv_list, round)};
            kernels::Strip strip{context.in.q.matrix(batch, query_head),
                                 context.out.out.matrix(batch, query_head),
                                 context.out.lse.matrix(batch, query_head),
                                 nullptr,
                                 0,
                                 round > 0};
            std::int64_t at = task % chunks * kTaskRows;
            const std::int64_t end = std::min(at + kTaskRows, s.queries);
            for (; at < end; at += strip.count) {
              strip.rows = head.queries.data() + at;
              strip.count = strip_lanes(head, at, end);
              const std::array<kernels::Rows, 4> ahead = rows_ahead(head, strip, at);
              strip.ahead = ahead;
              attend_strip(layout, context, head, strip);
            }
          }};
}

}  // namespace

Plan separate_plan(const Setup& setup) {
  const Problem& problem = setup.problem;
  const Shape& s = problem.shape;
  Plan plan;
  const Layout layout = declare(plan.scratch, setup);
  plan.stages.push_back(hash_queries(plan.scratch, setup, layout.query_code));
  plan.stages.push_back(hash_keys(plan.scratch, setup, layout.key_code));
  plan.stages.push_back(sort_stage(layout));
  for (std::int64_t round = 0; round < setup.rounds; ++round) plan.stages.push_back(attend_stage(layout, round));
  plan.choices = setup.rounds * (s.rows() + s.batch * s.kv_heads * s.keys);
  plan.cost.exact_fallback = setup.buckets.count() == 1;
  if (plan.cost.exact_fallback) {
    plan.cost.visible_pairs = head_count(problem) * problem.allowed_pairs();
    plan.cost.scored_pairs = plan.cost.visible_pairs;
  }
  plan.cost.extra_flops = hash_flops(setup);
  plan.cost.bytes_moved = compulsory_bytes(problem) + 2 * plan.scratch.shared_bytes();
  plan.cost.table_bytes = static_cast<std::int64_t>(setup.rotations->size() * sizeof(float));
  return plan;
}

}  // namespace attnscale::methods::lsh_parts
