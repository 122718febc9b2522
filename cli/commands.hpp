// The subcommands: each adds itself to the program and says what to do when it is chosen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace attnscale::cli {

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;  ///< returns the exit code; errors are thrown
};

Command add_list(CLI::App& app);
/// `arguments`: the command line as typed, which the run writes down.
Command add_run(CLI::App& app, const std::vector<std::string>& arguments);
Command add_fit(CLI::App& app);
Command add_plot(CLI::App& app);
Command add_doctor(CLI::App& app);
/// Hidden: what `run` starts in a fresh process to measure resident memory.
Command add_probe(CLI::App& app);

/// Version, commit, compiler, SIMD targets and libraries.
std::string version_text();

/// Parses and runs. User errors are one sentence on stderr; the result is the exit code.
int run_program(int argc, char** argv);

}  // namespace attnscale::cli
