// select_topk(): the k best keys of every lane in a stream, and attend_selected(): softmax over what was selected.
//
// A lane keeps a threshold (the k-th best score so far) and a buffer of candidates. A vector of scores is compared with
// the thresholds at once; in the long run nearly all fail and cost one comparison. A full buffer is cut to its k best.
#if defined(ATTNSCALE_KERNELS_TOPK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCALE_KERNELS_TOPK_INL
#undef ATTNSCALE_KERNELS_TOPK_INL
#else
#define ATTNSCALE_KERNELS_TOPK_INL
#endif

#include "kernels/attend-inl.hpp"
#include "kernels/candidate.hpp"
#include "kernels/table.hpp"

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {

struct Selection {
  std::int64_t k;
  std::int64_t capacity;
  std::uint64_t* candidates;  ///< [kWidth][capacity], each lane in ascending key order
  std::uint64_t* spare;       ///< [capacity]
  const TopkResult& result;   ///< found counts the candidates meanwhile
  alignas(64) float threshold[kWidth];
};

inline void cut_lane(Selection& selection, int lane) {
  std::uint64_t* list = selection.candidates + lane * selection.capacity;
  std::int32_t& found = selection.result.found[static_cast<std::size_t>(lane)];
  if (found <= selection.k) return;
  const std::uint64_t worst = keep_best(list, found, selection.k, selection.spare);
  found = static_cast<std::int32_t>(selection.k);
  selection.threshold[lane] = score_of(worst);
}

/// Offers the scores of key t; lanes at or below their threshold were not taken (a later equal score loses the tie).
HWY_INLINE void offer_key(Selection& selection, const float* scores, std::int32_t t, int lanes) {
  const FloatTag f;
  for (int v = 0; v < kWidth; v += kLanes) {
    // "Not at most" rather than "above", so that NaN is noticed.
    const auto taken = hn::Not(hn::Le(hn::Load(f, scores + v), hn::Load(f, selection.threshold + v)));
    if (hn::AllFalse(f, taken)) continue;
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(f, taken, bits);
    for (int lane = v; lane < std::min(v + kLanes, lanes); ++lane) {
      if ((bits[(lane - v) / 8] >> ((lane - v) % 8) & 1) == 0) continue;
      const std::size_t at = static_cast<std::size_t>(lane);
      if (scores[lane] != scores[lane]) {
        selection.result.poison[at] = 1;
        continue;
      }
      std::int32_t& found = selection.result.found[at];
      selection.candidates[lane * selection.capacity + found++] = candidate(scores[lane], t);
      if (found == selection.capacity) cut_lane(selection, lane);
    }
  }
}

inline void report(Selection& selection, int lanes) {
  for (int lane = 0; lane < lanes; ++lane) {
    cut_lane(selection, lane);
    const std::uint64_t* list = selection.candidates + lane * selection.capacity;
    const std::int32_t found = selection.result.found[static_cast<std::size_t>(lane)];
    for (std::int32_t e = 0; e < found; ++e) {
      const std::size_t at = static_cast<std::size_t>(lane * selection.k + e);
      selection.result.keys[at] = key_of(list[e]);
      selection.result.scores[at] = score_of(list[e]);
    }
  }
}

inline std::int64_t select_topk(const Strip& strip, const Span& span, double scale, std::int64_t k,
                                const TopkResult& result, std::span<float> scratch) {
  assert(static_cast<std::int64_t>(scratch.size()) >= topk_scratch(strip.q.width, k));
  const std::int64_t tile = tile_keys(strip.q.width, 0), capacity = candidate_capacity(k);
  float* q = scratch.data();
  float* s = q + strip.q.width * kWidth;
  auto* candidates = reinterpret_cast<std::uint64_t*>(s + tile * kWidth);
  Selection selection{k, capacity, candidates, candidates + capacity * kWidth, result, {}};
  std::fill_n(selection.threshold, kWidth, kInfinity);
  std::fill_n(selection.threshold, strip.count, -kInfinity);
  std::fill(result.found.begin(), result.found.end(), 0);
  std::fill(result.poison.begin(), result.poison.end(), 0);
  pack_queries(strip, scale * std::numbers::log2e, q);
  const Visibility see = visibility(strip, span);
  alignas(64) float top[kWidth];
  std::int64_t pairs = 0;
  for (const Section& section : see.sections) {
    for (std::int64_t t = section.first; t < section.last; t += tile) {
      const std::int64_t count = std::min(tile, section.last - t);
      score_tile({span.k + t * span.k_stride, span.k_stride, count, strip.q.width}, q, span.log2_bias, s, top);
      pairs += section.masked ? mask_tile(see, t, count, s, top) : strip.count * count;
      for (std::int64_t j = 0; j < count; ++j) {
        offer_key(selection, s + j * kWidth, static_cast<std::int32_t>(t + j), strip.count);
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
