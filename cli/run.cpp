// `attnscale run`: a study file or flags, or both; flags override the environment, and that the file. Plugins add up.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "core/error.hpp"
#include "interrupt.hpp"
#include "plugin/plugin.hpp"
#include "progress.hpp"
#include "record/run_folder.hpp"
#include "run_end.hpp"
#include "run_info.hpp"
#include "studies.hpp"
#include "study/expand.hpp"
#include "study/keys.hpp"
#include "study/runner.hpp"
#include "study/study.hpp"
#include "study/study_file.hpp"
#include "workers.hpp"

namespace attnscale::cli {
namespace {

namespace fs = std::filesystem;

struct RunArguments {
  std::string study;
  std::map<std::string, std::vector<std::string>> keys;  ///< as typed, by key
  std::map<std::string, CLI::Option*> options;
  std::map<std::string, bool> flags;  ///< keys that are on or off
  std::string out;
  std::string save_output;
  std::string formats = "csv";
  std::string colour = "auto";
  bool force = false;
  bool dry_run = false;
  bool quiet = false;
};

Settings typed_settings(const RunArguments& arguments) {
  Settings settings;
  for (const auto& [key, option] : arguments.options) {
    if (option->count() == 0) continue;
    settings[key] = find_key(key)->kind == KeyKind::flag
                        ? std::vector<std::string>{arguments.flags.at(key) ? "true" : "false"}
                        : arguments.keys.at(key);
  }
  return settings;
}

// Before any method is parsed, for it may be a plugin's.
void load_plugins(const Settings& settings) {
  const auto plugins = settings.find("plugin");
  if (plugins == settings.end()) return;
  for (const std::string& path : plugins->second) load_plugin(path);
}

Study read_study(const RunArguments& arguments) {
  const Settings environment = settings_of_environment();
  const Settings typed = typed_settings(arguments);
  Study study;
  std::vector<Settings> runs = {{}};
  if (!arguments.study.empty()) {
    const StudyFile file = read_study_file(find_study(arguments.study, study_folders()));
    study.name = file.name;
    runs = file.runs;
  }
  for (const Settings& run : runs) load_plugins(run);
  load_plugins(environment);
  load_plugins(typed);
  for (Settings& run : runs) {
    run = overlay(overlay(run, environment), typed);
    load_workers(run);
  }
  for (const Settings& run : runs) study.runs.push_back(parse_run(run));
  return study;
}

// runs/<study>-<time>; a second run within the same second gets a number.
fs::path new_folder(const std::string& study) {
  const std::string stem = fmt::format("{}-{}", study.empty() ? "run" : study, time_text("%Y%m%d-%H%M%S", localtime_r));
  fs::path folder = fs::path("runs") / stem;
  std::error_code error;
  for (int number = 2; fs::exists(folder, error); ++number)
    folder = fs::path("runs") / fmt::format("{}-{}", stem, number);
  return folder;
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw InputError(fmt::format("the folder {} of --save-output cannot be made ({}): give another one",
                                 attnscale::quoted(folder), error.message()));
  }
}

int run(const RunArguments& arguments, const std::vector<std::string>& command_line) {
  const auto start = std::chrono::steady_clock::now();
  const bool colour = wants_colour(arguments.colour, STDOUT_FILENO);
  const RunFormats formats = parse_formats(arguments.formats);
  const Study study = read_study(arguments);
  const std::vector<Group> groups = expand(study);
  if (arguments.dry_run) {
    print_predictions(predict(groups));
    return 0;
  }
  RunFolder folder(arguments.out.empty() ? new_folder(study.name) : fs::path(arguments.out), arguments.force);
  if (!arguments.save_output.empty()) make_folder(arguments.save_output);
  RunInfo info = describe_run(study.name, command_line);
  folder.start(info);

  watch_interrupts();
  ProgressLine line(arguments.quiet);
  RunnerHooks hooks;
  hooks.finished = [&](Cell cell) { folder.append(std::move(cell)); };
  hooks.progress = [&](const Progress& progress) { line.show(progress); };
  hooks.interrupted = interrupted;
  RunAccount account;
  hooks.account = [&](const RunAccount& found) { account = found; };
  RunnerOptions options;
  options.study = study.name;
  options.save_output = arguments.save_output;
  options.probe.program = program_path();
  for (const Plugin& plugin : loaded_plugins()) {
    options.probe.arguments.push_back("--plugin");
    options.probe.arguments.push_back(plugin.path);
  }
  const bool whole = run_groups(groups, options, hooks);
  line.clear();
  account.whole.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  add_account(info, account);
  folder.finish(info, formats);
  return end_run(folder, account, {whole, colour, arguments.quiet});
}

void add_keys(CLI::App& command, RunArguments& arguments) {
  for (const Key& key : run_keys()) {
    const std::string name(key.name);
    const std::string flag = "--" + name;
    const std::string doc = key.fallback.empty() ? std::string(key.doc) : fmt::format("{} [{}]", key.doc, key.fallback);
    if (key.kind == KeyKind::flag) {
      arguments.options[name] = command.add_flag(flag, arguments.flags[name], std::string(key.doc));
      continue;
    }
    CLI::Option* option = command.add_option(flag, arguments.keys[name], doc)->group("What to run");
    const bool list = key.kind == KeyKind::words || key.kind == KeyKind::sizes || key.kind == KeyKind::reals;
    if (list) {
      option->expected(1, CLI::detail::expected_max_vector_size);
    } else {
      option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
    arguments.options[name] = option;
  }
}

}  // namespace

Command add_run(CLI::App& app, const std::vector<std::string>& command_line) {
  CLI::App* command = app.add_subcommand("run", "Measure and verify methods: a study, or what the flags say");
  const auto arguments = std::make_shared<RunArguments>();
  command->add_option("study", arguments->study, "name of a study, or a .toml file; stands before the flags");
  add_keys(*command, *arguments);
  command->add_option("--out", arguments->out, "output folder [runs/<study>-<time>]")->envname("ATTNSCALE_OUT");
  command->add_option("--save-output", arguments->save_output, "folder for the output and LSE of each cell, as .npy");
  command->add_option("--format", arguments->formats, "csv, or csv,jsonl")->envname("ATTNSCALE_FORMAT");
  command->add_option("--color", arguments->colour, "auto, always or never")->envname("ATTNSCALE_COLOR");
  command->add_flag("--force", arguments->force, "replace an existing output folder");
  command->add_flag("--dry-run", arguments->dry_run, "print the cells with predicted time and memory, and stop");
  command->add_flag("--quiet", arguments->quiet, "no progress");
  return {command, [arguments, &command_line] { return run(*arguments, command_line); }};
}

}  // namespace attnscale::cli
