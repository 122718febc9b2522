// Runs plans: one workspace, a thread pool, stage times by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/tensor.hpp"
#include "methods/plan.hpp"

namespace attnscale {

/// The scratch memory of one plan: exactly plan.scratch for `threads` workers, 64-byte aligned. A fresh one for each
/// memory measurement, so that reuse never shows as zero.
class Workspace {
 public:
  /// Its contents are unspecified unless `fill` gives every byte; methods must not depend on them, and tests fill with
  /// kPoison to show that they do not.
  Workspace(const Plan& plan, int threads, std::optional<std::byte> fill = std::nullopt);
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;

  /// All bits set: NaN as a float, -1 as a signed number.
  static constexpr std::byte kPoison{0xff};
  /// Size of the one allocation: plan.workspace_bytes(threads) without the tables of the plan.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  friend class Executor;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct StageTime {
  std::string name;
  std::int64_t time_ns = 0;
};

struct RunReport {
  WorkCount work;                 ///< summed over workers
  std::vector<StageTime> stages;  ///< one per name, in order of first appearance
};

/// One run or loop at a time; tasks must not call back into their executor.
class Executor {
 public:
  /// More than this many threads are refused with an InputError.
  static constexpr int kMostThreads = 256;

  /// Threads that run tasks, the caller included. 1 runs everything in the calling thread, without any pool. `pin`:
  /// each of them is held on a core of its own (worker i on the i-th core that this process may use, from the start
  /// again when there are more threads than cores). The caller stays held: see pinning.hpp. Throws InputError where
  /// threads cannot be pinned.
  explicit Executor(int threads, bool pin = false);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Runs every stage of the plan; tasks start in ascending order, so a method puts its longest first. `workspace` is
  /// one of this plan for at least threads() workers. `choices` (plan.choices numbers, or empty) receives what a
  /// data-dependent method chose. An exception of a task ends the stage and is rethrown here.
  RunReport run(const Plan& plan, const Qkv& in, const AttentionOutput& out, Workspace& workspace,
                std::span<std::int32_t> choices = {});

  /// A plain parallel loop over [0, count), for work around the methods (oracle rows).
  void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body);

  [[nodiscard]] int threads() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Version of oneTBB, for the description of a machine.
std::string thread_pool_version();

}  // namespace attnscale
