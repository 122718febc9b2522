// One segment of POSIX shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace attnscale::worker {

class SharedMemory {
 public:
  /// Its pages are reserved at once, so that a full /dev/shm is an exception here and not a bus error later. Throws
  /// std::runtime_error.
  explicit SharedMemory(std::int64_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// As shm_open takes it: "/attnscale-...".
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  /// Takes the name away. Who has opened the segment keeps it, and nothing is left behind however this process ends.
  void unlink();

 private:
  std::string name_;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace attnscale::worker
