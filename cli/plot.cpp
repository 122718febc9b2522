// `attnscale plot RUN`: the scripts of plots/ go to RUN/plots with the data that they need, and gnuplot runs them
// there.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.hpp"
#include "core/error.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/run_info.hpp"
#include "run_info.hpp"
#include "stage_shares.hpp"
#include "studies.hpp"

extern char** environ;

namespace attnscale::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kNoProgram = 127;

// Without a shell: names of files and inputs are never parsed by anyone but gnuplot.
int run_gnuplot(const std::string& variables, const fs::path& script) {
  std::vector<std::string> words = {"gnuplot", "-e", variables, script.string()};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "gnuplot", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return kNoProgram;
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 1;
  return WEXITSTATUS(status);
}

// gnuplot strings in single quotes hold anything but a single quote, which is doubled.
std::string gnuplot_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

std::vector<fs::path> copy_scripts(const fs::path& target) {
  const std::vector<std::string> folders = data_folders("plots");
  if (folders.empty())
    throw InputError("the folder plots with the gnuplot scripts is not found: run this in the source tree");
  std::vector<fs::path> scripts;
  for (const auto& entry : fs::directory_iterator(folders.front())) {
    if (entry.path().extension() != ".gp") continue;
    write_file(target / entry.path().filename(), read_file(entry.path()));
    if (entry.path().filename() != "common.gp") scripts.push_back(target / entry.path().filename());
  }
  std::sort(scripts.begin(), scripts.end());
  return scripts;
}

std::vector<std::string> inputs_of(const std::vector<Record>& records) {
  std::vector<std::string> inputs;
  for (const Record& record : records) {
    if (std::find(inputs.begin(), inputs.end(), record.input) == inputs.end()) inputs.push_back(record.input);
  }
  return inputs;
}

std::string caption(const fs::path& run) {
  std::error_code error;
  if (!fs::exists(run / "run.json", error)) return "";
  return caption_of(parse_run_json(read_file(run / "run.json"), "run.json"));
}

int plot(const fs::path& run) {
  const std::vector<Record> records = read_csv<Record>(run / "summary.csv");
  std::vector<StageRow> stages;
  if (std::error_code error; fs::exists(run / "stages.csv", error)) stages = read_csv<StageRow>(run / "stages.csv");
  const fs::path target = run / "plots";
  std::error_code error;
  fs::create_directories(target, error);
  if (error)
    throw WriteError(
        fmt::format("the folder {} cannot be made ({})", attnscale::quoted(target.string()), error.message()));
  write_file(target / "stage_shares.csv", stage_shares_csv(records, stages));
  const std::vector<fs::path> scripts = copy_scripts(target);

  bool all_drawn = true;
  for (const std::string& input : inputs_of(records)) {
    for (const fs::path& script : scripts) {
      const std::string variables = fmt::format(
          "run={}; out={}; scripts={}; input={}; caption={}", gnuplot_text(run.string()), gnuplot_text(target.string()),
          gnuplot_text(target.string()), gnuplot_text(input), gnuplot_text(caption(run)));
      const int code = run_gnuplot(variables, script);
      if (code == kNoProgram) {
        fmt::print(
            "gnuplot is not installed, so nothing is drawn; the scripts and data are in {}: install the package "
            "gnuplot-nox, then "
            "run attnscale plot {} again\n",
            target.string(), run.string());
        return 0;
      }
      if (code != 0) fmt::print(stderr, "attnscale: {} drew nothing for {}\n", script.filename().string(), input);
      all_drawn = all_drawn && code == 0;
    }
  }
  fmt::print("plots are in {}\n", target.string());
  return static_cast<int>(all_drawn ? ExitCode::ok : ExitCode::unmeasured);
}

}  // namespace

Command add_plot(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("plot", "Draw a run with gnuplot: time, memory, error, Pareto, stages, speed under the peak");
  const auto run = std::make_shared<std::string>();
  command->add_option("run", *run, "folder of a run")->required();
  return {command, [run] { return plot(*run); }};
}

}  // namespace attnscale::cli
