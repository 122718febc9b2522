#include "core/numbers.hpp"

#include <string>

#include "message.hpp"
#include "support/catch.hpp"

using namespace attnscale;

TEST_CASE("parse_integer accepts whole decimal numbers within bounds") {
  CHECK(parse_integer("0", "n", 0, 10) == 0);
  CHECK(parse_integer("10", "n", 0, 10) == 10);
  CHECK(parse_integer("-3", "n", -5, 5) == -3);
  CHECK(parse_integer("2147483648", "n", 1, kLongestSequence) == kLongestSequence);
}

TEST_CASE("parse_integer refuses everything else in one sentence that names the thing") {
  for (const char* text : {"", " 5", "5 ", "+5", "5.0", "1e3", "0x10", "five", "5,6", "--5"}) {
    const std::string message = message_of([&] { parse_integer(text, "queries", 1, 100); });
    INFO(text << " -> " << message);
    CHECK(contains(message, "queries is '"));
    CHECK(contains(message, "not a whole number"));
  }
  CHECK(contains(message_of([] { parse_integer("0", "n", 1, 9); }), "nearest valid value is 1"));
  CHECK(contains(message_of([] { parse_integer("12", "n", 1, 9); }), "nearest valid value is 9"));
  CHECK(contains(message_of([] { parse_integer("99999999999999999999", "n", 1, 9); }), "out of range"));
  CHECK(contains(message_of([] { parse_integer("2147483649", "n", 1, kLongestSequence); }), "2147483648"));
}

TEST_CASE("parse_real accepts finite numbers within bounds") {
  CHECK(parse_real("0.25", "scale", 0, 1) == 0.25);
  CHECK(parse_real("1e-3", "scale", 0, 1) == 1e-3);
  for (const char* text : {"", "nan", "inf", "1e999", "1,5", "0.5x", " 1"}) {
    INFO(text);
    CHECK(contains(message_of([&] { parse_real(text, "scale", 0, 1); }), "scale is '"));
  }
  CHECK(contains(message_of([] { parse_real("-1", "scale", 0, 1); }), "nearest valid value is 0"));
  CHECK(contains(message_of([] { parse_real("3", "scale", 0, 1); }), "nearest valid value is 1"));
}

TEST_CASE("ceil_root is the least integer whose power reaches n") {
  const auto reaches = [](std::int64_t b, int k, std::int64_t n) {
    long double power = 1;  // exact enough: compared values stay below 2^64
    for (int i = 0; i < k; ++i) power *= static_cast<long double>(b);
    return power >= static_cast<long double>(n);
  };
  for (int k = 1; k <= 6; ++k) {
    for (std::int64_t n = 1; n <= 5000; ++n) {
      const std::int64_t b = ceil_root(n, k);
      REQUIRE(reaches(b, k, n));
      REQUIRE((b == 1 || !reaches(b - 1, k, n)));
    }
  }
  // Perfect powers and their neighbours, where pow() may round to either side.
  CHECK(ceil_root(4096, 2) == 64);
  CHECK(ceil_root(4097, 2) == 65);
  CHECK(ceil_root(125, 3) == 5);
  CHECK(ceil_root(126, 3) == 6);
  CHECK(ceil_root(kLongestSequence, 2) == 46341);
  CHECK(ceil_root(std::int64_t{1} << 62, 2) == std::int64_t{1} << 31);
  CHECK(ceil_root(5, 63) == 2);
}

TEST_CASE("ceil_div rounds up") {
  CHECK(ceil_div(0, 3) == 0);
  CHECK(ceil_div(1, 3) == 1);
  CHECK(ceil_div(3, 3) == 1);
  CHECK(ceil_div(4, 3) == 2);
}

TEST_CASE("quoted shows control characters and cuts long text") {
  CHECK(quoted("abc") == "'abc'");
  CHECK(quoted("a\nb\x7f") == "'a\\x0ab\\x7f'");
  CHECK(quoted(std::string(200, 'x')) == "'" + std::string(80, 'x') + "...'");
}
