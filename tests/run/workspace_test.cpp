#include <cstdint>
#include <utility>

#include "run/executor.hpp"
#include "support/catch.hpp"

using namespace attnscale;

namespace {

struct Layout {
  Plan plan;
  SharedBuffer<float> first = plan.scratch.shared<float>(3);
  SharedBuffer<double> second = plan.scratch.shared<double>(9);
  WorkerBuffer<float> own = plan.scratch.per_worker<float>(17);
};

}  // namespace

TEST_CASE("a workspace holds exactly what the plan declares") {
  Layout layout;
  layout.plan.cost.table_bytes = 1000;
  for (const int threads : {1, 2, 5}) {
    const Workspace workspace(layout.plan, threads);
    CHECK(workspace.bytes() == 64 + 128 + 128 * threads);
    CHECK(workspace.bytes() == layout.plan.workspace_bytes(threads) - 1000);
  }
  CHECK(Workspace(Plan{}, 4).bytes() == 0);
}

TEST_CASE("buffers are aligned, apart, and filled on request") {
  Layout layout;
  constexpr int kThreads = 3;
  std::vector<const void*> starts;
  bool poisoned = true;
  layout.plan.stages = {
      {"attend", 1, [&](const TaskContext& context, std::int64_t) {
         starts = {context.get(layout.first).data(), context.get(layout.second).data(), context.get(layout.own).data()};
         for (const float value : context.get(layout.own)) poisoned = poisoned && value != value;
         for (const double value : context.get(layout.second)) poisoned = poisoned && value != value;
       }}};
  Workspace workspace(layout.plan, kThreads, Workspace::kPoison);
  Workspace moved = std::move(workspace);
  Executor(kThreads).run(layout.plan, {}, {}, moved);
  REQUIRE(starts.size() == 3);
  for (const void* start : starts) CHECK(reinterpret_cast<std::uintptr_t>(start) % 64 == 0);
  const auto* base = static_cast<const std::byte*>(starts[0]);
  CHECK(static_cast<const std::byte*>(starts[1]) - base == 64);
  CHECK(static_cast<const std::byte*>(starts[2]) - base == 64 + 128);
  CHECK(poisoned);
}
