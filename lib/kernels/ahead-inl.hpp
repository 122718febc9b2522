// Rows that are read later, fetched while a strip computes, for memory is slower to answer than a tile takes.
#if defined(ATTNSCALE_KERNELS_AHEAD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCALE_KERNELS_AHEAD_INL
#undef ATTNSCALE_KERNELS_AHEAD_INL
#else
#define ATTNSCALE_KERNELS_AHEAD_INL
#endif

#include <algorithm>

#include "core/numbers.hpp"
#include "kernels/simd-inl.hpp"
#include "kernels/strip.hpp"

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {

/// Register tiles that `keys` keys take: scores, and for each tile of keys the columns of the values.
template <int kUsed>
inline std::int64_t register_tiles(std::int64_t keys, std::int64_t tile, std::int64_t value_dim) {
  constexpr std::int64_t kAtOnce = group_of(kUsed);
  return ceil_div(keys, kAtOnce) + ceil_div(keys, tile) * ceil_div(value_dim, kAtOnce);
}

/// Fetches rows, a few between any two register tiles: a core keeps a few dozen lines under way, and asking for more
/// makes it wait. They go to the second level of the cache, since the tiles of the strip fill the first.
class FetchAhead {
 public:
  FetchAhead() = default;
  /// `calls`: how often some() will be called, roughly.
  FetchAhead(std::span<const Rows> rows, std::int64_t calls) : rows_(rows) {
    std::int64_t all = 0;
    for (const Rows& part : rows) all += part.count;
    at_once_ = ceil_div(all, calls + 1);
  }

  /// Called before each register tile.
  HWY_INLINE void some() {
    if (!rows_.empty()) fetch();
  }

 private:
  void fetch() {
    constexpr std::int64_t kLine = 16;  // floats
    for (std::int64_t left = at_once_; left > 0 && !rows_.empty();) {
      const Rows& part = rows_.front();
      const std::int64_t end = std::min(done_ + left, part.count);
      left -= end - done_;
      for (; done_ < end; ++done_) {
        for (std::int64_t c = 0; c < part.width; c += kLine) __builtin_prefetch(part.row(done_) + c, 0, 2);
      }
      if (end < part.count) return;
      rows_ = rows_.subspan(1);
      done_ = 0;
    }
  }

  std::span<const Rows> rows_;
  std::int64_t done_ = 0;  // of the first of them
  std::int64_t at_once_ = 0;
};

}  // namespace attnscale::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
