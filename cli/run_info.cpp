#include "run_info.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/strip.hpp"
#include "measure/machine.hpp"
#include "plugin/plugin.hpp"
#include "record/files.hpp"
#include "study/build_info.hpp"
#include "study/identity.hpp"

namespace attnscale::cli {
namespace {

void describe_machine_in(RunInfo& info) {
  const Machine machine = describe_machine();
  info.set("machine", "host", machine.host);
  info.set("machine", "cpu", machine.cpu);
  info.set("machine", "cores", std::int64_t{machine.cores});
  for (const auto& [cache, bytes] : machine.caches) info.set("machine", cache + "_bytes", bytes);
  info.set("machine", "memory_bytes", machine.memory_bytes);
  info.set("machine", "governor", machine.governor);
  info.set("machine", "kernel", machine.kernel);
  info.set("machine", "simd_targets", fmt::format("{}", fmt::join(kernels::available_targets(), " ")));
  info.set("program", "compiler", machine.compiler);
  for (const auto& [library, version] : machine.versions) info.set("program", library, version);
}

std::string command_text(const std::vector<std::string>& arguments) {
  std::string command = "attnscale";
  for (std::string argument : arguments) {
    const std::string prefix = argument.starts_with("npy:") ? "npy:" : "";
    const std::filesystem::path path = argument.substr(prefix.size());
    if (path.is_absolute()) argument = prefix + path.filename().string();
    command += argument.find(' ') == std::string::npos ? " " + argument : fmt::format(" '{}'", argument);
  }
  return command;
}

}  // namespace

std::string time_text(const char* format, std::tm* (*split)(const std::time_t*, std::tm*)) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), format, split(&now, &parts));
  return {text.data(), size};
}

RunInfo describe_run(const std::string& study, const std::vector<std::string>& arguments) {
  RunInfo info;
  const BuildInfo build = build_info();
  info.set("run", "study", study);
  info.set("run", "command", command_text(arguments));
  info.set("run", "started_utc", time_text("%Y-%m-%dT%H:%M:%SZ", gmtime_r));
  info.set("program", "version", build.version);
  info.set("program", "git_commit", build.git_commit);
  if (build.dirty) info.set("program", "dirty", *build.dirty);
  for (const Plugin& plugin : loaded_plugins()) {
    info.set("plugins", plugin.file, fmt::format("{}; XXH3 {}", plugin.library, hash_text(read_file(plugin.path))));
  }
  describe_machine_in(info);
  return info;
}

void add_account(RunInfo& info, const RunAccount& account) {
  for (const auto& [target, gflops] : account.peak_gflops) info.set("limits", "peak_gflops_" + target, gflops);
  const TimeAccount& t = account.whole;
  info.set("time", "wall_s", t.wall_s);
  info.set("time", "calls_s", t.calls_s);
  info.set("time", "oracle_s", t.oracle_s);
  info.set("time", "inputs_s", t.inputs_s);
  info.set("time", "children_s", t.children_s);
  info.set("time", "limits_s", t.limits_s);
  info.set("time", "eviction_s", t.eviction_s);
  info.set("time", "harness_s", t.harness_s());
  info.set("time", "harness_share", t.harness_share());
  info.set("time", "cells", t.cells);
  for (const auto& [keys, part] : account.by_keys) {
    const std::string n = fmt::format("{}", keys);
    info.set("harness_ms_per_cell", n,
             1e3 * part.harness_s() / static_cast<double>(std::max<std::int64_t>(part.cells, 1)));
    info.set("harness_share", n, part.harness_share());
  }
}

std::string caption_of(const RunInfo& info) {
  std::string caption = fmt::format("{}, {} cores", info.text("machine", "cpu"), info.text("machine", "cores"));
  if (const std::string commit = info.text("program", "git_commit"); !commit.empty()) {
    caption += fmt::format("; commit {}{}", commit, info.text("program", "dirty") == "true" ? " (modified)" : "");
  }
  return caption + fmt::format("; {}", info.text("run", "started_utc"));
}

}  // namespace attnscale::cli
