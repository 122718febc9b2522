#include "study/session.hpp"

#include <algorithm>
#include <thread>

#include "doctor/limits.hpp"
#include "kernels/probe.hpp"
#include "kernels/strip.hpp"
#include "measure/machine.hpp"
#include "study/verify/rows.hpp"

namespace attnscale {
namespace {

using Clock = std::chrono::steady_clock;

double since_s(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int all_cores() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

double cell_weight(const Group& group) {
  constexpr double kOracleSeconds = 0.4e-9;  // per row, key and component
  const Shape& s = group.problem.shape;
  const auto rows =
      static_cast<double>(s.batch * s.heads * std::min(s.queries, s.queries <= kAllRows ? kAllRows : kSampledRows));
  return 0.05 + group.options.max_time_s +
         rows * static_cast<double>(s.keys) * static_cast<double>(s.dim + s.value_dim) * kOracleSeconds;
}

Session::Session(const std::vector<Group>& groups, const RunnerOptions& options, const RunnerHooks& hooks)
    : options_(options),
      hooks_(hooks),
      origin_(make_origin(options.study)),
      model_(calibrate()),
      oracle_executor_(options.oracle_threads > 0 ? options.oracle_threads : all_cores()) {
  account_.whole.limits_s += since_s(start_);  // nearly all of it is the calibration
  progress_.total = count_cells(groups);
  for (const Group& group : groups) weight_total_ += cell_weight(group) * static_cast<double>(group.methods.size());
}

Executor& Session::executor(int threads, bool pin) {
  return executors_.try_emplace({threads, pin}, threads, pin).first->second;
}

double Session::peak_gflops() {
  constexpr double kSeconds = 0.1;
  const auto [at, first] = account_.peak_gflops.try_emplace(kernels::current_target(), 0);
  if (first) {
    const Clock::time_point start = Clock::now();
    at->second = attnscale::peak_gflops(executor(1), kSeconds);
    spent_.limits_s += since_s(start);
  }
  return at->second;
}

void Session::empty_caches(Executor& executor) {
  constexpr std::int64_t kUsualCache = 32 << 20;
  if (cold_floats_ == 0) {
    const std::int64_t known = last_level_cache(describe_machine());
    const std::int64_t bytes = 2 * (known > 0 ? known : kUsualCache);
    cold_floats_ = bytes / static_cast<std::int64_t>(sizeof(float)) / kernels::kProbeBlock * kernels::kProbeBlock;
    cold_buffer_ = Storage({1, 1, 1, cold_floats_}, {0, 0, 1.0F});
  }
  const std::span<const float> buffer(cold_buffer_.first(), static_cast<std::size_t>(cold_floats_));
  executor.parallel_for(executor.threads(), [buffer](std::int64_t) { kernels::probe_read(buffer); });
}

void Session::load(const Problem& problem) {
  if (holds(problem)) return;
  unload();
  const Clock::time_point start = Clock::now();
  inputs_ = std::make_unique<Inputs>(make_inputs(problem));
  const Clock::time_point made = Clock::now();
  oracle_ = std::make_unique<Oracle>(problem, inputs_->view(), oracle_executor_);
  spent_.inputs_s += std::chrono::duration<double>(made - start).count();
  spent_.oracle_s += since_s(made);
  loaded_ = problem;
}

void Session::unload() {
  oracle_.reset();
  inputs_.reset();
}

void Session::start_group() {
  group_start_ = Clock::now();
  spent_ = {};
}

void Session::finish_group(std::int64_t keys, std::int64_t cells) {
  spent_.wall_s = since_s(group_start_);
  spent_.cells = cells;
  account_.by_keys[keys] += spent_;
  account_.whole += spent_;
  spent_ = {};
}

RunAccount Session::account() const {
  RunAccount account = account_;
  account.whole.wall_s = since_s(start_);
  return account;
}

void Session::report(const std::string& doing) {
  if (!hooks_.progress) return;
  const double elapsed = since_s(start_);
  progress_.doing = doing;
  progress_.remaining_s = weight_done_ > 0 ? elapsed * (weight_total_ - weight_done_) / weight_done_ : -1;
  hooks_.progress(progress_);
}

void Session::finish(Cell cell, double weight) {
  hooks_.finished(std::move(cell));
  ++progress_.done;
  weight_done_ += weight;
}

}  // namespace attnscale
