#include "measure/proc.hpp"

#include "measure/temporary_folder.hpp"
#include "support/catch.hpp"

using namespace attnscale;

TEST_CASE("sizes come in bytes whatever their unit") {
  CHECK(size_in_bytes("123") == 123);
  CHECK(size_in_bytes("64 kB") == 65536);
  CHECK(size_in_bytes("48K") == 49152);
  CHECK(size_in_bytes("8M") == 8388608);
  CHECK(size_in_bytes("2G") == std::int64_t{2} << 30);
  CHECK(size_in_bytes("0") == 0);
  CHECK_FALSE(size_in_bytes("max"));
  CHECK_FALSE(size_in_bytes(""));
  CHECK_FALSE(size_in_bytes("5 apples"));
}

TEST_CASE("a line is found by its whole key") {
  const TemporaryFolder folder;
  folder.write("status", "VmRSSPeak:\t   7 kB\nVmRSS:\t  1748 kB\nmodel name\t: Some: CPU \ninactive_file 12\n");
  const std::string path = folder.path() + "/status";
  CHECK(line_value(path, "VmRSS") == "1748 kB");
  CHECK(line_value(path, "model name") == "Some: CPU");
  CHECK(line_value(path, "inactive_file") == "12");
  CHECK_FALSE(line_value(path, "VmHWM"));
  CHECK_FALSE(line_value(folder.path() + "/missing", "VmRSS"));
  CHECK(first_line(path) == "VmRSSPeak:\t   7 kB");
  CHECK_FALSE(first_line(folder.path() + "/missing"));
}
