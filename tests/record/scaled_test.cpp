// Numbers for people.
#include "record/scaled.hpp"

#include <cmath>

#include "support/catch.hpp"

using namespace attnscale;

TEST_CASE("times, bytes and counts with three digits and a unit") {
  CHECK(scaled_time(0) == "0.00 ns");
  CHECK(scaled_time(12.34) == "12.3 ns");
  CHECK(scaled_time(1234) == "1.23 us");
  CHECK(scaled_time(9.996e3) == "10.0 us");
  CHECK(scaled_time(999.9996e3) == "1.00 ms");
  CHECK(scaled_time(45.6e9) == "45.6 s");
  CHECK(scaled_time(7.2e12) == "7200 s");
  CHECK(scaled_bytes(0) == "0 B");
  CHECK(scaled_bytes(1000) == "1000 B");
  CHECK(scaled_bytes(1024) == "1.00 KiB");
  CHECK(scaled_bytes(1.5 * 1024 * 1024) == "1.50 MiB");
  CHECK(scaled_bytes(3.0 * 1024 * 1024 * 1024) == "3.00 GiB");
  CHECK(scaled_count(999) == "999");
  CHECK(scaled_count(16777216) == "16.8 M");
  CHECK(scaled_count(2547712) == "2.55 M");
  CHECK(scaled_count(4.295e9) == "4.29 G");
  CHECK(scaled_time(std::nan("")) == "nan");
}
