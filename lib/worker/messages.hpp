// The lines of the worker protocol, version 1; docs/workers.md describes it. Whatever a worker writes is checked here:
// nothing of it is believed because of its form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/problem.hpp"

namespace attnscale::worker {

inline constexpr int kProtocol = 1;
/// Most calls that one `run` asks for, so that the line of its times stays short.
inline constexpr std::int64_t kMostIterations = 1024;

/// A method as a worker offers it.
struct Offer {
  std::string name;
  std::string like;  ///< the method of our catalogue whose definition it follows
  std::string summary;
  bool causal = false;   ///< does problems with a causal mask
  bool gqa = false;      ///< does problems with fewer key/value heads than query heads
  bool lse = false;      ///< writes the log-sum-exp too
  bool visible = false;  ///< wants the pattern as bits
};

/// Where a tensor lies in the shared memory: row-major, without gaps.
struct Placed {
  std::string_view name;
  std::int64_t offset = 0;  ///< in bytes
  std::vector<std::int64_t> shape;
};

struct ProblemMessage {
  std::int64_t id = 0;
  std::string_view method;
  std::vector<std::pair<std::string, std::string>> params;
  const Problem* problem = nullptr;
  int threads = 1;
  std::string_view memory;  ///< name of the segment
  std::int64_t memory_bytes = 0;
  std::vector<Placed> tensors;
};

std::string problem_line(const ProblemMessage& message);
std::string run_line(std::int64_t id, std::int64_t iterations);
std::string release_line(std::int64_t id);
std::string quit_line();

/// All of these throw std::runtime_error with one sentence when the line is not what was asked for.
std::vector<Offer> read_hello(const std::string& line);
/// Throws Unsupported when the worker declines the problem. `output` is the shape that the worker must repeat.
void read_ready(const std::string& line, std::int64_t id, const std::vector<std::int64_t>& output);
/// The times of `iterations` calls in ns, each of them a finite number that is not negative.
std::vector<double> read_times(const std::string& line, std::int64_t id, std::int64_t iterations);
void read_released(const std::string& line, std::int64_t id);

}  // namespace attnscale::worker
