// Scheduling: every worker takes the next task from one counter until none is left. That is dynamic, starts tasks in
// ascending order, gives each worker a dense index without asking TBB who runs it, and stays correct when the pool
// supplies fewer threads than were asked for. oneTBB supplies the threads. A task lasts 10 us or more, so the shared
// counter costs nothing that can be measured.
#include "run/executor.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <string>
#include <string_view>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "core/error.hpp"
#include "run/workspace_impl.hpp"

namespace attnscale {
namespace {

using Clock = std::chrono::steady_clock;

/// TBB gives out no more threads than the machine has cores unless it is told otherwise, and obeys the lowest of all
/// limits that exist: so there is one for the whole process, as high as we ever go. Threads start only when an arena
/// asks for them.
void allow_more_threads_than_cores() {
  static const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                         static_cast<std::size_t>(Executor::kMostThreads));
}

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

struct Executor::Impl {
  explicit Impl(int count) : threads(count), counts(static_cast<std::size_t>(count)) {
    if (threads > 1) {
      allow_more_threads_than_cores();
      arena.initialize(threads);
    }
  }

  /// body(task, worker) for every task in [0, tasks).
  template <class Body>
  void dispatch(std::int64_t tasks, const Body& body) {
    const int workers = static_cast<int>(std::min<std::int64_t>(threads, tasks));
    if (workers <= 1) {
      for (std::int64_t task = 0; task < tasks; ++task) body(task, 0);
      return;
    }
    std::atomic<std::int64_t> next{0};
    const auto work = [&](int worker) {
      try {
        for (std::int64_t task = next++; task < tasks; task = next++) body(task, worker);
      } catch (...) {
        next = tasks;  // the other workers end after their present task
        throw;
      }
    };
    arena.execute([&] { tbb::parallel_for(0, workers, 1, work, tbb::simple_partitioner{}); });
  }

  int threads;
  std::vector<WorkCount> counts;  ///< one per worker; here, so that a run allocates nothing that grows with anything
  tbb::task_arena arena;
};

Executor::Executor(int threads) {
  if (threads < 1 || threads > kMostThreads) {
    throw InputError("the number of threads must be between 1 and " + std::to_string(kMostThreads) + ", not " +
                     std::to_string(threads));
  }
  impl_ = std::make_unique<Impl>(threads);
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
