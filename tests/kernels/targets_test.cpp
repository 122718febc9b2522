// Choosing a SIMD target at run time.
#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "naive.hpp"

namespace kernels = attnscale::kernels;

TEST_CASE("the best SIMD target is in use, and each can be chosen by name") {
  const std::vector<std::string> names = kernels::available_targets();
  REQUIRE_FALSE(names.empty());
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  CHECK(kernels::current_target() == names.front());
  CHECK(names.back() == (names.size() == 1 && names[0] == "neon" ? "neon" : "scalar"));
  for (const std::string& name : names) {
    kernels::use_target(name);
    CHECK(kernels::current_target() == name);
    CHECK(kernels::strip_width() >= 1);
    CHECK(kernels::strip_width() <= kernels::kMaxStrip);
  }
  kernels::use_target(names.front());
}

TEST_CASE("an unknown SIMD target is refused with the nearest name, and nothing changes") {
  const std::string before = kernels::current_target();
  CHECK_THROWS_AS(kernels::use_target("scalr"), attnscale::InputError);
  CHECK_THROWS_WITH(kernels::use_target("scalr"), "unknown SIMD target 'scalr'; did you mean 'scalar'?");
  CHECK(kernels::current_target() == before);
}

TEST_CASE("the workspace of a strip stays far under 1 MB") {
  kernel_test::for_each_target([] {
    CHECK(kernels::attend_scratch(64, 64) * 4 <= 64 * 1024);
    CHECK(kernels::attend_scratch(256, 256) * 4 <= 256 * 1024);
  });
}
