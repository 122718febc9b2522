#include "methods/lsh_chunks.hpp"

#include <algorithm>

namespace attnscale::methods::lsh_parts {

ChunkSpans::ChunkSpans(const SharedLayout& layout, const TaskContext& context, std::int64_t list, std::int64_t round,
                       std::int64_t at, std::int64_t lanes)
    : layout_(layout), context_(context), list_(list), round_(round), lanes_(lanes) {
  std::copy_n(layout.sorted.of(context, list, round).begin() + at, lanes, positions_.begin());
  fill_met();
  fill_intervals(at);
}

void ChunkSpans::fill_intervals(std::int64_t at) {
  const std::int64_t size = layout_.setup.bucket;
  const std::int64_t n = layout_.setup.problem.shape.queries;
  const std::int64_t begin = std::max<std::int64_t>(at / size - 1, 0) * size;
  const std::int64_t end = std::min(((at + lanes_ - 1) / size + 1) * size, n);
  const std::int64_t wrap = layout_.chunks > 1 && at < size ? (layout_.chunks - 1) * size : n;
  for (std::int64_t l = 0; l < lanes_; ++l) {
    const std::int64_t chunk = (at + l) / size;
    const auto lane = static_cast<std::size_t>(l);
    lo_[lane] = static_cast<std::int32_t>(std::max<std::int64_t>(chunk - 1, 0) * size - begin);
    hi_[lane] = static_cast<std::int32_t>(std::min((chunk + 1) * size, n) - begin);
    wrap_hi_[lane] = chunk == 0 ? static_cast<std::int32_t>(n - wrap) : 0;
  }
  // Where a strip reaches from the first chunk into the last one, both spans hold the latter, each for lanes of its
  // own.
  add(begin, end, lo_.data(), hi_.data());
  if (wrap < n) add(wrap, n, none_.data(), wrap_hi_.data());
}

void ChunkSpans::fill_met() {
  const std::span<std::int32_t> own = context_.get(layout_.lane_met);
  const std::span<std::int32_t> before = context_.get(layout_.lane_met_b);
  for (std::int64_t r = 0; r < round_; ++r) {
    const std::span<const std::int32_t> chunk = layout_.chunk.of(context_, list_, r);
    for (std::size_t l = 0; l < static_cast<std::size_t>(lanes_); ++l) {
      const std::size_t to = static_cast<std::size_t>(r) * kernels::kMaxStrip + l;
      own[to] = chunk[static_cast<std::size_t>(positions_[l])];
      before[to] = own[to] > 0 ? own[to] - 1 : static_cast<std::int32_t>(layout_.chunks - 1);
    }
  }
}

void ChunkSpans::add(std::int64_t begin, std::int64_t end, const std::int32_t* lo, const std::int32_t* hi) {
  const Shape& s = layout_.setup.problem.shape;
  kernels::PairMask& mask = masks_[size_];
  mask.key_position = layout_.sorted.of(context_, list_, round_).data() + begin;
  mask.query_position = positions_.data();
  mask.causal = layout_.setup.problem.causal();
  mask.hide_self = true;
  if (round_ > 0) {
    mask.codes = static_cast<int>(round_);
    mask.key_code = layout_.met.of(context_, list_, 0).data() + begin;
    mask.key_code_stride = s.queries;
    mask.query_code = context_.get(layout_.lane_met).data();
    mask.query_code_b = context_.get(layout_.lane_met_b).data();
  }
  const std::int64_t at = list_ * s.queries + begin;
  spans_[size_++] = {.k = context_.get(layout_.k).data() + at * s.dim,
                     .v = context_.get(layout_.v).data() + at * s.value_dim,
                     .count = end - begin,
                     .k_stride = s.dim,
                     .v_stride = s.value_dim,
                     .lo = lo,
                     .hi = hi,
                     .pairs = &mask};
}

std::int64_t ChunkSpans::scored() const {
  std::int64_t pairs = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    const kernels::Span& span = spans_[i];
    for (std::int64_t l = 0; l < lanes_; ++l) {
      if (!layout_.setup.problem.causal()) {
        pairs += span.hi[l] - span.lo[l];
        continue;
      }
      const std::int32_t* key = masks_[i].key_position;
      const std::int32_t position = positions_[static_cast<std::size_t>(l)];
      pairs += std::count_if(key + span.lo[l], key + span.hi[l], [=](std::int32_t j) { return j <= position; });
    }
  }
  return pairs;
}

}  // namespace attnscale::methods::lsh_parts
