// Threads from oneTBB; thread_pool.cpp is the only file that includes it.
#pragma once

#include <memory>

namespace attnscale {

class ThreadPool {
 public:
  /// As many threads as asked for, the caller of run included, even beyond the number of cores. `pin`: each is held on
  /// a core of its own while it works.
  explicit ThreadPool(int threads, bool pin = false);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Calls work(context, 0) ... work(context, workers - 1) on the threads of the pool and returns when all have ended;
  /// rethrows what one threw. A plain function, so that nothing of the caller's is touched before `work` itself runs.
  void run(int workers, void (*work)(void* context, int worker), void* context);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attnscale
