// Hidden pairs: intervals per lane, conditions per pair, and values that are not numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "naive.hpp"

using namespace kernel_test;
using attnscale::kernels::kMaxStrip;
using attnscale::kernels::PairMask;
using attnscale::kernels::Span;
using attnscale::kernels::Strip;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

using Lanes = std::array<std::int32_t, kMaxStrip>;
using Interval = std::function<std::pair<std::int64_t, std::int64_t>(std::int64_t row)>;
using Sees = std::function<bool(std::int64_t row, std::int64_t key)>;

/// Keys [lo, hi) of each row, given as spans that start at every `cuts`; bounds are handed over unclamped.
class Intervals {
 public:
  Intervals(const Case& c, Interval interval, std::vector<std::int64_t> cuts)
      : c_(c), interval_(std::move(interval)), cuts_(std::move(cuts)), lo_(cuts_.size()), hi_(cuts_.size()) {}

  std::vector<Span> operator()(const Strip& strip) {
    std::vector<Span> spans;
    for (std::size_t s = 0; s < cuts_.size(); ++s) {
      const std::int64_t end = s + 1 < cuts_.size() ? cuts_[s + 1] : c_.k.view().rows;
      for (std::size_t lane = 0; lane < static_cast<std::size_t>(strip.count); ++lane) {
        const auto [lo, hi] = interval_(strip.rows[lane]);
        lo_[s][lane] = static_cast<std::int32_t>(lo - cuts_[s]);
        hi_[s][lane] = static_cast<std::int32_t>(hi - cuts_[s]);
      }
      Span span = span_of(c_, cuts_[s], end - cuts_[s]);
      span.lo = lo_[s].data();
      span.hi = hi_[s].data();
      spans.push_back(span);
    }
    return spans;
  }

 private:
  const Case& c_;
  Interval interval_;
  std::vector<std::int64_t> cuts_;
  std::vector<Lanes> lo_, hi_;
};

std::vector<Seen> seen_by(const Case& c, std::int64_t row, const Sees& sees) {
  std::vector<Seen> seen;
  for (std::int64_t j = 0; j < c.k.view().rows; ++j) {
    if (sees(row, j)) seen.push_back({j});
  }
  return seen;
}

void check_all(const Case& c, std::int64_t pairs, const Sees& sees) {
  std::int64_t expected = 0;
  for (std::int64_t i = 0; i < c.q.view().rows; ++i) {
    const std::vector<Seen> seen = seen_by(c, i, sees);
    check_row(c, i, seen);
    expected += static_cast<std::int64_t>(seen.size());
  }
  CHECK(pairs == expected);
}

void check_intervals(Case& c, const Interval& interval, const std::vector<std::int64_t>& cuts) {
  const std::int64_t pairs = attend_all(c, Intervals(c, interval, cuts));
  check_all(c, pairs, [&](std::int64_t row, std::int64_t key) {
    const auto [lo, hi] = interval(row);
    return lo <= key && key < hi;
  });
}

}  // namespace

TEST_CASE("intervals: causal, windows, blocks, empty rows, in one span and in several") {
  const std::vector<Interval> intervals{
      [](std::int64_t i) { return std::pair(std::int64_t{0}, i + 1); },
      [](std::int64_t i) { return std::pair(i - 5, i + 6); },
      [](std::int64_t i) { return std::pair(i - 70, i + 71); },
      [](std::int64_t i) { return std::pair(i / 13 * 13, i / 13 * 13 + 13); },
      [](std::int64_t i) { return std::pair(std::int64_t{100}, i % 3 == 0 ? std::int64_t{100} : 100 + i); },
      [](std::int64_t i) { return std::pair(140 - i, std::int64_t{1000}); },
      [](std::int64_t i) { return std::pair(i, i); },
      [](std::int64_t i) { return std::pair(i + 1, i - 1); },
  };
  for_each_target([&] {
    for (const Interval& interval : intervals) {
      for (const std::vector<std::int64_t>& cuts :
           {std::vector<std::int64_t>{0}, std::vector<std::int64_t>{0, 1, 64, 129}}) {
        Case c = make_case(150, 150, 20, 9, {1, 2});
        check_intervals(c, interval, cuts);
      }
    }
  });
}

TEST_CASE("the first tiles hidden from some rows, and from all") {
  for_each_target([] {
    Case c = make_case(33, 300, 16, 16);
    check_intervals(
        c, [](std::int64_t i) { return std::pair(i % 2 == 0 ? std::int64_t{0} : std::int64_t{200}, 201 + i); }, {0});
    check_intervals(c, [](std::int64_t) { return std::pair(std::int64_t{131}, std::int64_t{300}); }, {0, 128});
  });
}

TEST_CASE("hidden keys do not beat large negative scores") {
  for_each_target([] {
    Case c = make_case(20, 40, 1, 4);
    c.scale = 1;
    for (std::int64_t i = 0; i < 20; ++i) c.q.row(i)[0] = 5e4f;
    for (std::int64_t j = 0; j < 40; ++j) c.k.row(j)[0] = -1;
    check_intervals(c, [](std::int64_t i) { return std::pair(i, i + 3); }, {0});
  });
}

TEST_CASE("conditions on pairs: causal and self by position, pairs met before by code") {
  // Keys and queries in a shuffled order, as after an LSH sort; codes are bucket numbers of two earlier rounds.
  const std::int64_t n = 90;
  std::vector<std::int32_t> position(n), code(2 * n), code_b(2 * n);
  for (std::int64_t j = 0; j < n; ++j) {
    const auto at = static_cast<std::size_t>(j);
    position[at] = static_cast<std::int32_t>(j * 37 % n);
    code[at] = static_cast<std::int32_t>(j % 5);
    code[at + n] = static_cast<std::int32_t>(j % 7);
    code_b[at] = code[at] + 1;
    code_b[at + n] = code[at + n] + 1;
  }
  for_each_target([&] {
    for (const int kind : {0, 1, 2, 3, 4}) {
      Case c = make_case(n, n, 12, 10);
      PairMask mask;
      Lanes query_position{};
      std::array<std::int32_t, 2 * kMaxStrip> query_code{}, query_code_b{};
      mask.key_position = position.data();
      mask.query_position = query_position.data();
      mask.causal = kind == 0 || kind == 4;
      mask.hide_self = kind == 1 || kind == 4;
      mask.codes = kind >= 2 ? 2 : 0;
      mask.key_code = code.data();
      mask.key_code_stride = n;
      mask.query_code = query_code.data();
      mask.query_code_b = kind == 3 ? query_code_b.data() : nullptr;
      Lanes lo{};
      const std::int64_t pairs = attend_all(c, [&](const Strip& strip) {
        for (std::size_t lane = 0; lane < static_cast<std::size_t>(strip.count); ++lane) {
          const auto row = static_cast<std::size_t>(strip.rows[lane]);
          query_position[lane] = position[row];
          lo[lane] = static_cast<std::int32_t>(row % 4);
          for (std::size_t r = 0; r < 2; ++r) {
            query_code[r * kMaxStrip + lane] = code[row + r * n];
            query_code_b[r * kMaxStrip + lane] = code_b[row + r * n];
          }
        }
        Span span = span_of(c, 0, n);
        span.lo = lo.data();
        span.pairs = &mask;
        return std::vector<Span>{span};
      });
      check_all(c, pairs, [&](std::int64_t i, std::int64_t j) {
        const auto q = static_cast<std::size_t>(i), k = static_cast<std::size_t>(j);
        bool hidden = j < i % 4;
        hidden = hidden || (mask.causal && position[k] > position[q]);
        hidden = hidden || (mask.hide_self && position[k] == position[q]);
        for (std::size_t r = 0; r < static_cast<std::size_t>(mask.codes); ++r) {
          hidden = hidden || code[k + r * n] == code[q + r * n];
          hidden = hidden || (mask.query_code_b != nullptr && code[k + r * n] == code_b[q + r * n]);
        }
        return !hidden;
      });
    }
  });
}

TEST_CASE("NaN and infinity in hidden keys and values change nothing") {
  for_each_target([] {
    for (const float poison : {kNaN, std::numeric_limits<float>::infinity()}) {
      Case c = make_case(40, 120, 16, 10);
      const Interval window = [](std::int64_t i) { return std::pair(i + 20, i + 60); };
      for (std::int64_t j = 0; j < 120; ++j) {
        // Keys before 20 and from 99 on are seen by nobody; 59 and 60 by some, so they stay.
        if (j < 20 || j >= 99) {
          std::fill_n(c.k.row(j), 16, poison);
          std::fill_n(c.v.row(j), 10, poison);
        }
      }
      check_intervals(c, window, {0});
    }
  });
}

TEST_CASE("NaN reaches exactly the rows that see it") {
  const Interval causal = [](std::int64_t i) { return std::pair(std::int64_t{0}, i + 1); };
  const Sees sees = [](std::int64_t i, std::int64_t j) { return j <= i; };
  for_each_target([&] {
    for (const int where : {0, 1, 2}) {  // query, key, value
      Case c = make_case(70, 70, 16, 10);
      Matrix& poisoned = where == 0 ? c.q : where == 1 ? c.k : c.v;
      poisoned.row(45)[3] = kNaN;
      attend_all(c, Intervals(c, causal, {0}));
      for (std::int64_t i = 0; i < 70; ++i) {
        const bool hit = where == 0 ? i == 45 : i >= 45;
        INFO("poison " << where << ", row " << i);
        if (!hit) {
          check_row(c, i, seen_by(c, i, sees));
        } else if (where == 2) {
          CHECK(is_nan(c.out.row(i)[3]));
          CHECK(std::isfinite(*c.lse.row(i)));
        } else {
          CHECK(std::all_of(c.out.row(i), c.out.row(i) + 10, is_nan));
          CHECK(is_nan(*c.lse.row(i)));
        }
      }
    }
  });
}

TEST_CASE("NaN in the first and in the last key of a long row is not lost between tiles") {
  for_each_target([] {
    for (const std::int64_t at : {std::int64_t{0}, std::int64_t{100}, std::int64_t{299}}) {
      Case c = make_case(3, 300, 8, 4);
      c.k.row(at)[0] = kNaN;
      attend_all(c, [&](const Strip&) { return std::vector<Span>{span_of(c, 0, 300)}; });
      for (std::int64_t i = 0; i < 3; ++i) CHECK((is_nan(*c.lse.row(i)) && is_nan(c.out.row(i)[3])));
    }
  });
}

TEST_CASE("a NaN state stays NaN on resume, and rows beside it are right") {
  for_each_target([] {
    Case c = make_case(9, 50, 8, 4);
    const auto part = [&](std::int64_t first, std::int64_t count) {
      return [&c, first, count](const Strip&) { return std::vector<Span>{span_of(c, first, count)}; };
    };
    attend_all(c, part(0, 20));
    std::fill_n(c.out.row(4), 4, kNaN);
    *c.lse.row(4) = kNaN;
    c.out.row(6)[2] = kNaN;
    attend_all(c, part(20, 30), true);
    CHECK((is_nan(*c.lse.row(4)) && is_nan(c.out.row(4)[0])));
    CHECK((is_nan(c.out.row(6)[2]) && std::isfinite(c.out.row(6)[1])));
    for (const std::int64_t i : {3, 5, 7}) {
      std::vector<Seen> seen;
      for (std::int64_t j = 0; j < 50; ++j) seen.push_back({j});
      check_row(c, i, seen, 2);
    }
  });
}
