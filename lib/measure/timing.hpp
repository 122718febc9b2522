// Timing by Google Benchmark: samples come out of a benchmark::State loop with a fixed number of iterations. This
// library times callables and knows nothing of attention.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace attnscale {

/// A callable to be timed. It may report the times of its own stages, in order.
struct Timed {
  std::string name;
  std::function<void()> call;
  /// Stage times of the latest call by name, or null. Read after each call, outside the timed region.
  std::function<std::vector<std::pair<std::string, std::int64_t>>()> stages;
  /// Time of the latest call by the callable's own clock, in place of ours, or null. Read after each call. A time that
  /// is not above 0, or longer than the call took by our clock, counts as an error of the callable.
  std::function<std::int64_t()> own_time_ns = nullptr;
  /// Told before each sample how many calls follow, or null. Who knows may make them in a row at the first call and
  /// only report at the others; that their times fit into what the first call took is then its own to check.
  std::function<void(std::int64_t)> expect_calls = nullptr;
};

struct TimingOptions {
  int min_rounds = 7;
  double max_time_s = 2;          ///< per callable; never cuts below min_rounds
  double precision = 0.01;        ///< stop when the half width of the CI of the ratio to the baseline is below this
  double sample_floor_ns = 10e6;  ///< iterations are chosen so that a sample lasts at least this
  std::uint64_t seed = 0;         ///< of the order within rounds
  /// Called before every sample, outside its time (to empty caches); may be null. With sample_floor_ns = 0 a sample is
  /// one call, so each call is preceded by it.
  std::function<void()> before_sample;
  int baseline = -1;  ///< index of the callable that ratios refer to; -1: none, the median's own CI decides
};

struct TimeSample {
  int round = 0;
  int order = 0;              ///< place within the round
  std::int64_t start_ns = 0;  ///< since the first sample, monotonic
  std::int64_t iterations = 1;
  double time_ns = 0;  ///< per call
};

struct StageSample {
  int round = 0;
  std::string stage;
  double time_ns = 0;  ///< per call
};

struct Timing {
  std::vector<TimeSample> samples;
  std::vector<StageSample> stages;
  double calls_ns = 0;   ///< inside the timed region of every call, warm-up and calibration included
  double before_ns = 0;  ///< in before_sample
  std::string error;     ///< what a callable threw; it has left the rounds, the samples are those from before
};

/// Half width, relative to the centre, of the 95 % CI of the median of a set of positive values; infinity when there
/// are too few. Given by the caller so that statistics stay in lib/analysis.
using RelativeHalfWidth = std::function<double(const std::vector<double>&)>;

/// Measures all callables in interleaved rounds (see round_order), each after a warm-up call and a calibration of its
/// iterations. After min_rounds a callable leaves when it is precise enough or its time is up:
///  - with a baseline, `half_width` judges the ratios to the baseline within each round, else the callable's own times;
///  - the baseline stays until the last other one has left, but when its own time is up all leave, for without it
///    there are no more ratios;
///  - a callable that throws leaves at once with Timing::error set, and the others go on; when the baseline throws,
///  they
///    are judged by their own times.
/// One process-wide measurement at a time: Google Benchmark's registry is global, and what was registered there is
/// cleared. `keep_going` is asked before every sample; false ends the measurement with what there is (Ctrl-C). It may
/// be null.
std::vector<Timing> measure_interleaved(const std::vector<Timed>& callables, const TimingOptions& options,
                                        const RelativeHalfWidth& half_width, const std::function<bool()>& keep_going);

}  // namespace attnscale
