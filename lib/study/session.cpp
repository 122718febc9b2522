#include "study/session.hpp"

#include <algorithm>
#include <thread>

#include "study/verify/rows.hpp"

namespace attnscale {
namespace {

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
  progress_.total = count_cells(groups);
  for (const Group& group : groups) weight_total_ += cell_weight(group) * static_cast<double>(group.methods.size());
}

Executor& Session::executor(int threads) {
  return executors_.try_emplace(threads, threads).first->second;
}

void Session::load(const Problem& problem) {
  if (holds(problem)) return;
  unload();
  inputs_ = std::make_unique<Inputs>(make_inputs(problem));
  oracle_ = std::make_unique<Oracle>(problem, inputs_->view(), oracle_executor_);
  loaded_ = problem;
}

void Session::unload() {
  oracle_.reset();
  inputs_.reset();
}

void Session::report(const std::string& doing) {
  if (!hooks_.progress) return;
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
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
