// A study: axes whose combinations are the cells of an experiment, and how to measure them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "methods/method.hpp"
#include "study/keys.hpp"

namespace attnscale {

/// How the cells of a run are measured.
struct RunOptions {
  double precision = 0.01;
  double max_time_s = 2;
  int min_rounds = 7;
  double cell_budget_s = 60;
  std::string simd;   ///< empty: the best target of this machine
  bool pin = false;   ///< each thread is held on a core of its own
  bool cold = false;  ///< caches are emptied before every sample, and a sample is one call
  bool operator==(const RunOptions&) const = default;
};

/// Number of queries and keys; 0 stands for the input's own length.
struct Lengths {
  std::int64_t queries = 0;
  std::int64_t keys = 0;
};

/// What one [[run]] or one command line asks for. An axis that may follow the input is empty when it was not given.
struct Run {
  std::vector<MethodSpec> methods;
  std::vector<Lengths> lengths;
  std::vector<std::int64_t> dims, value_dims, heads, kv_heads, batches;
  bool causal = false;
  std::vector<std::string> inputs;
  std::vector<double> temperatures;
  std::vector<std::uint64_t> seeds;
  std::vector<int> threads;
  std::int64_t first_head = 0;
  RunOptions options;
};

struct Study {
  std::string name;  ///< empty for a run from flags alone
  std::vector<Run> runs;
};

/// Parses one run. Throws InputError for unknown names, bad values and combinations that no problem could satisfy.
Run parse_run(const Settings& settings);

}  // namespace attnscale
