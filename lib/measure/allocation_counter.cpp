// Replaces the malloc family of glibc, on which every form of new and delete of libstdc++ stands, by one that counts.
// Each block carries a header of 16 bytes with the size that was asked for, so that what is counted is that size and
// not the allocator's rounding, which depends on what was allocated before. Linked by programs only; compiles to
// nothing off glibc and under sanitizers, which replace malloc themselves.
#include <cstdlib>

#if defined(__GLIBC__) && !defined(ATTNSCALE_SANITIZED)

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include "measure/memory.hpp"

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

/// Stands right before what the caller sees; its size keeps the alignment of malloc.
struct alignas(std::max_align_t) Header {
  std::size_t bytes;   ///< asked for
  std::size_t offset;  ///< from the block of glibc to what the caller sees
};

// Constant-initialised, for malloc is called before any constructor runs.
constinit std::atomic<std::int64_t> live{0};
constinit std::atomic<std::int64_t> peak{0};
constinit std::atomic<std::int64_t> allocations{0};

void add(std::int64_t bytes) {
  const std::int64_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t highest = peak.load(std::memory_order_relaxed);
  while (now > highest && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
  }
}

Header* header_of(void* pointer) {
  return static_cast<Header*>(pointer) - 1;
}
void* block_of(void* pointer) {
  return static_cast<std::byte*>(pointer) - header_of(pointer)->offset;
}

/// Turns a block of glibc into what the caller gets; null stays null.
void* count(void* block, std::size_t bytes, std::size_t offset) {
  if (block == nullptr) return nullptr;
  void* pointer = static_cast<std::byte*>(block) + offset;
  *header_of(pointer) = {bytes, offset};
  allocations.fetch_add(1, std::memory_order_relaxed);
  add(static_cast<std::int64_t>(bytes));
  return pointer;
}

/// bytes + offset, or a size that glibc refuses.
std::size_t padded(std::size_t bytes, std::size_t offset) {
  std::size_t sum = 0;
  return __builtin_add_overflow(bytes, offset, &sum) ? SIZE_MAX : sum;
}

void* allocate(std::size_t bytes) {
  return count(__libc_malloc(padded(bytes, sizeof(Header))), bytes, sizeof(Header));
}

/// The header takes a whole multiple of the alignment in front, so that both glibc's block and ours are aligned.
void* allocate_aligned(std::size_t alignment, std::size_t bytes) {
  if (alignment <= sizeof(Header)) return allocate(bytes);
  if (alignment > SIZE_MAX / 2) {
    errno = EINVAL;
    return nullptr;
  }
  alignment = std::bit_ceil(alignment);
  return count(__libc_memalign(alignment, padded(bytes, alignment)), bytes, alignment);
}

void release(void* pointer) {
  if (pointer == nullptr) return;
  live.fetch_sub(static_cast<std::int64_t>(header_of(pointer)->bytes), std::memory_order_relaxed);
  __libc_free(block_of(pointer));
}

/// A block that moves is counted by its growth, not as two blocks at once: whether it moves is glibc's affair.
void* reallocate(void* pointer, std::size_t bytes) {
  const Header old = *header_of(pointer);
  if (old.offset != sizeof(Header)) {  // aligned: glibc's realloc would move our header away from its place
    void* moved = allocate(bytes);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, pointer, old.bytes < bytes ? old.bytes : bytes);
    release(pointer);
    return moved;
  }
  void* block = __libc_realloc(block_of(pointer), padded(bytes, sizeof(Header)));
  if (block == nullptr) return nullptr;
  void* moved = static_cast<std::byte*>(block) + sizeof(Header);
  header_of(moved)->bytes = bytes;
  allocations.fetch_add(1, std::memory_order_relaxed);
  add(static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(old.bytes));
  return moved;
}

std::size_t page_size() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

const bool registered = [] {
  attnscale::register_allocation_hooks(
      {[] {
         return attnscale::AllocationReading{live.load(std::memory_order_relaxed), peak.load(std::memory_order_relaxed),
                                             allocations.load(std::memory_order_relaxed)};
       },
       [] { peak.store(live.load(std::memory_order_relaxed), std::memory_order_relaxed); }});
  return true;
}();

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) noexcept {
  return allocate(bytes);
}

void free(void* pointer) noexcept {
  release(pointer);
}

void* calloc(std::size_t number, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(number, size, &bytes)) bytes = SIZE_MAX;
  return count(__libc_calloc(1, padded(bytes, sizeof(Header))), bytes, sizeof(Header));
}

void* realloc(void* pointer, std::size_t bytes) noexcept {
  if (pointer == nullptr) return allocate(bytes);
  if (bytes == 0) {  // as glibc does
    release(pointer);
    return nullptr;
  }
  return reallocate(pointer, bytes);
}

void* reallocarray(void* pointer, std::size_t number, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(number, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(pointer, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return allocate_aligned(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return allocate_aligned(alignment, bytes);
}

int posix_memalign(void** pointer, std::size_t alignment, std::size_t bytes) noexcept {
  if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int saved = errno;
  void* result = allocate_aligned(alignment, bytes);
  errno = saved;
  if (result == nullptr) return ENOMEM;
  *pointer = result;
  return 0;
}

void* valloc(std::size_t bytes) noexcept {
  return allocate_aligned(page_size(), bytes);
}

void* pvalloc(std::size_t bytes) noexcept {
  const std::size_t page = page_size();
  return bytes > SIZE_MAX - page ? nullptr : allocate_aligned(page, (bytes + page - 1) / page * page);
}

std::size_t malloc_usable_size(void* pointer) noexcept {
  return pointer == nullptr ? 0 : header_of(pointer)->bytes;
}

/// A library opened with RTLD_DEEPBIND (oneTBB does that to its helper for hwloc) looks its symbols up in the C library
/// first: it would give our blocks, as from strdup, to the free of glibc. So that wish is left out. The call is in tail
/// position: the C library looks at its return address to know whose search path counts.
void* dlopen(const char* file, int mode) noexcept {
  static const auto original = reinterpret_cast<void* (*)(const char*, int) noexcept>(dlsym(RTLD_NEXT, "dlopen"));
  return original(file, mode & ~RTLD_DEEPBIND);
}

}  // extern "C"

#endif
