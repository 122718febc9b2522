// select_topk(): the k best keys of every lane in a stream, and attend_selected(): softmax over what was selected.
//
// A lane keeps a threshold (at least k scores so far reach it) and a list of candidates above it, in ascending key
// order. A tile of scores is compared with the thresholds, and where they are beaten is packed into one list without a
// branch; the candidates then go to their lanes. A long list is cut to little more than k by bisection. Against a
// branch per vector of scores and cuts to exactly k bit by bit, at n = 4096, d = 64, k = 64, in units of
// exact.streaming: AVX-512 0.84 after 1.84, AVX2 0.83 after 1.16. Cuts by std::nth_element took three times as long as
// the scores.
#if defined(ATTNSCALE_KERNELS_TOPK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCALE_KERNELS_TOPK_INL
#undef ATTNSCALE_KERNELS_TOPK_INL
#else
#define ATTNSCALE_KERNELS_TOPK_INL
#endif

#include <bit>

#include "kernels/attend-inl.hpp"
#include "kernels/rank.hpp"
#include "kernels/table.hpp"

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {

/// Packing a vector is one instruction here. Elsewhere a loop over set bits is faster than hn::Compress, for which some
/// compilers copy the table of shuffles to the stack each time (topk k = 64 with AVX2: 0.83 and 1.7 of
/// exact.streaming).
inline constexpr bool kPacks = HWY_TARGET == HWY_AVX3;

struct Selection {
  std::int64_t k;
  std::int64_t capacity;  ///< of a list; a whole number of vectors
  float* scores;          ///< [kWidth][capacity]
  std::int32_t* keys;     ///< [kWidth][capacity]
  std::int32_t* hits;     ///< room for a tile: key * kMaxStrip + lane
  alignas(64) float threshold[kWidth];
  alignas(64) std::int32_t found[kWidth];  ///< candidates in each list
  std::int32_t poison[kWidth];
};

/// How many of scores[0, count), a whole number of vectors, are `bound` or more.
HWY_INLINE std::int64_t count_reaching(const float* scores, std::int64_t count, float bound) {
  const FloatTag f;
  std::int64_t reaching = 0;
  for (std::int64_t e = 0; e < count; e += kLanes) {
    reaching += static_cast<std::int64_t>(hn::CountTrue(f, hn::Ge(hn::Load(f, scores + e), hn::Set(f, bound))));
  }
  return reaching;
}

HWY_INLINE float largest(const float* scores, std::int64_t count) {
  const FloatTag f;
  Floats most = infinitely_low();
  for (std::int64_t e = 0; e < count; e += kLanes) most = hn::Max(most, hn::Load(f, scores + e));
  return hn::GetLane(hn::MaxOfLanes(f, most));
}

/// Packs those of a list that reach `bound` to its front.
HWY_INLINE void keep_reaching(float* scores, std::int32_t* keys, std::int64_t count, float bound) {
  const FloatTag f;
  const IntTag i;
  std::int64_t kept = 0;
  for (std::int64_t e = 0; kPacks && e < count; e += kLanes) {
    const Floats score = hn::Load(f, scores + e);
    const Ints key = hn::Load(i, keys + e);
    const auto stays = hn::Ge(score, hn::Set(f, bound));
    hn::StoreU(hn::Compress(score, stays), f, scores + kept);
    hn::StoreU(hn::Compress(key, hn::RebindMask(i, stays)), i, keys + kept);
    kept += static_cast<std::int64_t>(hn::CountTrue(f, stays));
  }
  for (std::int64_t e = 0; !kPacks && e < count; ++e) {
    // A sum rather than a branch: half of them go, in no order that a branch predictor could learn.
    const float score = scores[e];
    scores[kept] = score;
    keys[kept] = keys[e];
    kept += static_cast<std::int64_t>(score >= bound);
  }
}

/// The same for those above `bound` and the first `equal` of those equal to it, which have the lower keys.
inline void keep_tied(float* scores, std::int32_t* keys, std::int64_t count, float bound, std::int64_t equal) {
  std::int64_t kept = 0;
  for (std::int64_t e = 0; e < count; ++e) {
    if (scores[e] < bound || (scores[e] == bound && equal-- <= 0)) continue;
    scores[kept] = scores[e];
    keys[kept] = keys[e];
    ++kept;
  }
}

/// Cuts the list of a lane, if it is longer than `most`, to its best: at least k of them, at most `most`. Bisects the
/// ranks until few enough scores reach the bound; when only ties are left, the lower keys stay.
inline void cut_lane(Selection& selection, int lane, std::int64_t most) {
  const std::int64_t found = selection.found[lane];
  if (found <= most) return;
  float* scores = selection.scores + lane * selection.capacity;
  std::int32_t* keys = selection.keys + lane * selection.capacity;
  const std::int64_t padded = (found + kLanes - 1) / kLanes * kLanes;
  std::fill(scores + found, scores + padded, -kInfinity);
  // At least k reach `low`, fewer than k reach `high`.
  std::int64_t low = std::int64_t{rank_of(selection.threshold[lane])} + 1;
  std::int64_t high = std::int64_t{rank_of(largest(scores, padded))} + 1;
  std::int64_t reaching = found, above = 0;
  while (reaching > most && high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const std::int64_t there = count_reaching(scores, padded, score_of(static_cast<std::int32_t>(middle)));
    (there >= selection.k ? low : high) = middle;
    (there >= selection.k ? reaching : above) = there;
  }
  const float bound = score_of(static_cast<std::int32_t>(low));
  if (reaching <= most) {
    keep_reaching(scores, keys, padded, bound);
  } else {
    keep_tied(scores, keys, found, bound, selection.k - above);
    reaching = selection.k;
  }
  selection.found[lane] = static_cast<std::int32_t>(reaching);
  selection.threshold[lane] = bound;
}

/// Lists where the scores s[count][kWidth] of a tile beat the thresholds (a later equal score loses the tie), as key *
/// kMaxStrip + lane, keys ascending; returns how many.
inline std::int64_t list_hits(const Selection& selection, std::int64_t count, const float* HWY_RESTRICT s) {
  const FloatTag f;
  const IntTag i;
  Floats threshold[kVectors];
  Ints at[kVectors];
  ATTNSCALE_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    threshold[v] = hn::Load(f, selection.threshold + v * kLanes);
    at[v] = hn::Iota(i, v * kLanes);
  }
  std::int32_t* end = selection.hits;
  for (std::int64_t j = 0; j < count; ++j) {
    std::uint64_t lanes = 0;
    ATTNSCALE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      // "Not at most" rather than "above", so that NaN is noticed.
      const auto beaten = hn::Not(hn::Le(hn::Load(f, s + j * kWidth + v * kLanes), threshold[v]));
      if constexpr (kPacks) {
        hn::StoreU(hn::Compress(at[v], hn::RebindMask(i, beaten)), i, end);
        end += hn::CountTrue(f, beaten);
        at[v] = hn::Add(at[v], hn::Set(i, kMaxStrip));
      } else {
        std::uint8_t bits[8] = {};
        hn::StoreMaskBits(f, beaten, bits);
        lanes |= std::uint64_t{bits[0]} << (v * kLanes);
      }
    }
    for (; lanes != 0; lanes &= lanes - 1) {
      *end++ = static_cast<std::int32_t>(j * kMaxStrip) + std::countr_zero(lanes);
    }
  }
  return end - selection.hits;
}

/// Adds the hits of the tile that begins with key t to the lists of their lanes.
inline void take_hits(Selection& selection, std::int64_t hits, const float* HWY_RESTRICT s, std::int64_t t) {
  for (std::int64_t e = 0; e < hits; ++e) {
    const std::int32_t lane = selection.hits[e] % kMaxStrip, key = selection.hits[e] / kMaxStrip;
    const float score = s[key * kWidth + lane];
    if (score != score) {
      selection.poison[lane] = 1;
      continue;
    }
    const std::int64_t end = lane * selection.capacity + selection.found[lane]++;
    selection.scores[end] = score;
    selection.keys[end] = static_cast<std::int32_t>(t) + key;
  }
}

inline void report(Selection& selection, int lanes, const TopkResult& result) {
  for (int lane = 0; lane < lanes; ++lane) {
    cut_lane(selection, lane, selection.k);
    const std::int64_t list = lane * selection.capacity, at = lane * selection.k;
    std::copy_n(selection.keys + list, selection.found[lane], result.keys.data() + at);
    std::copy_n(selection.scores + list, selection.found[lane], result.scores.data() + at);
    result.found[static_cast<std::size_t>(lane)] = selection.found[lane];
    result.poison[static_cast<std::size_t>(lane)] = selection.poison[lane];
  }
}

inline std::int64_t select_topk(const Strip& strip, const Span& span, double scale, std::int64_t k,
                                const TopkResult& result, std::span<float> scratch) {
  assert(static_cast<std::int64_t>(scratch.size()) >= topk_scratch(strip.q.width, k));
  const std::int64_t tile = tile_keys(strip.q.width, 0), capacity = candidate_capacity(k);
  float* q = scratch.data();
  float* s = q + strip.q.width * kWidth;
  float* scores = s + tile * kWidth;
  auto* keys = reinterpret_cast<std::int32_t*>(scores + capacity * kWidth);
  Selection selection{k, capacity, scores, keys, keys + capacity * kWidth, {}, {}, {}};
  std::fill_n(selection.threshold, kWidth, kInfinity);  // unused lanes take nothing (but NaN, which nobody reads)
  std::fill_n(selection.threshold, strip.count, -kInfinity);
  pack_queries(strip, scale * std::numbers::log2e, q);
  const Visibility see = visibility(strip, span);
  alignas(64) float top[kWidth];
  std::int64_t pairs = 0;
  for (const Section& section : see.sections) {
    for (std::int64_t t = section.first; t < section.last; t += tile) {
      const std::int64_t count = std::min(tile, section.last - t);
      score_tile({span.k + t * span.k_stride, span.k_stride, count, strip.q.width}, q, span.log2_bias, s, top);
      pairs += section.masked ? mask_tile(see, t, count, s, top) : strip.count * count;
      take_hits(selection, list_hits(selection, count, s), s, t);
      for (int lane = 0; lane < strip.count; ++lane) {
        if (selection.found[lane] > capacity - tile) cut_lane(selection, lane, k + k / 8);
      }
    }
  }
  report(selection, strip.count, result);
  return pairs;
}

/// out[c ...] += sum of p * v over some selected keys, for kParts vectors of columns.
template <int kParts>
HWY_INLINE void add_columns(const MatrixView<const float>& v, std::span<const std::int32_t> keys, const float* p,
                            std::int64_t c, float* out) {
  const FloatTag f;
  Floats sum[kParts];
  for (int part = 0; part < kParts; ++part) sum[part] = hn::Zero(f);
  for (std::size_t e = 0; e < keys.size(); ++e) {
    const float* value = v.row(keys[e]) + c;
    const Floats weight = hn::Set(f, p[e]);
    for (int part = 0; part < kParts; ++part) {
      sum[part] = hn::MulAdd(weight, hn::LoadU(f, value + part * kLanes), sum[part]);
    }
  }
  for (int part = 0; part < kParts; ++part) {
    float* at = out + c + part * kLanes;
    hn::StoreU(hn::Add(hn::LoadU(f, at), sum[part]), f, at);
  }
}

inline void add_selected(const MatrixView<const float>& v, std::span<const std::int32_t> keys, const float* p,
                         float* out) {
  std::int64_t c = 0;
  for (; c + 4 * kLanes <= v.width; c += 4 * kLanes) add_columns<4>(v, keys, p, c, out);
  for (; c + kLanes <= v.width; c += kLanes) add_columns<1>(v, keys, p, c, out);
  for (; c < v.width; ++c) {
    float sum = 0;
    for (std::size_t e = 0; e < keys.size(); ++e) sum += p[e] * v.row(keys[e])[c];
    out[c] += sum;
  }
}

/// One row: softmax over its scores, out and lse; out serves as the running sum of the tiles.
inline float attend_row(const MatrixView<const float>& v, std::span<const std::int32_t> keys,
                        std::span<const float> scores, std::size_t tile, float* out) {
  const FloatTag f;
  alignas(64) float p[64];
  Floats most = infinitely_low(), total = hn::Zero(f);
  std::size_t e = 0;
  for (; e + kLanes <= scores.size(); e += kLanes) most = hn::Max(most, hn::LoadU(f, &scores[e]));
  float m = hn::GetLane(hn::MaxOfLanes(f, most));
  for (; e < scores.size(); ++e) m = std::max(m, scores[e]);
  std::fill_n(out, v.width, 0.0f);
  for (std::size_t begin = 0; begin < keys.size(); begin += tile) {
    const std::size_t count = std::min(tile, keys.size() - begin);
    std::fill(std::copy_n(scores.begin() + static_cast<std::ptrdiff_t>(begin), count, p), p + 64, -kInfinity);
    Floats sum = hn::Zero(f);
    for (int at = 0; at < 64; at += kLanes) {
      const Floats weight = exp2(hn::Sub(hn::Load(f, p + at), hn::Set(f, m)));
      hn::Store(weight, f, p + at);
      sum = hn::Add(sum, weight);
    }
    total = hn::Add(total, sum);
    add_selected(v, keys.subspan(begin, count), p, out);
  }
  const float l = hn::GetLane(hn::SumOfLanes(f, total));
  const float inverse = l == 0 ? 0.0f : 1.0f / l;
  for (std::int64_t c = 0; c < v.width; ++c) out[c] *= inverse;
  return natural_lse(m, l);
}

inline void attend_selected(const Strip& strip, const MatrixView<const float>& v, std::int64_t k,
                            const TopkResult& selected) {
  const auto tile = static_cast<std::size_t>(tile_keys(strip.q.width, v.width));
  for (int lane = 0; lane < strip.count; ++lane) {
    const auto at = static_cast<std::size_t>(lane), begin = static_cast<std::size_t>(lane * k);
    float* out = strip.out.row(strip.rows[lane]);
    float* lse = strip.lse.row(strip.rows[lane]);
    if (selected.poison[at] != 0) {
      *lse = std::numeric_limits<float>::quiet_NaN();
      std::fill_n(out, v.width, *lse);
      continue;
    }
    const auto found = static_cast<std::size_t>(selected.found[at]);
    *lse = attend_row(v, selected.keys.subspan(begin, found), selected.scores.subspan(begin, found), tile, out);
  }
}

}  // namespace attnscale::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
