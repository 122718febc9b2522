// Resident memory of one call, measured in a fresh process: the program starts itself with the hidden subcommand
// `probe`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "methods/method.hpp"

namespace attnscale {

/// The program to start, and what it is told beside the call (the plugins to load).
struct Probe {
  std::string program;
  std::vector<std::string> arguments;
};

/// Growth of the resident set in bytes over plan, workspace and first run, as a child process sees it. Empty when it
/// cannot be had: no program, no /proc, or a child that failed.
std::optional<std::int64_t> resident_bytes(const Probe& probe, const Problem& problem, const MethodSpec& spec,
                                           int threads, const std::string& simd);

struct ProbeReading {
  std::optional<std::int64_t> resident_bytes;  ///< empty where /proc does not say
  std::int64_t scored_pairs = 0;               ///< of the call
};

/// The child's side: runs the method once and prints nothing.
ProbeReading probe_resident(const Problem& problem, const MethodSpec& spec, int threads);

}  // namespace attnscale
