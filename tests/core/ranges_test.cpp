#include "core/ranges.hpp"

#include "core/numbers.hpp"
#include "message.hpp"
#include "support/catch.hpp"

using namespace attnscale;

namespace {
constexpr Bounds kSizes{1, kLongestSequence};
using Values = std::vector<std::int64_t>;
Values sizes(const std::string& text, char separator = ',') {
  return parse_range(text, "n", kSizes, separator);
}
}  // namespace

TEST_CASE("ranges expand to their values in order") {
  CHECK(sizes("64") == Values{64});
  CHECK(sizes("64,32,100") == Values{64, 32, 100});
  CHECK(sizes("64/32", '/') == Values{64, 32});
  CHECK(sizes("64..512x2") == Values{64, 128, 256, 512});
  CHECK(sizes("64..512*2") == Values{64, 128, 256, 512});
  CHECK(sizes("64..500x2") == Values{64, 128, 256});
  CHECK(sizes("3..100x3") == Values{3, 9, 27, 81});
  CHECK(sizes("16..48+16") == Values{16, 32, 48});
  CHECK(sizes("16..47+16") == Values{16, 32});
  CHECK(sizes("8..8x2") == Values{8});
  CHECK(sizes("1..4x2,4,3..5+1") == Values{1, 2, 4, 3, 5});  // no repetitions
}

TEST_CASE("sizes per octave are multiples of 16 and hit both ends") {
  CHECK(sizes("512..2048@1") == Values{512, 1024, 2048});
  CHECK(sizes("512..2048@2") == Values{512, 720, 1024, 1456, 2048});
  CHECK(sizes("512..16384@2").size() == 11);
  CHECK(sizes("512..16384@2").back() == 16384);
  CHECK(sizes("100..200@1").front() == 100);  // rounding never leaves the range
}

TEST_CASE("a factor near the bound neither overflows nor repeats") {
  CHECK(sizes("1..2147483648x2147483648") == Values{1, kLongestSequence});
  CHECK(sizes("1073741824..2147483648x2").size() == 2);
}

TEST_CASE("bad ranges are refused") {
  for (const char* text :
       {"",       ",",         "64,",      "8..4x2",  "8..4@2",          "8..16",    "8..",      "..8x2",
        "8..16x", "8..16x1",   "8..16x0",  "8..16+0", "8..16@0",         "8..16@65", "0",        "-1",
        "0..8x2", "1..2..3x2", "1..2x2x2", "a..bx2",  "1..3000000000x2", "1.5..8x2", "1..9000+1"}) {
    INFO(text);
    CHECK(contains(message_of([&] { sizes(text); }), "n "));
  }
  CHECK(contains(message_of([] { sizes("8..4x2"); }), "write 4..8x2"));
  CHECK(contains(message_of([] { sizes("1..9000+1"); }), "more than 4096"));
}

TEST_CASE("sweeps from zero end: steps work, factors and octaves are refused") {
  const Bounds windows{0, 1000};
  CHECK(parse_range("0..4+2", "w", windows) == Values{0, 2, 4});
  CHECK(contains(message_of([&] { parse_range("0..64x2", "w", windows); }), "starts at 1"));
  CHECK(contains(message_of([&] { parse_range("0..64@2", "w", windows); }), "starts at 1"));
}

TEST_CASE("split keeps empty parts") {
  CHECK(split("", ',') == std::vector<std::string>{""});
  CHECK(split("a,,b,", ',') == std::vector<std::string>{"a", "", "b", ""});
}
