#include "measure/timing.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "measure/sampler.hpp"
#include "measure/schedule.hpp"

namespace attnscale {
namespace {

using Clock = std::chrono::steady_clock;

struct Cell {
  std::int64_t iterations = 1;
  double spent_s = 0;  ///< in samples, with what surrounds them
  bool active = true;
  Timing timing;
};

/// The state of one measurement.
class Rounds {
 public:
  Rounds(const std::vector<Timed>& callables, const TimingOptions& options, const RelativeHalfWidth& half_width)
      : callables_(callables), options_(options), half_width_(half_width), cells_(callables.size()) {}

  void prepare(std::size_t index, const std::function<bool()>& keep_going);
  void measure(std::size_t index, int round, int place);
  void judge(int rounds);

  [[nodiscard]] bool active(std::size_t index) const { return cells_[index].active; }
  [[nodiscard]] bool any_active() const {
    return std::any_of(cells_.begin(), cells_.end(), [](const Cell& cell) { return cell.active; });
  }
  std::vector<Timing> take_timings() {
    std::vector<Timing> timings;
    for (Cell& cell : cells_) timings.push_back(std::move(cell.timing));
    return timings;
  }

 private:
  Sample sample(std::size_t index);
  [[nodiscard]] bool has_baseline() const {
    return options_.baseline >= 0 && cells_[static_cast<std::size_t>(options_.baseline)].timing.error.empty();
  }
  [[nodiscard]] bool is_baseline(std::size_t index) const {
    return has_baseline() && index == static_cast<std::size_t>(options_.baseline);
  }
  [[nodiscard]] bool time_is_up(const Cell& cell) const { return cell.spent_s >= options_.max_time_s; }
  [[nodiscard]] bool done(std::size_t index) const {
    return time_is_up(cells_[index]) || half_width_(judged_values(index)) < options_.precision;
  }
  [[nodiscard]] std::vector<double> judged_values(std::size_t index) const;

  const std::vector<Timed>& callables_;
  const TimingOptions& options_;
  const RelativeHalfWidth& half_width_;
  std::vector<Cell> cells_;
  bool started_ = false;
  Clock::time_point first_start_;
};

Sample Rounds::sample(std::size_t index) {
  Cell& cell = cells_[index];
  if (options_.before_sample) {
    const Clock::time_point begin = Clock::now();
    options_.before_sample();
    cell.timing.before_ns += std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  }
  Sample taken = take_sample(callables_[index], cell.iterations);
  cell.timing.calls_ns += taken.time_ns * static_cast<double>(taken.iterations);
  if (!taken.error.empty()) {
    cell.timing.error = taken.error;
    cell.active = false;
  }
  return taken;
}

/// The warm-up call, then as many as it takes to know how many make a sample: the shortest batch decides, and two of
/// the final size must last long enough, since one that was interrupted looks longer than it is. A call of a second and
/// more is not repeated: whatever the first one pays for cold memory, one call is far longer than a sample has to be.
void Rounds::prepare(std::size_t index, const std::function<bool()>& keep_going) {
  constexpr double kLongCallNs = 1e9;
  constexpr double kClearlyLong = 10;   // times the floor: no interruption explains that
  constexpr std::int64_t kGrowth = 16;  // per step: one odd first call must not ask for a thousand times too many
  Cell& cell = cells_[index];
  const double floor_ns = options_.sample_floor_ns;
  double shortest_ns = sample(index).elapsed_ns;
  if (shortest_ns >= std::max(kLongCallNs, floor_ns)) return;
  int long_enough = 0;
  while (cell.active && long_enough < 2 && keep_going()) {
    shortest_ns = std::min(shortest_ns, sample(index).elapsed_ns);
    const double batch_ns = shortest_ns * static_cast<double>(cell.iterations);
    if (batch_ns >= kClearlyLong * floor_ns) return;
    long_enough = batch_ns >= floor_ns ? long_enough + 1 : 0;
    if (long_enough > 0) continue;
    const std::int64_t wanted = iterations_for(shortest_ns, floor_ns);
    if (wanted <= cell.iterations) return;
    cell.iterations = std::min(wanted, cell.iterations * kGrowth);
  }
}

void Rounds::measure(std::size_t index, int round, int place) {
  Cell& cell = cells_[index];
  const Clock::time_point begin = Clock::now();
  Sample taken = sample(index);
  cell.spent_s += std::chrono::duration<double>(Clock::now() - begin).count();
  if (!cell.active) return;
  if (!started_) first_start_ = taken.start;
  started_ = true;
  const auto since_first = std::chrono::duration_cast<std::chrono::nanoseconds>(taken.start - first_start_).count();
  cell.timing.samples.push_back({round, place, since_first, taken.iterations, taken.time_ns});
  for (auto& [name, time_ns] : taken.stages) cell.timing.stages.push_back({round, std::move(name), time_ns});
  // When the machine has become faster since the calibration, the rounds to come must not all be too short.
  if (taken.elapsed_ns * static_cast<double>(taken.iterations) < options_.sample_floor_ns) {
    cell.iterations = std::max(cell.iterations, iterations_for(taken.elapsed_ns, options_.sample_floor_ns));
  }
}

/// Ratios to the baseline round by round, else the times themselves. Whoever is active has a sample in every round so
/// far, and so has the baseline: the n-th samples belong together.
std::vector<double> Rounds::judged_values(std::size_t index) const {
  std::vector<double> values;
  for (const TimeSample& taken : cells_[index].timing.samples) values.push_back(taken.time_ns);
  if (!has_baseline() || is_baseline(index)) return values;
  const std::vector<TimeSample>& base = cells_[static_cast<std::size_t>(options_.baseline)].timing.samples;
  assert(base.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] /= std::max(base[i].time_ns, 1.0);
  return values;
}

/// After a round: lets go those that are done.
void Rounds::judge(int rounds) {
  if (rounds < options_.min_rounds) return;
  if (has_baseline() && time_is_up(cells_[static_cast<std::size_t>(options_.baseline)])) {
    for (Cell& cell : cells_) cell.active = false;
    return;
  }
  bool others_active = false;
  bool others_measured = false;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (is_baseline(i)) continue;
    Cell& cell = cells_[i];
    cell.active = cell.active && !done(i);
    others_active = others_active || cell.active;
    others_measured = others_measured || (cell.timing.error.empty() && !cell.timing.samples.empty());
  }
  if (!has_baseline()) return;
  const auto baseline = static_cast<std::size_t>(options_.baseline);
  cells_[baseline].active = others_active || (!others_measured && !done(baseline));
}

}  // namespace

std::vector<Timing> measure_interleaved(const std::vector<Timed>& callables, const TimingOptions& options,
                                        const RelativeHalfWidth& half_width, const std::function<bool()>& keep_going) {
  const int count = static_cast<int>(callables.size());
  assert(options.baseline < count);
  const std::function<bool()> go_on = keep_going ? keep_going : [] { return true; };
  Rounds rounds(callables, options, half_width);
  for (std::size_t i = 0; i < callables.size(); ++i) {
    if (!go_on()) return rounds.take_timings();
    rounds.prepare(i, go_on);
  }
  for (int round = 0; rounds.any_active(); ++round) {
    int place = 0;
    for (const int index : round_order(count, round, options.seed)) {
      if (!rounds.active(static_cast<std::size_t>(index))) continue;
      if (!go_on()) return rounds.take_timings();
      rounds.measure(static_cast<std::size_t>(index), round, place++);
    }
    rounds.judge(round + 1);
  }
  return rounds.take_timings();
}

}  // namespace attnscale
