// score(), softmax() and weigh(): the three passes, and their agreement with attend().
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "naive.hpp"

using namespace kernel_test;
namespace kernels = attnscale::kernels;
using kernels::Span;
using kernels::Strip;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

void three_passes(Case& c, const std::function<Span(const Strip&)>& span_for) {
  const std::int64_t keys = c.k.view().rows, width = kernels::strip_width();
  Scratch scratch(kernels::attend_scratch(c.q.view().width, c.v.view().width));
  Scratch scores(keys * width), sums(width);
  for_each_strip(c, {}, [&](const Strip& strip) {
    const Span span = span_for(strip);
    kernels::score(strip, span, c.scale, scores.floats(), scratch.floats());
    kernels::softmax(strip, span.count, scores.floats(), sums.floats());
    kernels::weigh(strip, span, scores.floats(), sums.floats(), scratch.floats());
  });
}

}  // namespace

TEST_CASE("scores are scale * log2(e) * q.k + bias, -inf where hidden") {
  for_each_target([] {
    Case c = make_case(21, 70, 33, 4, {1, 2});
    const std::int64_t width = kernels::strip_width();
    Scratch scratch(kernels::attend_scratch(33, 4)), scores(70 * width);
    std::array<std::int32_t, kernels::kMaxStrip> hi{};
    for_each_strip(c, {}, [&](const Strip& strip) {
      for (int lane = 0; lane < strip.count; ++lane) hi[static_cast<std::size_t>(lane)] = strip.rows[lane] + 45;
      Span span = span_of(c, 0, 70);
      span.hi = hi.data();
      span.log2_bias = 1.5f;
      kernels::score(strip, span, std::log(2.0), scores.floats(), scratch.floats());
      for (int lane = 0; lane < strip.count; ++lane) {
        for (std::int64_t j = 0; j < 70; ++j) {
          const float s = scores.floats()[static_cast<std::size_t>(j * width + lane)];
          double exact = 1.5, size = 1.5;
          for (int e = 0; e < 33; ++e) {
            const double term = double{c.q.row(strip.rows[lane])[e]} * c.k.row(j)[e];
            exact += term;
            size += std::abs(term);
          }
          if (j < strip.rows[lane] + 45) {
            CHECK(std::abs(s - exact) <= 36 * std::ldexp(size, -24));
          } else {
            CHECK(s == -std::numeric_limits<float>::infinity());
          }
        }
      }
    });
  });
}

TEST_CASE("three passes compute attention") {
  for_each_target([] {
    for (const std::int64_t keys : {1, 17, 64, 300}) {
      Case c = make_case(35, keys, 40, 33, {1, 1});
      three_passes(c, [&](const Strip&) { return span_of(c, 0, keys); });
      std::vector<Seen> seen;
      for (std::int64_t j = 0; j < keys; ++j) seen.push_back({j});
      for (std::int64_t i = 0; i < 35; ++i) check_row(c, i, seen);
    }
  });
}

TEST_CASE("three passes with masks, empty rows and NaN agree with attend") {
  for_each_target([] {
    for (const bool poison : {false, true}) {
      Case c = make_case(60, 130, 16, 12);
      if (poison) {
        c.v.row(100)[5] = kNaN;
        c.k.row(120)[1] = kNaN;
      }
      std::array<std::int32_t, kernels::kMaxStrip> lo{}, hi{};
      const auto span_for = [&](const Strip& strip) {
        for (int lane = 0; lane < strip.count; ++lane) {
          lo[static_cast<std::size_t>(lane)] = strip.rows[lane] - 7;
          hi[static_cast<std::size_t>(lane)] = strip.rows[lane] % 5 == 0 ? 0 : strip.rows[lane] + 62;
        }
        Span span = span_of(c, 0, 130);
        span.lo = lo.data();
        span.hi = hi.data();
        return span;
      };
      three_passes(c, span_for);
      for (std::int64_t i = 0; i < 60; ++i) {
        std::vector<Seen> seen;
        for (std::int64_t j = i - 7; j < i + 62; ++j) {
          if (j >= 0 && i % 5 != 0) seen.push_back({j});
        }
        const bool sees_value = poison && i % 5 != 0 && i + 62 > 100, sees_key = poison && i % 5 != 0 && i + 62 > 120;
        INFO("row " << i << ", poison " << poison);
        if (sees_key) {
          CHECK((is_nan(*c.lse.row(i)) && is_nan(c.out.row(i)[0])));
        } else if (sees_value) {
          CHECK((is_nan(c.out.row(i)[5]) && std::isfinite(*c.lse.row(i))));
        } else {
          check_row(c, i, seen);
        }
      }
    }
  });
}

TEST_CASE("softmax sums stay accurate over 100,000 equal scores") {
  for_each_target([] {
    const std::int64_t keys = 100000, width = kernels::strip_width();
    Case c = make_case(1, 1, 1, 1);
    Scratch scores(keys * width), sums(width);
    std::fill(scores.floats().begin(), scores.floats().end(), 0.3f);
    // Every second score weighs 2^-1.7, which has rounding in every addition.
    for (std::size_t j = 0; j < static_cast<std::size_t>(keys); j += 2) scores.floats()[j * width] = -1.4f;
    for_each_strip(c, {}, [&](const Strip& strip) { kernels::softmax(strip, keys, scores.floats(), sums.floats()); });
    const double expected = 50000 * (1 + std::exp2(double{-1.4f} - double{0.3f}));
    CHECK(sums.floats()[0] == Approx(expected).epsilon((16 + 32 + 100000 / 256) * std::ldexp(1.0, -24)));
    CHECK(*c.lse.row(0) == Approx(std::log(expected) + 0.3f * std::log(2.0)).epsilon(1e-5));
  });
}

TEST_CASE("exp2 is right to 4u and keeps 1 at 0, over its whole range") {
  // softmax() with a largest score of 0 leaves exp2 of every score.
  for_each_target([] {
    const std::int64_t keys = 50000, width = kernels::strip_width();
    Case c = make_case(1, 1, 1, 1);
    Scratch scores(keys * width), sums(width);
    std::fill(scores.floats().begin(), scores.floats().end(), 0.0f);
    const auto score = [](std::int64_t j) { return static_cast<float>(-126.0 * static_cast<double>(j) / 50000); };
    const auto at = [&](std::int64_t j) -> float& { return scores.floats()[static_cast<std::size_t>(j * width)]; };
    for (std::int64_t j = 0; j < keys; ++j) at(j) = score(j);
    for_each_strip(c, {}, [&](const Strip& strip) { kernels::softmax(strip, keys, scores.floats(), sums.floats()); });
    CHECK(at(0) == 1.0f);
    double worst = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      worst = std::max(worst, std::abs(at(j) / std::exp2(double{score(j)}) - 1));
    }
    CHECK(worst <= 4 * std::ldexp(1.0, -24));
  });
}
