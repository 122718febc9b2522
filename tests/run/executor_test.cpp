#include "run/executor.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "core/error.hpp"
#include "support/catch.hpp"

using namespace attnscale;

namespace {

RunReport run(int threads, const Plan& plan, std::span<std::int32_t> choices = {}) {
  Workspace workspace(plan, threads, Workspace::kPoison);
  return Executor(threads).run(plan, {}, {}, workspace, choices);
}

/// Rows of sums whose rounding depends on the order of addition: partial sums per task, merged in a second stage.
std::vector<float> staged_sums(int threads) {
  constexpr std::int64_t kTasks = 37;
  constexpr std::int64_t kTerms = 1000;
  Plan plan;
  const auto partial = plan.scratch.shared<float>(kTasks);
  const auto terms = plan.scratch.per_worker<float>(kTerms);
  std::vector<float> sums(kTasks);
  plan.stages = {{"score", kTasks,
                  [=](const TaskContext& context, std::int64_t task) {
                    const auto buffer = context.get(terms);
                    for (std::int64_t i = 0; i < kTerms; ++i) {
                      buffer[static_cast<std::size_t>(i)] = 1.0F / static_cast<float>(1 + i * kTasks + task);
                    }
                    float sum = 0;
                    for (const float term : buffer) sum += term;
                    context.get(partial)[static_cast<std::size_t>(task)] = sum;
                  }},
                 {"merge", kTasks, [=, &sums](const TaskContext& context, std::int64_t task) {
                    float sum = 0;
                    for (std::int64_t i = 0; i <= task; ++i) sum += context.get(partial)[static_cast<std::size_t>(i)];
                    sums[static_cast<std::size_t>(task)] = sum;
                  }}};
  Workspace workspace(plan, threads, Workspace::kPoison);
  Executor(threads).run(plan, {}, {}, workspace);
  return sums;
}

}  // namespace

TEST_CASE("every task runs exactly once, with a dense worker index and buffers of its own") {
  for (const int threads : {1, 2, 4, 7}) {
    for (const std::int64_t tasks : {0, 1, 2, 3, 64, 1001}) {
      CAPTURE(threads, tasks);
      Plan plan;
      const auto own = plan.scratch.per_worker<std::int64_t>(1);
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(tasks));
      std::atomic<int> strangers{0};
      std::atomic<int> clashes{0};
      plan.stages = {{"attend", tasks, [&](const TaskContext& context, std::int64_t task) {
                        ++calls[static_cast<std::size_t>(task)];
                        // Without shared buffers those of worker 0 start at shared_base.
                        const std::ptrdiff_t offset = context.worker_base - context.shared_base;
                        if (offset % 64 != 0 || offset < 0 || offset / 64 >= threads) ++strangers;
                        context.get(own)[0] = task;
                        std::this_thread::yield();
                        if (context.get(own)[0] != task) ++clashes;
                      }}};
      run(threads, plan);
      int wrong = 0;
      for (const auto& count : calls) wrong += count != 1;
      CHECK(wrong == 0);
      CHECK(strangers == 0);
      CHECK(clashes == 0);
    }
  }
}

TEST_CASE("tasks start in ascending order") {
  Plan plan;
  std::mutex mutex;
  std::vector<std::int64_t> started;
  plan.stages = {{"attend", 100, [&](const TaskContext&, std::int64_t task) {
                    const std::lock_guard lock(mutex);
                    started.push_back(task);
                  }}};
  run(1, plan);
  REQUIRE(started.size() == 100);
  for (std::size_t i = 0; i < 100; ++i) CHECK(started[i] == static_cast<std::int64_t>(i));

  // With 3 threads, when a task is noted, at most two earlier ones have been taken and not yet noted.
  started.clear();
  run(3, plan);
  REQUIRE(started.size() == 100);
  std::vector<int> seen(100);
  for (const std::int64_t task : started) {
    ++seen[static_cast<std::size_t>(task)];
    int missing = 0;
    for (std::int64_t earlier = 0; earlier < task; ++earlier) missing += seen[static_cast<std::size_t>(earlier)] == 0;
    CHECK(missing <= 2);
  }
}

TEST_CASE("a stage starts only after every task of the one before has ended") {
  for (const int threads : {1, 2, 4}) {
    Plan plan;
    std::atomic<int> ended{0};
    std::atomic<int> early{0};
    const auto slow = [&](const TaskContext&, std::int64_t task) {
      if (task == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++ended;
    };
    const auto expect = [&](int count) {
      return [&early, &ended, count](const TaskContext&, std::int64_t) {
        if (ended != count) ++early;
      };
    };
    plan.stages = {{"hash", 9, slow}, {"sort", 5, expect(9)}, {"hash", 8, slow}, {"merge", 3, expect(17)}};
    run(threads, plan);
    CHECK(ended == 17);
    CHECK(early == 0);
  }
}

TEST_CASE("stage times are summed by name in order of first appearance") {
  using std::chrono::milliseconds;
  Plan plan;
  const auto sleep = [](const TaskContext&, std::int64_t) { std::this_thread::sleep_for(milliseconds(3)); };
  plan.stages = {{"score", 1, sleep}, {"select", 0, sleep}, {"score", 1, sleep}, {"attend", 1, sleep}};
  const RunReport report = run(2, plan);
  REQUIRE(report.stages.size() == 3);
  CHECK(report.stages[0].name == "score");
  CHECK(report.stages[1].name == "select");
  CHECK(report.stages[2].name == "attend");
  CHECK(report.stages[0].time_ns >= 6'000'000);  // a sleep never ends early
  CHECK(report.stages[2].time_ns >= 3'000'000);
  CHECK(report.stages[1].time_ns >= 0);
  CHECK(run(1, Plan{}).stages.empty());
}

TEST_CASE("work is summed over workers and starts at zero in every run") {
  Plan plan;
  plan.stages = {{"attend", 100, [](const TaskContext& context, std::int64_t task) {
                    context.count->visible_pairs += task;
                    context.count->scored_pairs += 2 * task;
                  }}};
  for (const int threads : {1, 2, 4}) {
    Executor executor(threads);
    Workspace workspace(plan, threads);
    for (int repetition = 0; repetition < 3; ++repetition) {
      const RunReport report = executor.run(plan, {}, {}, workspace);
      CHECK(report.work.visible_pairs == 4950);
      CHECK(report.work.scored_pairs == 9900);
    }
  }
}

TEST_CASE("an exception of a task ends the stage and reaches the caller") {
  for (const int threads : {1, 2, 4}) {
    CAPTURE(threads);
    Plan plan;
    std::atomic<int> later{0};
    std::atomic<int> done{0};
    plan.stages = {{"attend", 100000,
                    [&](const TaskContext&, std::int64_t task) {
                      if (task == 10) throw std::runtime_error("task 10");
                      ++done;
                      std::this_thread::sleep_for(std::chrono::microseconds(10));
                    }},
                   {"merge", 1, [&](const TaskContext&, std::int64_t) { ++later; }}};
    Executor executor(threads);
    Workspace workspace(plan, threads);
    CHECK_THROWS_WITH(executor.run(plan, {}, {}, workspace), "task 10");
    CHECK(later == 0);
    CHECK(done < 99999);

    // The executor stays usable.
    std::atomic<int> calls{0};
    executor.parallel_for(50, [&](std::int64_t) { ++calls; });
    CHECK(calls == 50);
  }
}

TEST_CASE("results are bitwise equal for any number of threads and any contents of the workspace") {
  const std::vector<float> expected = staged_sums(1);
  for (const int threads : {1, 2, 4, 9}) {
    for (int repetition = 0; repetition < 5; ++repetition) {
      const std::vector<float> sums = staged_sums(threads);
      CHECK(std::memcmp(sums.data(), expected.data(), sums.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("inputs, outputs and choices reach the task") {
  std::array<float, 2> query{1, 2};
  std::array<float, 2> output{};
  Qkv in;
  in.q = {query.data(), {1, 1, 2, 1}, 1, 2};
  AttentionOutput out;
  out.out = {output.data(), {1, 1, 2, 1}, 1, 2};
  Plan plan;
  plan.choices = 2;
  plan.stages = {{"attend", 2, [](const TaskContext& context, std::int64_t task) {
                    const auto q = context.in.q.matrix(BatchIndex{0}, HeadIndex{0});
                    const auto o = context.out.out.matrix(BatchIndex{0}, HeadIndex{0});
                    *o.row(task) = 10 * *q.row(task);
                    if (!context.choices.empty())
                      context.choices[static_cast<std::size_t>(task)] = 7 + static_cast<int>(task);
                  }}};
  Executor executor(2);
  Workspace workspace(plan, 2);
  executor.run(plan, in, out, workspace);
  CHECK(output == std::array<float, 2>{10, 20});
  std::array<std::int32_t, 2> choices{};
  executor.run(plan, in, out, workspace, choices);
  CHECK(choices == std::array<std::int32_t, 2>{7, 8});
}

TEST_CASE("one thread means the calling thread, more mean as many as asked for even beyond the cores") {
  const auto caller = std::this_thread::get_id();
  bool same = true;
  Executor(1).parallel_for(20, [&](std::int64_t) { same = same && std::this_thread::get_id() == caller; });
  CHECK(same);

  constexpr int kThreads = 8;
  Executor other(2);  // must not lower the limit of the next
  Executor executor(kThreads);
  CHECK(executor.threads() == kThreads);
  // Every task waits until all eight have arrived, which needs eight threads. The deadline only keeps a failure finite.
  std::atomic<int> arrived{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  executor.parallel_for(kThreads, [&](std::int64_t) {
    ++arrived;
    while (arrived < kThreads && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  });
  CHECK(std::chrono::steady_clock::now() < deadline);
}

TEST_CASE("a number of threads that makes no sense is refused") {
  for (const int threads : {-1, 0, 257}) {
    CHECK_THROWS_AS(Executor(threads), InputError);
  }
}

TEST_CASE("the version of the thread library is known") {
  CHECK(thread_pool_version().starts_with("20"));
}
