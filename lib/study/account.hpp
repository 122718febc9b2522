// Where the time of a run went. What is left when everything that was asked for is taken off is the harness itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace attnscale {

struct TimeAccount {
  double wall_s = 0;
  double calls_s = 0;     ///< inside timed regions: samples, warm-up, calibration, first runs, plan times
  double oracle_s = 0;    ///< fp64 verification
  double inputs_s = 0;    ///< making or reading them
  double children_s = 0;  ///< processes that measure resident memory
  double limits_s = 0;    ///< calibration and peak of this machine, once per run and SIMD target
  double eviction_s = 0;  ///< emptying caches (cache = cold)
  std::int64_t cells = 0;

  [[nodiscard]] double harness_s() const {
    return wall_s - calls_s - oracle_s - inputs_s - children_s - limits_s - eviction_s;
  }
  /// Of what would be left if all else cost nothing; 0 when nothing was timed.
  [[nodiscard]] double harness_share() const { return calls_s > 0 ? harness_s() / (calls_s + harness_s()) : 0; }
  TimeAccount& operator+=(const TimeAccount& other);
};

/// What a run learnt about the machine and itself, beside its rows.
struct RunAccount {
  std::map<std::string, double> peak_gflops;    ///< multiply-add peak of one thread, by SIMD target
  TimeAccount whole;                            ///< everything
  std::map<std::int64_t, TimeAccount> by_keys;  ///< the groups of one length; their sum is less than the whole
};

}  // namespace attnscale
