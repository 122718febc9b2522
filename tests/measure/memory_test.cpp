#include "measure/memory.hpp"

#include <cstring>

#include <sys/mman.h>
#include <sys/resource.h>

#include "support/catch.hpp"

using namespace attnscale;

#if defined(__linux__) && !defined(ATTNSCALE_SANITIZED)

TEST_CASE("the resident peak counts pages that were touched since the reset, and no others") {
  constexpr std::int64_t kSize = std::int64_t{64} << 20;
  constexpr std::int64_t kSlack = std::int64_t{4} << 20;
  const auto touch = [](std::int64_t bytes) {
    void* pages = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    std::memset(pages, 1, static_cast<std::size_t>(bytes));
    munmap(pages, kSize);
  };
  touch(kSize);
  const auto before = reset_resident_peak();
  if (!before) {
    WARN("clear_refs is not available here");
    return;
  }
  CHECK(*before > 0);
  CHECK(resident_peak().value() - *before < kSlack);
  touch(kSize / 2);
  CHECK(resident_peak().value() - *before >= kSize / 2 - kSlack);
  CHECK(resident_peak().value() - *before < kSize / 2 + kSlack);
}

TEST_CASE("RLIMIT_AS bounds free memory") {
  const auto unbounded = free_memory();
  REQUIRE(unbounded);
  rlimit old{};
  REQUIRE(getrlimit(RLIMIT_AS, &old) == 0);
  rlimit lower = old;
  lower.rlim_cur = rlim_t{8} << 30;
  const bool lowered = setrlimit(RLIMIT_AS, &lower) == 0;
  const auto bounded = free_memory();
  setrlimit(RLIMIT_AS, &old);
  REQUIRE(lowered);
  REQUIRE(bounded);
  CHECK(*bounded < std::int64_t{8} << 30);
  CHECK(*bounded > 0);
}

#endif

TEST_CASE("free memory is positive and below an exabyte where it is known") {
  const auto bytes = free_memory();
  if (!bytes) return;
  CHECK(*bytes > 0);
  CHECK(*bytes < std::int64_t{1} << 60);
}
