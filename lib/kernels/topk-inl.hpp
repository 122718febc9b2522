// select_topk(): the k best keys of every lane in a stream, and attend_selected(): softmax over what was selected.
//
// A lane keeps a threshold (the k-th best score so far) and a list of candidates, in ascending key order. A vector of
// scores is compared with the thresholds at once; in the long run nearly all fail and cost one comparison. A full list
// is cut to its k best. (Tried and lost: cutting by std::nth_element, which took three times as long as the scores.)
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

struct Selection {
  std::int64_t k;
  std::int64_t capacity;     ///< of a list; a whole number of vectors
  std::int32_t* ranks;       ///< [kWidth][capacity]: scores as whole numbers of the same order
  std::int32_t* keys;        ///< [kWidth][capacity]
  const TopkResult& result;  ///< found counts the candidates meanwhile
  alignas(64) float threshold[kWidth];
};

/// The k-th largest of ranks[0, count), a whole number of vectors, when at least k of them are above the lowest whole
/// number. Found bit by bit from the highest: a bit is set when k ranks still reach the number. No branch depends on
/// the data.
inline std::int32_t kth_rank(const std::int32_t* ranks, std::int64_t count, std::int64_t k) {
  const IntTag i;
  constexpr std::uint32_t kSign = 0x80000000u;  // flipped, unsigned numbers order like signed ones
  std::uint32_t rank = 0;
  for (std::uint32_t bit = kSign; bit != 0; bit >>= 1) {
    const Ints attempt = hn::Set(i, static_cast<std::int32_t>((rank | bit) ^ kSign));
    std::int64_t below = 0;
    for (std::int64_t e = 0; e < count; e += kLanes) {
      below += static_cast<std::int64_t>(hn::CountTrue(i, hn::Lt(hn::Load(i, ranks + e), attempt)));
    }
    if (count - below >= k) rank |= bit;
  }
  return static_cast<std::int32_t>(rank ^ kSign);
}

/// Cuts the list of a lane to its k best, if it is longer; of equal scores the first stay, which have the lower keys.
inline void cut_lane(Selection& selection, int lane) {
  std::int32_t& found = selection.result.found[static_cast<std::size_t>(lane)];
  if (found <= selection.k) return;
  std::int32_t* ranks = selection.ranks + lane * selection.capacity;
  std::int32_t* keys = selection.keys + lane * selection.capacity;
  const std::int64_t padded = (found + kLanes - 1) / kLanes * kLanes;
  std::fill(ranks + found, ranks + padded, std::numeric_limits<std::int32_t>::min());
  const std::int32_t worst = kth_rank(ranks, padded, selection.k);
  std::int64_t equal = selection.k - std::count_if(ranks, ranks + found, [=](std::int32_t r) { return r > worst; });
  std::int32_t kept = 0;
  for (std::int32_t e = 0; e < found; ++e) {
    // Bits rather than branches: half of these candidates go, in no order that a branch predictor could learn.
    const int tied = static_cast<int>(ranks[e] == worst);
    const int keep = static_cast<int>(ranks[e] > worst) | (tied & static_cast<int>(equal > 0));
    equal -= tied;
    ranks[kept] = ranks[e];
    keys[kept] = keys[e];
    kept += keep;
  }
  found = kept;
  selection.threshold[lane] = score_of(worst);
}

/// Adds key t to the lists of the lanes in `taken` (bit l is lane first + l).
inline void take_key(Selection& selection, const float* scores, std::int32_t t, std::uint64_t taken, int first) {
  for (; taken != 0; taken &= taken - 1) {
    const int lane = first + std::countr_zero(taken);
    const auto at = static_cast<std::size_t>(lane);
    if (scores[lane] != scores[lane]) {
      selection.result.poison[at] = 1;
      continue;
    }
    std::int32_t& found = selection.result.found[at];
    const std::int64_t end = lane * selection.capacity + found++;
    selection.ranks[end] = rank_of(scores[lane]);
    selection.keys[end] = t;
    if (found == selection.capacity) cut_lane(selection, lane);
  }
}

/// Offers the scores of key t; lanes at or below their threshold do not take it (a later equal score loses the tie).
HWY_INLINE void offer_key(Selection& selection, const float* scores, std::int32_t t, std::uint64_t lanes) {
  const FloatTag f;
  for (int v = 0; v < kWidth; v += kLanes) {
    // "Not at most" rather than "above", so that NaN is noticed.
    const auto taken = hn::Not(hn::Le(hn::Load(f, scores + v), hn::Load(f, selection.threshold + v)));
    if (hn::AllFalse(f, taken)) continue;
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(f, taken, bytes);
    std::uint64_t bits = 0;
    for (int b = 0; b * 8 < kLanes; ++b) bits |= std::uint64_t{bytes[b]} << (8 * b);
    take_key(selection, scores, t, bits & (lanes >> v), v);
  }
}

inline void report(Selection& selection, int lanes) {
  for (int lane = 0; lane < lanes; ++lane) {
    cut_lane(selection, lane);
    const std::int64_t list = lane * selection.capacity;
    const std::int32_t found = selection.result.found[static_cast<std::size_t>(lane)];
    for (std::int32_t e = 0; e < found; ++e) {
      const auto at = static_cast<std::size_t>(lane * selection.k + e);
      selection.result.keys[at] = selection.keys[list + e];
      selection.result.scores[at] = score_of(selection.ranks[list + e]);
    }
  }
}

inline std::int64_t select_topk(const Strip& strip, const Span& span, double scale, std::int64_t k,
                                const TopkResult& result, std::span<float> scratch) {
  assert(static_cast<std::int64_t>(scratch.size()) >= topk_scratch(strip.q.width, k));
  const std::int64_t tile = tile_keys(strip.q.width, 0), capacity = candidate_capacity(k);
  float* q = scratch.data();
  float* s = q + strip.q.width * kWidth;
  auto* ranks = reinterpret_cast<std::int32_t*>(s + tile * kWidth);
  Selection selection{k, capacity, ranks, ranks + capacity * kWidth, result, {}};
  std::fill_n(selection.threshold, kWidth, kInfinity);
  std::fill_n(selection.threshold, strip.count, -kInfinity);
  std::fill(result.found.begin(), result.found.end(), 0);
  std::fill(result.poison.begin(), result.poison.end(), 0);
  pack_queries(strip, scale * std::numbers::log2e, q);
  const Visibility see = visibility(strip, span);
  const std::uint64_t lanes = ~std::uint64_t{0} >> (64 - strip.count);
  alignas(64) float top[kWidth];
  std::int64_t pairs = 0;
  for (const Section& section : see.sections) {
    for (std::int64_t t = section.first; t < section.last; t += tile) {
      const std::int64_t count = std::min(tile, section.last - t);
      score_tile({span.k + t * span.k_stride, span.k_stride, count, strip.q.width}, q, span.log2_bias, s, top);
      pairs += section.masked ? mask_tile(see, t, count, s, top) : strip.count * count;
      for (std::int64_t j = 0; j < count; ++j) {
        offer_key(selection, s + j * kWidth, static_cast<std::int32_t>(t + j), lanes);
      }
    }
  }
  report(selection, strip.count);
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
  const float m = scores.empty() ? -kInfinity : *std::max_element(scores.begin(), scores.end());
  float l = 0;
  std::fill_n(out, v.width, 0.0f);
  for (std::size_t begin = 0; begin < keys.size(); begin += tile) {
    const std::size_t count = std::min(tile, keys.size() - begin);
    std::fill(std::copy_n(scores.begin() + static_cast<std::ptrdiff_t>(begin), count, p), p + 64, -kInfinity);
    for (int e = 0; e < 64; e += kLanes) hn::Store(exp2(hn::Sub(hn::Load(f, p + e), hn::Set(f, m))), f, p + e);
    float sum = 0;
    for (std::size_t e = 0; e < count; ++e) sum += p[e];
    l += sum;
    add_selected(v, keys.subspan(begin, count), p, out);
  }
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
