// The memory behind a Workspace, shared by workspace.cpp and executor.cpp only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "run/executor.hpp"

namespace attnscale {

/// [shared][worker 0][worker 1]...: every part is a multiple of 64 bytes, so all of them start on a cache line.
struct Workspace::Impl {
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte[], Free> data;
  std::int64_t shared_bytes = 0;
  std::int64_t worker_bytes = 0;
  int threads = 0;

  [[nodiscard]] std::int64_t bytes() const { return shared_bytes + worker_bytes * threads; }
  [[nodiscard]] std::byte* shared() const { return data.get(); }
  [[nodiscard]] std::byte* worker(int index) const { return data.get() + shared_bytes + worker_bytes * index; }
};

}  // namespace attnscale
