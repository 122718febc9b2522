// select_topk() against a full sort of the same scores, and attend_selected() against the definition.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/rank.hpp"
#include "naive.hpp"

using namespace kernel_test;
namespace kernels = attnscale::kernels;
using kernels::Span;
using kernels::Strip;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Selected {
  explicit Selected(std::int64_t k)
      : keys(static_cast<std::size_t>(kernels::kMaxStrip * k)),
        scores(keys.size()),
        found(kernels::kMaxStrip),
        poison(kernels::kMaxStrip) {}
  [[nodiscard]] kernels::TopkResult view() { return {keys, scores, found, poison}; }
  std::vector<std::int32_t> keys;
  std::vector<float> scores;
  std::vector<std::int32_t> found, poison;
};

/// The keys that a full sort keeps, ascending. Scores are those of score(), which has the same bits.
std::vector<std::int32_t> best_keys(std::span<const float> scores, std::int64_t width, int lane, std::int64_t keys,
                                    std::int64_t k) {
  std::vector<std::int32_t> order;
  const auto at = [&](std::int32_t j) { return scores[static_cast<std::size_t>(j * width + lane)]; };
  for (std::int32_t j = 0; j < keys; ++j) {
    if (at(j) != -std::numeric_limits<float>::infinity()) order.push_back(j);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return at(a) > at(b); });
  order.resize(std::min(order.size(), static_cast<std::size_t>(k)));
  std::sort(order.begin(), order.end());
  return order;
}

/// Selects, compares with the sort, attends, compares with the definition. Row i sees keys [0, allowed(i)).
void check_topk(Case& c, std::int64_t k, const std::function<std::int32_t(std::int64_t)>& allowed) {
  const std::int64_t keys = c.k.view().rows, dim = c.q.view().width, width = kernels::strip_width();
  Scratch scratch(kernels::attend_scratch(dim, c.v.view().width)), scores(keys * width);
  Scratch memory(kernels::topk_scratch(dim, k));
  Selected selected(k);
  std::array<std::int32_t, kernels::kMaxStrip> hi{};
  for_each_strip(c, {}, [&](const Strip& strip) {
    std::int64_t pairs = 0;
    for (int lane = 0; lane < strip.count; ++lane) {
      hi[static_cast<std::size_t>(lane)] = allowed(strip.rows[lane]);
      pairs += std::min<std::int64_t>(keys, allowed(strip.rows[lane]));
    }
    Span span = span_of(c, 0, keys);
    span.hi = hi.data();
    CHECK(kernels::select_topk(strip, span, c.scale, k, selected.view(), memory.floats()) == pairs);
    kernels::score(strip, span, c.scale, scores.floats(), scratch.floats());
    kernels::attend_selected(strip, c.v.view(), k, selected.view());
    for (int lane = 0; lane < strip.count; ++lane) {
      const auto l = static_cast<std::size_t>(lane);
      const std::vector<std::int32_t> expected = best_keys(scores.floats(), width, lane, keys, k);
      const auto first = selected.keys.begin() + lane * k;
      const std::vector<std::int32_t> found(first, first + selected.found[l]);
      CHECK(found == expected);
      CHECK(selected.poison[l] == 0);
      std::vector<Seen> seen;
      for (std::size_t e = 0; e < expected.size(); ++e) {
        seen.push_back({expected[e]});
        CHECK(selected.scores[l * static_cast<std::size_t>(k) + e] ==
              scores.floats()[static_cast<std::size_t>(expected[e] * width + lane)]);
      }
      check_row(c, strip.rows[lane], seen);
    }
  });
}

}  // namespace

TEST_CASE("top-k equals a full sort, for k from 1 to more than there are keys") {
  for_each_target([] {
    for (const std::int64_t k : {1, 2, 7, 64, 65, 300}) {
      Case c = make_case(37, 257, 20, 70, {1, 1});
      check_topk(c, k, [](std::int64_t) { return 257; });
      check_topk(c, k, [](std::int64_t i) { return static_cast<std::int32_t>(i * 7 % 260); });
    }
  });
}

TEST_CASE("top-k keeps exactly k at ties, the lower keys") {
  for_each_target([] {
    Case c = make_case(33, 600, 2, 3);
    // Scores from a grid of a few values, rising and falling along the keys; -0 ties with +0.
    for (std::int64_t i = 0; i < 33; ++i) {
      c.q.row(i)[0] = static_cast<float>(i % 4 - 1);
      c.q.row(i)[1] = 0;
    }
    for (std::int64_t j = 0; j < 600; ++j) {
      c.k.row(j)[0] = static_cast<float>(j * 13 % 7 - 3);
      c.k.row(j)[1] = j % 2 == 0 ? 1.0f : -1.0f;
    }
    for (const std::int64_t k : {1, 5, 100}) check_topk(c, k, [](std::int64_t) { return 600; });
  });
}

TEST_CASE("top-k of rising scores, where every key is a new best, and of a wide head") {
  for_each_target([] {
    Case c = make_case(5, 900, 1, 2);
    c.scale = 1e-3;
    for (std::int64_t i = 0; i < 5; ++i) c.q.row(i)[0] = 1;
    for (std::int64_t j = 0; j < 900; ++j) c.k.row(j)[0] = static_cast<float>(j);
    check_topk(c, 10, [](std::int64_t) { return 900; });
    Case wide = make_case(18, 100, 130, 129);
    check_topk(wide, 40, [](std::int64_t) { return 100; });
  });
}

TEST_CASE("an allowed key that scores NaN poisons the row; a hidden one does not") {
  for_each_target([] {
    const std::int64_t k = 4;
    Case c = make_case(20, 50, 8, 6);
    c.k.row(30)[2] = kNaN;
    Scratch memory(kernels::topk_scratch(8, k));
    Selected selected(k);
    std::array<std::int32_t, kernels::kMaxStrip> hi{};
    for_each_strip(c, {}, [&](const Strip& strip) {
      for (int lane = 0; lane < strip.count; ++lane) {
        hi[static_cast<std::size_t>(lane)] = strip.rows[lane] % 2 == 0 ? 30 : 31;
      }
      Span span = span_of(c, 0, 50);
      span.hi = hi.data();
      (void)kernels::select_topk(strip, span, c.scale, k, selected.view(), memory.floats());
      kernels::attend_selected(strip, c.v.view(), k, selected.view());
    });
    for (std::int64_t i = 0; i < 20; ++i) {
      const bool poisoned = i % 2 == 1;
      CHECK(is_nan(*c.lse.row(i)) == poisoned);
      CHECK(std::all_of(c.out.row(i), c.out.row(i) + 6, [&](float x) { return is_nan(x) == poisoned; }));
    }
  });
}

TEST_CASE("ranks order like scores and give them back") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> scores{-infinity, -2.5f, -2.4f, -1e-40f, 0.0f, 1e-40f, 3.0f, 1e30f, infinity};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    CHECK(kernels::score_of(kernels::rank_of(scores[i])) == scores[i]);
    if (i > 0) CHECK(kernels::rank_of(scores[i]) > kernels::rank_of(scores[i - 1]));
  }
  CHECK(kernels::rank_of(-0.0f) == kernels::rank_of(0.0f));
}
