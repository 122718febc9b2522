// What a cell will need, before anything is allocated: memory in closed form, and time from rates that were measured.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/problem.hpp"
#include "methods/method.hpp"

namespace attnscale {

/// Bytes that a problem needs beside its methods: inputs, and the oracle's rows and scratch with `oracle_threads`
/// threads.
std::int64_t problem_bytes(const Problem& problem, int oracle_threads);
/// Queries, keys and values.
std::int64_t input_bytes(const Shape& shape);
/// Output and log-sum-exp of one method.
std::int64_t output_bytes(const Shape& shape);
/// All that one method holds: outputs, workspace, and what a data-dependent one reports.
std::int64_t method_bytes(const Shape& shape, const Plan& plan, int threads);

/// Work of one call in FLOP: 2 dim per scored pair, 2 value_dim per visible pair, and the method's own extra.
std::int64_t flops_of(const Shape& shape, std::int64_t scored_pairs, std::int64_t visible_pairs,
                      std::int64_t extra_flops);

/// Predicts the time of one call. It starts from the rate of a short calibration and learns from every call that was
/// made.
class TimeModel {
 public:
  /// `ns_per_flop`: of exact.streaming on one thread.
  explicit TimeModel(double ns_per_flop) : calibrated_(ns_per_flop) {}

  [[nodiscard]] double predict_ns(const MethodSpec& spec, const Problem& problem, const Cost& cost, int threads) const;
  /// A call of this work took that long.
  void learn(const MethodSpec& spec, const Problem& problem, const Cost& cost, const WorkCount& work, int threads,
             double time_ns);

 private:
  struct Seen {
    double ns_per_flop = 0;  ///< on one thread
    double pairs_per_row = 0;
    double keys = 0;
  };
  [[nodiscard]] double flops(const MethodSpec& spec, const Problem& problem, const Cost& cost) const;

  double calibrated_;
  std::map<std::string, Seen> seen_;  ///< by spec
};

/// Measures the rate of exact.streaming on one thread with a problem of a few milliseconds, in ns per FLOP.
double calibrate();

}  // namespace attnscale
