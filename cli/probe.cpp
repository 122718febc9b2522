#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "core/error.hpp"
#include "kernels/strip.hpp"
#include "plugin/plugin.hpp"
#include "study/resident.hpp"

namespace attnscale::cli {
namespace {

struct ProbeArguments {
  std::string problem;
  std::string method;
  int threads = 1;
  std::string simd;
  std::vector<std::string> plugins;
};

int run_probe(const ProbeArguments& probe) {
  for (const std::string& path : probe.plugins) load_plugin(path);
  if (!probe.simd.empty()) kernels::use_target(probe.simd);
  const std::vector<MethodSpec> specs = parse_method(probe.method);
  if (specs.size() != 1) throw InputError("probe takes one method");
  const ProbeReading reading = probe_resident(Problem::parse(probe.problem), specs.front(), probe.threads);
  if (reading.resident_bytes) {
    fmt::print("{} {}\n", *reading.resident_bytes, reading.scored_pairs);
  } else {
    fmt::print("- {}\n", reading.scored_pairs);
  }
  return 0;
}

}  // namespace

Command add_probe(CLI::App& app) {
  CLI::App* command = app.add_subcommand("probe", "Runs a method once and prints its resident memory and scored pairs");
  command->group("");
  const auto probe = std::make_shared<ProbeArguments>();
  command->add_option("problem", probe->problem)->required();
  command->add_option("method", probe->method)->required();
  command->add_option("threads", probe->threads)->required()->check(CLI::Range(1, 1024));
  command->add_option("simd", probe->simd);
  command->add_option("--plugin", probe->plugins)->allow_extra_args(false);
  return {command, [probe] { return run_probe(*probe); }};
}

}  // namespace attnscale::cli
