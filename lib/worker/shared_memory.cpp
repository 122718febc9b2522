#include "worker/shared_memory.hpp"

#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace attnscale::worker {
namespace {

[[noreturn]] void fail(std::int64_t bytes, int error) {
  throw std::runtime_error(fmt::format("shared memory of {} bytes cannot be had ({}): make /dev/shm larger", bytes,
                                       std::generic_category().message(error)));
}

int open_new(std::string& name) {
  static std::atomic<int> next{0};
  constexpr int kTries = 100;  // names that a killed process of the same id left behind are passed over
  int descriptor = -1;
  for (int i = 0; i < kTries && descriptor < 0; ++i) {
    name = fmt::format("/attnscale-{}-{}", getpid(), next++);
    descriptor = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  return descriptor;
}

}  // namespace

SharedMemory::SharedMemory(std::int64_t bytes) : bytes_(bytes) {
  const int descriptor = open_new(name_);
  if (descriptor < 0) fail(bytes, errno);
  int error = posix_fallocate(descriptor, 0, bytes);
  if (error == 0) {
    void* mapped = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) {
      error = errno;
    } else {
      data_ = static_cast<std::byte*>(mapped);
    }
  }
  close(descriptor);
  if (error == 0) return;
  unlink();
  fail(bytes, error);
}

SharedMemory::~SharedMemory() {
  unlink();
  munmap(data_, static_cast<std::size_t>(bytes_));
}

void SharedMemory::unlink() {
  if (!name_.empty()) shm_unlink(name_.c_str());
  name_.clear();
}

}  // namespace attnscale::worker
