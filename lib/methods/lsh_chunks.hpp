// Where the stages of shared-QK LSH keep what they know, and the spans that a strip of tokens in sorted order sees.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/strip.hpp"
#include "methods/lsh_hash.hpp"

namespace attnscale::methods::lsh_parts {

/// Tables are by (batch, query head): every query head makes keys of its own.
struct SharedLayout {
  Setup setup;
  std::int64_t chunks = 0;
  Table code;                        ///< bucket of each token
  Table sorted;                      ///< tokens by (bucket, position)
  Table chunk;                       ///< chunk of each token
  Table met;                         ///< [earlier round][place]: chunks of the keys in the sorted order of this round
  SharedBuffer<double> inverse;      ///< 1 / norm of each token
  SharedBuffer<float> k;             ///< [batch][heads][tokens][dim], in the sorted order of the round
  SharedBuffer<float> v;             ///< the same, value_dim
  WorkerBuffer<std::int32_t> start;  ///< of a sort
  WorkerBuffer<std::int32_t> lane_met;    ///< [earlier round][kMaxStrip]: own chunks
  WorkerBuffer<std::int32_t> lane_met_b;  ///< the chunks before them
  WorkerBuffer<float> scratch;
};

/// The spans of one strip in one round: from the chunk before the first lane's to the last lane's, and the last chunk
/// for lanes of the first one. Self is hidden, and so are the pairs of earlier rounds.
class ChunkSpans {
 public:
  /// Lanes are the tokens at places at, at + 1, ... in sorted order.
  ChunkSpans(const SharedLayout& layout, const TaskContext& context, std::int64_t list, std::int64_t round,
             std::int64_t at, std::int64_t lanes);
  ChunkSpans(const ChunkSpans&) = delete;
  ChunkSpans& operator=(const ChunkSpans&) = delete;

  [[nodiscard]] std::span<const kernels::Span> spans() const { return std::span(spans_).first(size_); }

  /// Pairs of the lanes with the keys in their chunks that the mask allows.
  [[nodiscard]] std::int64_t scored() const;

 private:
  void fill_intervals(std::int64_t at);
  void fill_met();
  void add(std::int64_t begin, std::int64_t end, const std::int32_t* lo, const std::int32_t* hi);

  using Lanes = std::array<std::int32_t, kernels::kMaxStrip>;
  const SharedLayout& layout_;
  const TaskContext& context_;
  std::int64_t list_;
  std::int64_t round_;
  std::int64_t lanes_;
  Lanes positions_{};
  Lanes lo_{};
  Lanes hi_{};
  Lanes none_{};
  Lanes wrap_hi_{};
  std::array<kernels::Span, 2> spans_{};
  std::array<kernels::PairMask, 2> masks_{};
  std::size_t size_ = 0;
};

}  // namespace attnscale::methods::lsh_parts
