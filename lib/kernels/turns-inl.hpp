// attend_block(): strips of one head that take turns, and fetch for each other what comes next.
//
// One strip after the other reads all of K and V, from wherever they lie: at d = 128, n = 16384 (16 MiB) that halves
// the speed. Here each strip goes through a few hundred keys before the next does, so that only the first could miss
// them in the L2 cache; and for that one, the others have fetched them while they computed.
#if defined(ATTNSCALE_KERNELS_TURNS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCALE_KERNELS_TURNS_INL
#undef ATTNSCALE_KERNELS_TURNS_INL
#else
#define ATTNSCALE_KERNELS_TURNS_INL
#endif

#include <array>
#include <optional>

#include "kernels/attend-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {

/// What a strip reads of K and V before the next has its turn: 128 KB, an eighth of a Zen 4's L2. Half or twice that is
/// within 2 % at d = 64, 128 and 256, n = 4096 and 16384; 32 KB takes 9 % longer at d = 256.
inline constexpr std::int64_t kTurnFloats = 32 * 1024;

/// A strip among others.
struct Turn {
  const Strip* strip;
  const Span* span;
  StripMemory memory;
  TileWalk walk;
  OnlineState state;

  Turn(const Strip& its_strip, const Span& its_span, const StripMemory& its_memory)
      : strip(&its_strip), span(&its_span), memory(its_memory), walk(its_strip, its_span) {}
};

/// The strips that go together.
class Turns {
 public:
  /// Takes in a strip. The scratch memory begins with the scores of a tile, which each needs only until its next one;
  /// then come q and o of each.
  void add(const Strip& strip, const Span& span, double scale, std::span<float> scratch) {
    const std::int64_t dim = strip.q.width, value_dim = strip.out.width, tile = tile_keys(dim, value_dim);
    float* const s = scratch.data();
    float* const q = s + tile * kWidth + static_cast<std::int64_t>(size_) * (dim + value_dim) * kWidth;
    Turn& turn = turns_[size_].emplace(strip, span, StripMemory{q, q + dim * kWidth, s, tile});
    pack_queries(strip, scale * std::numbers::log2e, turn.memory.q);
    load_state(strip, turn.memory, turn.state);
    if (span.count >= turns_[longest_]->span->count) longest_ = size_;
    ++size_;
  }

  /// Returns the visible pairs.
  std::int64_t take() {
    if (size_ == 0) return 0;
    const Turn& longest = *turns_[longest_];
    const std::int64_t keys = longest.span->count, value_dim = longest.strip->out.width;
    const std::int64_t step = std::max<std::int64_t>(kTurnFloats / (longest.strip->q.width + value_dim), 1);
    const std::int64_t calls = register_tiles<kVectors>(step, longest.memory.tile, value_dim);
    for (std::int64_t end = step; end < keys + step; end += step) {
      // What comes next: at the end, the begin of the same keys for the next task.
      const std::int64_t next = end < keys ? end : 0;
      for (std::size_t i = 0; i < size_; ++i) {
        Turn& turn = *turns_[i];
        const std::array<Rows, 2> share = share_of(i, next, std::min(step, keys - next));
        FetchAhead ahead(share, calls);
        attend_tiles<false, kVectors>(*turn.strip, *turn.span, end, turn.memory, turn.state, turn.walk, ahead);
      }
    }
    std::int64_t pairs = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      Turn& turn = *turns_[i];
      finish_strip<kVectors>(*turn.strip, std::span(turn.span, 1), turn.memory, turn.state);
      pairs += turn.walk.pairs;
    }
    return pairs;
  }

 private:
  /// The part that strip i fetches of `count` keys and values from key `first` on.
  [[nodiscard]] std::array<Rows, 2> share_of(std::size_t i, std::int64_t first, std::int64_t count) const {
    const Turn& longest = *turns_[longest_];
    const auto part = static_cast<std::int64_t>(i), parts = static_cast<std::int64_t>(size_);
    const std::int64_t begin = count * part / parts, end = count * (part + 1) / parts;
    return {keys_of(*longest.strip, *longest.span).part(first + begin, end - begin),
            values_of(*longest.strip, *longest.span).part(first + begin, end - begin)};
  }

  std::array<std::optional<Turn>, kMostTogether> turns_;
  std::size_t size_ = 0;
  std::size_t longest_ = 0;  ///< the strip with the most keys
};

inline std::int64_t attend_block(std::span<const Strip> strips, std::span<const Span> spans, double scale,
                                 std::span<float> scratch) {
  assert(strips.size() == spans.size() && strips.size() <= kMostTogether);
  std::int64_t pairs = 0;
  const auto goes_alone = [&](std::size_t i) {
    return strips[i].count <= kLanes || rows_are_cheaper(strips[i], spans.subspan(i, 1));
  };
  for (std::size_t i = 0; i < strips.size(); ++i) {
    if (goes_alone(i)) pairs += HWY_NAMESPACE::attend(strips[i], spans.subspan(i, 1), scale, scratch);
  }
  Turns together;
  for (std::size_t i = 0; i < strips.size(); ++i) {
    if (!goes_alone(i)) together.add(strips[i], spans[i], scale, scratch);
  }
  return pairs + together.take();
}

}  // namespace attnscale::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
