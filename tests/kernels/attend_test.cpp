// attend() against the definition in fp64, for every SIMD target.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "naive.hpp"

using namespace kernel_test;
namespace kernels = attnscale::kernels;
using kernels::Span;
using kernels::Strip;

namespace {

std::vector<Seen> keys_between(std::int64_t first, std::int64_t last) {
  std::vector<Seen> seen;
  for (std::int64_t j = first; j < last; ++j) seen.push_back({j});
  return seen;
}

SpanList whole(const Case& c) {
  return [&c](const Strip&) { return std::vector<Span>{span_of(c, 0, c.k.view().rows)}; };
}

void check_all(const Case& c) {
  for (std::int64_t i = 0; i < c.q.view().rows; ++i) check_row(c, i, keys_between(0, c.k.view().rows));
  CHECK(c.out.padding_is_untouched());
  CHECK(c.lse.padding_is_untouched());
}

}  // namespace

TEST_CASE("attend at odd numbers of queries and keys, misaligned, with NaN between the rows") {
  const std::vector<std::int64_t> sizes{1, 2, 7, 15, 16, 17, 31, 33, 63, 64, 65, 100};
  for_each_target([&] {
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      const std::int64_t queries = sizes[s], keys = sizes[(s * 5 + 3) % sizes.size()];
      for (const std::int64_t n : {keys, queries}) {
        Case c = make_case(queries, n, 33, 17, {1, 3});
        CHECK(attend_all(c, whole(c)) == queries * n);
        check_all(c);
      }
    }
  });
}

TEST_CASE("attend at odd head sizes, reading nothing behind the last row") {
  const std::vector<std::int64_t> sizes{1, 3, 8, 33, 64, 80, 128, 130};
  for_each_target([&] {
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      for (const std::size_t other : {s, (s + 3) % sizes.size()}) {
        Case c = make_case(19, 70, sizes[s], sizes[other]);
        CHECK(attend_all(c, whole(c)) == 19 * 70);
        check_all(c);
      }
    }
  });
}

TEST_CASE("attend takes rows of a strip in any order and distance") {
  for_each_target([] {
    Case c = make_case(90, 40, 16, 8, {3, 5});
    std::vector<std::int32_t> order;
    for (std::int32_t i = 0; i < 90; i += 2) order.push_back(i);
    std::shuffle(order.begin(), order.end(), std::mt19937(5));
    CHECK(attend_all(c, whole(c), false, order) == 45 * 40);
    for (std::int64_t i = 0; i < 90; i += 2) check_row(c, i, keys_between(0, 40));
    for (std::int64_t i = 1; i < 90; i += 2) CHECK(*c.lse.row(i) == 7.0f);
  });
}

TEST_CASE("attend over strided keys sees every third one") {
  for_each_target([] {
    Case c = make_case(20, 100, 24, 12, {1, 1});
    attend_all(c, [&](const Strip&) {
      Span span = span_of(c, 1, 33);
      span.k_stride *= 3;
      span.v_stride *= 3;
      return std::vector<Span>{span};
    });
    std::vector<Seen> seen;
    for (std::int64_t j = 0; j < 33; ++j) seen.push_back({1 + 3 * j});
    for (std::int64_t i = 0; i < 20; ++i) check_row(c, i, seen);
  });
}

TEST_CASE("attend over several spans with biases is one softmax over their union") {
  for_each_target([] {
    Case c = make_case(37, 120, 16, 20);
    attend_all(c, [&](const Strip&) {
      std::vector<Span> spans{span_of(c, 50, 70), span_of(c, 0, 0), span_of(c, 0, 1), span_of(c, 3, 40)};
      spans[0].log2_bias = 6.5f;
      spans[3].log2_bias = -2.25f;
      return spans;
    });
    std::vector<Seen> seen{{0, 0.0}};
    for (std::int64_t j = 50; j < 120; ++j) seen.push_back({j, 6.5 * std::log(2.0)});
    for (std::int64_t j = 3; j < 43; ++j) seen.push_back({j, -2.25 * std::log(2.0)});
    for (std::int64_t i = 0; i < 37; ++i) check_row(c, i, seen);
  });
}

TEST_CASE("attend without spans gives 0 and -inf") {
  for_each_target([] {
    Case c = make_case(5, 3, 4, 6);
    CHECK(attend_all(c, [](const Strip&) { return std::vector<Span>{}; }) == 0);
    for (std::int64_t i = 0; i < 5; ++i) {
      CHECK(std::all_of(c.out.row(i), c.out.row(i) + 6, [](float x) { return x == 0; }));
      CHECK(*c.lse.row(i) == -std::numeric_limits<float>::infinity());
    }
  });
}

TEST_CASE("resume goes on from the stored state: disjoint key sets merge, empty states add nothing") {
  for_each_target([] {
    Case c = make_case(35, 150, 32, 33);
    const auto part = [&](std::int64_t first, std::int64_t count) {
      return [&c, first, count](const Strip&) { return std::vector<Span>{span_of(c, first, count)}; };
    };
    const auto nothing = [](const Strip&) { return std::vector<Span>{}; };
    attend_all(c, nothing);
    attend_all(c, nothing, true);  // empty merged with empty
    CHECK(*c.lse.row(3) == -std::numeric_limits<float>::infinity());
    std::fill_n(c.out.row(9), 33, std::numeric_limits<float>::quiet_NaN());  // an empty state holds no output
    attend_all(c, part(0, 70), true);
    for (std::int64_t i = 0; i < 35; ++i) check_row(c, i, keys_between(0, 70), 1);
    attend_all(c, nothing, true);
    attend_all(c, part(70, 80), true);
    for (std::int64_t i = 0; i < 35; ++i) check_row(c, i, keys_between(0, 150), 3);
  });
}

TEST_CASE("attend with large logits: 1e4 apart, and -1e4 or -5e4 as valid scores") {
  for_each_target([] {
    Case wide = make_case(17, 80, 16, 8, {}, 50);  // |s| up to about 1e4
    attend_all(wide, whole(wide));
    check_all(wide);
    for (const float level : {-1e4f, -5e4f, 1e4f}) {
      Case c = make_case(17, 80, 16, 8);
      for (std::int64_t i = 0; i < 17; ++i) {
        std::fill_n(c.q.row(i), 16, 0.0f);
        c.q.row(i)[0] = 4 * level;  // scale is 1/4
      }
      for (std::int64_t j = 0; j < 80; ++j) c.k.row(j)[0] = 1;
      attend_all(c, whole(c));
      check_all(c);
      CHECK(std::abs(*c.lse.row(0) - (level + std::log(80.0))) < 1e-2);
    }
  });
}

TEST_CASE("a weight that underflows is exactly 0, not 2^-126") {
  for_each_target([] {
    Case c = make_case(3, 2, 1, 1);
    c.scale = 1;
    for (std::int64_t i = 0; i < 3; ++i) c.q.row(i)[0] = 1;
    c.k.row(0)[0] = 0;
    c.k.row(1)[0] = -88.0f;  // 2^-126.96
    c.v.row(0)[0] = 0;
    c.v.row(1)[0] = 3e38f;
    attend_all(c, whole(c));
    CHECK(c.out.row(1)[0] == 0.0f);
    c.k.row(1)[0] = -87.0f;  // 2^-125.5
    attend_all(c, whole(c));
    CHECK(c.out.row(1)[0] == Approx(3e38 * std::exp(-87.0)).epsilon(1e-5));
  });
}

TEST_CASE("weights are right down to 2^-126 and exactly 0 below") {
  for_each_target([] {
    for (double x = -100; x > -400; x -= 0.37) {  // base 2; exp2 must not wrap around at its lowest exponents
      Case c = make_case(1, 2, 1, 1);
      c.scale = std::log(2.0);
      c.q.row(0)[0] = 1;
      c.k.row(0)[0] = 0;
      c.k.row(1)[0] = static_cast<float>(x);
      c.v.row(0)[0] = 0;
      c.v.row(1)[0] = 1e30f;
      attend_all(c, whole(c));
      if (x < -126.001) {
        CHECK(c.out.row(0)[0] == 0.0f);
      } else {
        CHECK(c.out.row(0)[0] == Approx(1e30 * std::exp2(double{c.k.row(1)[0]})).epsilon(1e-6));
      }
    }
  });
}

TEST_CASE("sums have two levels: equal keys give their common value at n = 4096") {
  for_each_target([] {
    Case c = make_case(1, 4096, 4, 3);
    std::fill_n(c.q.row(0), 4, 0.0f);
    for (std::int64_t j = 0; j < 4096; ++j) {
      for (int e = 0; e < 3; ++e) c.v.row(j)[e] = 0.1f + 0.2f * static_cast<float>(e);
    }
    attend_all(c, whole(c));
    check_row(c, 0, keys_between(0, 4096));
    // One chain of 4096 additions of 0.1f is off by 5e-5 of the sum; two levels leave a few u.
    for (int e = 0; e < 3; ++e) CHECK(c.out.row(0)[e] == Approx(0.1f + 0.2f * static_cast<float>(e)).epsilon(2e-6));
  });
}

TEST_CASE("one value per row gives one: outputs are convex combinations") {
  for_each_target([] {
    Case c = make_case(16, 300, 64, 2);
    for (std::int64_t j = 0; j < 300; ++j) std::fill_n(c.v.row(j), 2, 1.0f);
    attend_all(c, whole(c));
    for (std::int64_t i = 0; i < 16; ++i) CHECK(c.out.row(i)[1] == Approx(1).epsilon(1e-6));
  });
}

TEST_CASE("a span with an order reads scattered rows, in strips and row by row; codes are those of the rows") {
  const std::int64_t keys = 150;
  std::vector<std::int32_t> order(keys), code(keys), hi(kernels::kMaxStrip), own(kernels::kMaxStrip);
  for (std::int64_t j = 0; j < keys; ++j) {
    order[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(j * 37 % keys);
    code[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(j % 5);
  }
  const auto seen_places = [keys](std::int64_t row) {
    return std::min<std::int64_t>(keys, row % 4 == 3 ? 0 : 20 + 3 * row);
  };
  for_each_target([&] {
    for (const std::int64_t queries : {1, 3, 20, 70}) {
      for (const int codes : {0, 1}) {
        Case c = make_case(queries, keys, 20, 9, {1, 2});
        kernels::PairMask met;
        met.codes = codes;
        met.key_code = code.data();
        met.query_code = own.data();
        (void)attend_all(c, [&](const Strip& strip) {
          for (int lane = 0; lane < strip.count; ++lane) {
            hi[static_cast<std::size_t>(lane)] = static_cast<std::int32_t>(seen_places(strip.rows[lane]));
            own[static_cast<std::size_t>(lane)] = strip.rows[lane] % 5;
          }
          Span span = span_of(c, 0, keys);
          span.hi = hi.data();
          span.order = order.data();
          if (codes > 0) span.pairs = &met;
          return std::vector<Span>{span};
        });
        for (std::int64_t i = 0; i < queries; ++i) {
          std::vector<Seen> seen;
          for (std::int64_t t = 0; t < seen_places(i); ++t) {
            const std::int32_t key = order[static_cast<std::size_t>(t)];
            if (codes == 0 || code[static_cast<std::size_t>(key)] != i % 5) seen.push_back({key});
          }
          check_row(c, i, seen);
        }
      }
    }
  });
}

TEST_CASE("strips that go through the keys together give the bits that they give alone") {
  for_each_target([] {
    for (const bool spoilt : {false, true}) {
      // More keys than a strip takes in one turn; the last strip is short, and one strip sees nothing.
      Case alone = make_case(3 * kernels::strip_width() + 1, 1500, 128, 128);
      if (spoilt) alone.v.row(1400)[5] = std::numeric_limits<float>::quiet_NaN();
      Case together = alone;
      std::vector<std::int32_t> lo(kernels::kMaxStrip, 3), hi(kernels::kMaxStrip);
      for (std::size_t lane = 0; lane < hi.size(); ++lane) hi[lane] = 1300 + static_cast<std::int32_t>(lane * 5);
      const auto span_for = [&](const Case& c, std::int32_t row) {
        Span span = span_of(c, 0, row == kernels::strip_width() ? 0 : 1500);
        if (row == 0) span.lo = lo.data(), span.hi = hi.data();
        return span;
      };
      const std::int64_t pairs =
          attend_all(alone, [&](const Strip& strip) { return std::vector<Span>{span_for(alone, strip.rows[0])}; });
      std::vector<Strip> strips;
      std::vector<Span> spans;
      std::vector<std::int32_t> rows(static_cast<std::size_t>(together.q.view().rows));
      std::iota(rows.begin(), rows.end(), 0);
      const int width = kernels::strip_width();
      for (int first = 0; first < static_cast<int>(rows.size()); first += width) {
        const int count = std::min(width, static_cast<int>(rows.size()) - first);
        strips.push_back({together.q.view(), together.out.view(), together.lse.view(), rows.data() + first, count});
        spans.push_back(span_for(together, first));
      }
      Scratch scratch(kernels::attend_block_scratch(128, 128, static_cast<std::int64_t>(strips.size())));
      CHECK(kernels::attend_block(strips, spans, together.scale, scratch.floats()) == pairs);
      for (std::int64_t i = 0; i < alone.q.view().rows; ++i) {
        CHECK(std::memcmp(alone.out.row(i), together.out.row(i), 128 * sizeof(float)) == 0);
        CHECK(std::memcmp(alone.lse.row(i), together.lse.row(i), sizeof(float)) == 0);
      }
    }
  });
}
