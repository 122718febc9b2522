// What must be the same whenever and however a cell runs: everything that is no time, memory reading or warning.
#pragma once

#include <string>

#include "record/csv.hpp"

namespace attnscale::test {

inline std::string deterministic(Record r) {
  r.samples = r.ratio_rounds = {};
  r.time_ns_median = r.time_ns_min = r.time_ns_mad = r.time_ns_ci_low = r.time_ns_ci_high = r.plan_ns_median = {};
  r.ratio_to_exact = r.ratio_ci_low = r.ratio_ci_high = r.gflops = r.peak_share = {};
  r.ci_level = r.ratio_ci_level = r.time_ns_p99 = r.tokens_per_s = {};
  r.workspace_bytes_counted = r.resident_bytes = r.allocations = {};
  r.instructions = r.cycles = r.cache_misses = {};
  r.warnings.clear();
  return csv_line(r);
}

}  // namespace attnscale::test
