// Scheduling: every worker takes the next task from one counter until none is left. That is dynamic, starts tasks in
// ascending order, gives each worker a dense index without asking TBB who runs it, and stays correct when the pool
// supplies fewer threads than were asked for. oneTBB supplies the threads. A task lasts 10 us or more, so the shared
// counter costs nothing that can be measured.
#include "run/executor.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "run/pinning.hpp"
#include "run/thread_pool.hpp"
#include "run/workspace_impl.hpp"

namespace attnscale {
namespace {

using Clock = std::chrono::steady_clock;

/// Raised before a loop starts and when a worker ends. The pool orders memory by itself; this says the same in a way
/// that a thread sanitizer sees, which does not look into the pool: what was written before a loop comes before its
/// tasks, and they come before what follows.
constinit std::atomic<unsigned> handover{0};

template <class Body>
struct Loop {
  std::int64_t tasks;
  const Body& body;
  std::atomic<std::int64_t> next{0};

  static void work(void* context, int worker) {
    static_cast<void>(handover.load());
    Loop& loop = *static_cast<Loop*>(context);
    try {
      for (std::int64_t task = loop.next++; task < loop.tasks; task = loop.next++) loop.body(task, worker);
    } catch (...) {
      loop.next = loop.tasks;  // the other workers end after their present task
      ++handover;
      throw;
    }
    ++handover;
  }
};

void add_time(std::vector<StageTime>& times, std::string_view name, std::int64_t time_ns) {
  for (StageTime& time : times) {
    if (time.name == name) {
      time.time_ns += time_ns;
      return;
    }
  }
  times.push_back({std::string(name), time_ns});
}

}  // namespace
}  // namespace attnscale

#ifdef __SANITIZE_THREAD__
/// What TBB itself calls of the C library is TBB's own affair.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libtbb.so\n";
}
#endif

namespace attnscale {

struct Executor::Impl {
  Impl(int count, bool hold) : threads(count), pin(hold), counts(static_cast<std::size_t>(count)) {
    if (threads > 1) pool = std::make_unique<ThreadPool>(threads, pin);
  }

  /// body(task, worker) for every task in [0, tasks).
  template <class Body>
  void dispatch(std::int64_t tasks, const Body& body) {
    const int workers = static_cast<int>(std::min<std::int64_t>(threads, tasks));
    if (workers <= 1) {
      hold_thread(pin ? 0 : kAnyCore);
      for (std::int64_t task = 0; task < tasks; ++task) body(task, 0);
      return;
    }
    Loop<Body> loop{tasks, body};
    ++handover;
    pool->run(workers, &Loop<Body>::work, &loop);
    static_cast<void>(handover.load());
  }

  int threads;
  bool pin;
  std::vector<WorkCount> counts;     ///< one per worker; here, so that a run allocates nothing that grows with anything
  std::unique_ptr<ThreadPool> pool;  ///< none for one thread
};

Executor::Executor(int threads, bool pin) {
  if (threads < 1 || threads > kMostThreads) {
    throw InputError("the number of threads must be between 1 and " + std::to_string(kMostThreads) + ", not " +
                     std::to_string(threads));
  }
  if (pin && (allowed_cores().empty() || !hold_thread(0)))
    throw InputError("threads cannot be pinned to cores on this system: leave --pin out");
  impl_ = std::make_unique<Impl>(threads, pin);
}

Executor::~Executor() = default;

RunReport Executor::run(const Plan& plan, const Qkv& in, const AttentionOutput& out, Workspace& workspace,
                        std::span<std::int32_t> choices) {
  const Workspace::Impl& memory = *workspace.impl_;
  assert(memory.threads >= impl_->threads && memory.shared_bytes == plan.scratch.shared_bytes() &&
         memory.worker_bytes == plan.scratch.worker_bytes());
  assert(choices.empty() || static_cast<std::int64_t>(choices.size()) == plan.choices);
  std::vector<WorkCount>& counts = impl_->counts;
  counts.assign(counts.size(), WorkCount{});

  RunReport report;
  report.stages.reserve(plan.stages.size());
  for (const Stage& stage : plan.stages) {
    const Clock::time_point start = Clock::now();
    impl_->dispatch(stage.tasks, [&](std::int64_t task, int worker) {
      WorkCount& count = counts[static_cast<std::size_t>(worker)];
      stage.body(TaskContext{in, out, memory.shared(), memory.worker(worker), &count, choices}, task);
    });
    add_time(report.stages, stage.name,
             std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
  }
  for (const WorkCount& count : counts) {
    report.work.visible_pairs += count.visible_pairs;
    report.work.scored_pairs += count.scored_pairs;
  }
  return report;
}

void Executor::parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  impl_->dispatch(count, [&](std::int64_t index, int) { body(index); });
}

int Executor::threads() const {
  return impl_->threads;
}

}  // namespace attnscale
