#include "study/resident.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inputs/inputs.hpp"
#include "kernels/strip.hpp"
#include "measure/memory.hpp"
#include "run/executor.hpp"

extern char** environ;

namespace attnscale {
namespace {

template <class Tensor>
void touch(Tensor& tensor) {
  float* data = tensor.view().data;
  std::fill(data, data + tensor.bytes() / static_cast<std::int64_t>(sizeof(float)), 0.0F);
}

// What the child prints, or nothing when it could not be started or failed.
std::optional<std::string> output_of(std::vector<std::string> arguments) {
  std::array<int, 2> pipe_ends{};
  if (pipe(pipe_ends.data()) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int started = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  std::string text;
  std::array<char, 256> buffer{};
  if (started == 0) {
    for (ssize_t got; (got = read(pipe_ends[0], buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(pipe_ends[0]);
  int status = 0;
  if (started != 0 || waitpid(child, &status, 0) != child || status != 0) return std::nullopt;
  return text;
}

}  // namespace

std::optional<std::int64_t> resident_bytes(const Probe& probe, const Problem& problem, const MethodSpec& spec,
                                           int threads, const std::string& simd) {
  if (probe.program.empty()) return std::nullopt;
  std::vector<std::string> words = {probe.program, "probe", problem.str(), spec.str(), std::to_string(threads), simd};
  words.insert(words.end(), probe.arguments.begin(), probe.arguments.end());
  const auto text = output_of(std::move(words));
  if (!text) return std::nullopt;
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), bytes);
  return error == std::errc() && end != text->data() ? std::optional<std::int64_t>(bytes) : std::nullopt;
}

ProbeReading probe_resident(const Problem& problem, const MethodSpec& spec, int threads) {
  const Inputs inputs = make_inputs(problem);
  QueryTensor out(problem.shape.output_extents());
  QueryTensor lse(problem.shape.lse_extents());
  touch(out);
  touch(lse);
  Executor executor(threads);
  executor.parallel_for(threads, [](std::int64_t) {});  // the pool is up before the count starts
  const auto before = reset_resident_peak();
  const Plan plan = spec.plan(problem, threads);
  Workspace workspace(plan, threads);
  const RunReport report = executor.run(plan, inputs.view(), {out.view(), lse.view()}, workspace);
  const auto peak = resident_peak();
  ProbeReading reading;
  reading.scored_pairs = report.work.scored_pairs;
  if (before && peak) reading.resident_bytes = std::max<std::int64_t>(0, *peak - *before);
  return reading;
}

}  // namespace attnscale
