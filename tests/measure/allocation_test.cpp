// The counter is linked into this program as it is into the tool.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "measure/memory.hpp"
#include "support/catch.hpp"

using namespace attnscale;

#if defined(__GLIBC__) && !defined(ATTNSCALE_SANITIZED)

#include <dlfcn.h>
#include <malloc.h>

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// The compiler may leave out an allocation that nobody sees.
void* seen(void* pointer) {
  asm volatile("" : : "g"(pointer) : "memory");
  return pointer;
}

std::int64_t live() {
  return read_allocations()->live_bytes;
}

}  // namespace

TEST_CASE("64 MiB live are counted to the byte, and gone after") {
  const std::int64_t before = live();
  const CountedRegion region;
  CHECK(region.bytes() == 0);
  void* block = seen(std::malloc(64 * kMiB));
  CHECK(live() - before == static_cast<std::int64_t>(64 * kMiB));
  std::free(block);
  CHECK(live() == before);
  CHECK(region.bytes() == static_cast<std::int64_t>(64 * kMiB));

  const CountedRegion fresh;
  CHECK(fresh.bytes() == 0);
}

TEST_CASE("the peak is of what lives at one time, not the sum") {
  const CountedRegion region;
  for (int i = 0; i < 5; ++i) std::free(seen(std::malloc(kMiB)));
  void* first = seen(std::malloc(3 * kMiB));
  void* second = seen(std::malloc(2 * kMiB));
  std::free(first);
  void* third = seen(std::malloc(kMiB));
  std::free(second);
  std::free(third);
  CHECK(region.bytes() == static_cast<std::int64_t>(5 * kMiB));
}

TEST_CASE("every form of new and delete is counted once") {
  constexpr std::size_t kSize = 1000;
  constexpr std::align_val_t kLine{64};
  struct alignas(128) Wide {
    std::byte bytes[256];
  };
  using Pair = std::pair<std::function<void*()>, std::function<void(void*)>>;
  const std::vector<Pair> forms{
      {[] { return operator new(kSize); }, [](void* p) { operator delete(p); }},
      {[] { return operator new(kSize); }, [](void* p) { operator delete(p, kSize); }},
      {[] { return operator new[](kSize); }, [](void* p) { operator delete[](p); }},
      {[] { return operator new[](kSize); }, [](void* p) { operator delete[](p, kSize); }},
      {[] { return operator new(kSize, std::nothrow); }, [](void* p) { operator delete(p, std::nothrow); }},
      {[] { return operator new[](kSize, std::nothrow); }, [](void* p) { operator delete[](p, std::nothrow); }},
      {[] { return operator new(kSize, kLine); }, [](void* p) { operator delete(p, kLine); }},
      {[] { return operator new(kSize, kLine); }, [](void* p) { operator delete(p, kSize, kLine); }},
      {[] { return operator new[](kSize, kLine); }, [](void* p) { operator delete[](p, kLine); }},
      {[] { return operator new[](kSize, kLine); }, [](void* p) { operator delete[](p, kSize, kLine); }},
      {[] { return operator new(kSize, kLine, std::nothrow); },
       [](void* p) { operator delete(p, kLine, std::nothrow); }},
      {[] { return operator new[](kSize, kLine, std::nothrow); },
       [](void* p) { operator delete[](p, kLine, std::nothrow); }},
  };
  for (std::size_t i = 0; i < forms.size(); ++i) {
    CAPTURE(i);
    const AllocationReading before = *read_allocations();
    void* block = seen(forms[i].first());
    const AllocationReading during = *read_allocations();
    std::memset(block, 1, kSize);
    forms[i].second(block);
    const std::int64_t after = live();
    // libstdc++ rounds the size of an aligned new up to the alignment, as aligned_alloc demands.
    const std::int64_t expected = i < 6 ? 1000 : 1024;
    CHECK((during.live_bytes - before.live_bytes == expected || during.live_bytes - before.live_bytes == 1000));
    CHECK(during.allocations - before.allocations == 1);
    CHECK(after == before.live_bytes);
    if (i >= 6) CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
  }
  const std::int64_t before = live();
  auto wide = std::make_unique<Wide[]>(4);
  CHECK(live() - before == 1024);
  CHECK(reinterpret_cast<std::uintptr_t>(wide.get()) % 128 == 0);
  wide.reset();
  CHECK(live() == before);
}

TEST_CASE("the malloc family is counted, aligned and keeps its contents") {
  const std::int64_t before = live();
  const auto size_since = [&] { return live() - before; };

  auto* zeros = static_cast<unsigned char*>(seen(std::calloc(100, 7)));
  CHECK(size_since() == 700);
  int sum = 0;
  for (int i = 0; i < 700; ++i) sum += zeros[i];
  CHECK(sum == 0);
  std::memset(zeros, 7, 700);
  zeros = static_cast<unsigned char*>(std::realloc(zeros, 500000));
  CHECK(size_since() == 500000);
  zeros = static_cast<unsigned char*>(reallocarray(zeros, 300, 2));
  CHECK(size_since() == 600);
  sum = 0;
  for (int i = 0; i < 600; ++i) sum += zeros[i];
  CHECK(sum == 4200);
  std::free(zeros);
  CHECK(size_since() == 0);

  void* aligned = nullptr;
  REQUIRE(posix_memalign(&aligned, 4096, 100) == 0);
  CHECK(size_since() == 100);
  CHECK(reinterpret_cast<std::uintptr_t>(aligned) % 4096 == 0);
  std::memset(aligned, 5, 100);
  aligned = std::realloc(aligned, 10000);  // the alignment may go, the contents may not
  CHECK(size_since() == 10000);
  CHECK(static_cast<const char*>(aligned)[99] == 5);
  std::free(aligned);
  CHECK(posix_memalign(&aligned, 24, 100) == EINVAL);

  for (const std::size_t alignment : {8U, 16U, 32U, 64U, 256U, 65536U}) {
    for (void* block : {memalign(alignment, 40), std::aligned_alloc(alignment, 3 * alignment)}) {
      CHECK(reinterpret_cast<std::uintptr_t>(block) % alignment == 0);
      std::free(block);
    }
  }
  char* text = strdup("thirteen char");
  CHECK(size_since() == 14);
  CHECK(malloc_usable_size(text) == 14);
  std::free(text);
  void* nothing = seen(std::malloc(0));
  CHECK(nothing != nullptr);
  std::free(nothing);
  std::free(nullptr);
  CHECK(std::realloc(seen(std::malloc(10)), 0) == nullptr);
  CHECK(size_since() == 0);
}

TEST_CASE("sizes that cannot be had fail and are not counted") {
  const std::int64_t before = live();
  volatile std::size_t huge = SIZE_MAX - 8;
  CHECK(seen(std::malloc(huge)) == nullptr);
  CHECK(seen(std::calloc(huge, 3)) == nullptr);
  CHECK(seen(memalign(64, huge)) == nullptr);
  CHECK(reallocarray(nullptr, huge, 2) == nullptr);
  CHECK_THROWS_AS(seen(operator new(huge)), std::bad_alloc);
  CHECK(live() == before);
}

TEST_CASE("threads are counted together") {
  constexpr int kThreads = 8;
  const auto churn = [](int seed) {
    std::vector<void*> blocks;
    for (int i = 0; i < 2000; ++i) {
      blocks.push_back(seen(std::malloc(static_cast<std::size_t>(1 + (seed * 31 + i * 17) % 400))));
      if (i % 3 < 2) continue;
      std::free(blocks.front());
      blocks.front() = blocks.back();
      blocks.pop_back();
    }
    for (void* block : blocks) std::free(block);
  };
  const auto run = [&] {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(churn, i);
    for (std::thread& thread : threads) thread.join();
  };
  run();  // the C library keeps something for each thread that has been
  const std::int64_t before = live();
  const CountedRegion region;
  run();
  CHECK(live() == before);
  CHECK(region.bytes().value() > 0);
}

TEST_CASE("the same work is counted alike whatever was allocated before") {
  const auto count = [] {
    const CountedRegion region;
    std::vector<std::vector<float>> rows;
    for (std::size_t i = 0; i < 100; ++i) rows.emplace_back(10 * i + 1);
    return *region.bytes();
  };
  const std::int64_t first = count();
  std::vector<void*> holes;
  for (std::size_t i = 0; i < 500; ++i) holes.push_back(seen(std::malloc(37 * i % 5000)));
  for (std::size_t i = 0; i < 500; i += 2) std::free(holes[i]);
  CHECK(count() == first);
  for (std::size_t i = 1; i < 500; i += 2) std::free(holes[i]);
}

TEST_CASE("a library that asks for the symbols of the C library first gets ours, and is counted") {
  void* library = dlopen(ATTNSCALE_DEEPBIND, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  REQUIRE(library != nullptr);
  const auto copy = reinterpret_cast<char* (*)(const char*)>(dlsym(library, "copy"));
  const auto give_back = reinterpret_cast<void (*)(char*)>(dlsym(library, "give_back"));
  REQUIRE(copy != nullptr);
  REQUIRE(give_back != nullptr);
  const std::int64_t before = live();
  char* text = copy("thirteen char");
  CHECK(live() - before == 14);
  give_back(text);
  CHECK(live() == before);
}

#else

TEST_CASE("without the hooks readings are empty") {
  CHECK_FALSE(read_allocations());
  reset_allocation_peak();
  CHECK_FALSE(CountedRegion().bytes());
}

#endif
