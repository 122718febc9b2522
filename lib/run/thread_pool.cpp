#include "run/thread_pool.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include "run/executor.hpp"
#include "run/pinning.hpp"

namespace attnscale {
namespace {

/// TBB gives out no more threads than the machine has cores unless it is told otherwise, and obeys the lowest of all
/// limits that exist: so there is one for the whole process, as high as we ever go. Threads start only when an arena
/// asks for them.
void allow_more_threads_than_cores() {
  static const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                         static_cast<std::size_t>(Executor::kMostThreads));
}

}  // namespace

struct ThreadPool::Impl {
  tbb::task_arena arena;
  bool pin = false;
};

ThreadPool::ThreadPool(int threads, bool pin) : impl_(std::make_unique<Impl>()) {
  impl_->pin = pin;
  // TBB notes at its first use where the process may run, and starts its threads there: on a single core, where they
  // would wait for us to leave it, if we were held by then.
  hold_thread(kAnyCore);
  allow_more_threads_than_cores();
  impl_->arena.initialize(threads);
}

ThreadPool::~ThreadPool() = default;

void ThreadPool::run(int workers, void (*work)(void* context, int worker), void* context) {
  const bool pin = impl_->pin;
  impl_->arena.execute([&] {
    tbb::parallel_for(
        0, workers, 1,
        [=](int worker) {
          // A thread keeps its place in the arena, hence its core, from call to call.
          hold_thread(pin ? tbb::this_task_arena::current_thread_index() : kAnyCore);
          work(context, worker);
        },
        tbb::simple_partitioner{});
  });
}

std::string thread_pool_version() {
  return TBB_runtime_version();
}

}  // namespace attnscale
