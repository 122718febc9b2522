// The command line as a whole: subcommands, version, and the one place where errors become sentences and exit codes.
#include <algorithm>
#include <cstdio>
#include <exception>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include "interrupt.hpp"

namespace attnscale::cli {
namespace {

int complain(const std::string& sentence, ExitCode code) {
  fmt::print(stderr, "attnscale: {}\n", sentence);
  return static_cast<int>(code);
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<std::string> names_of(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) {
    if (!command.app->get_group().empty()) names.push_back(command.app->get_name());  // no group: hidden
  }
  return names;
}

// CLI11 leaves over what it does not know; the sentence for it is ours, with the nearest name.
void refuse_leftovers(const CLI::App& app, const std::vector<std::string>& commands) {
  const std::vector<std::string> left = app.remaining();
  if (left.empty()) return;
  const std::string& word = left.front();
  if (word.starts_with("-")) throw InputError(unknown_name("flag", word.substr(0, word.find('=')), flags_of(app)));
  if (!commands.empty()) throw InputError(unknown_name("command", word, commands));
  throw InputError(fmt::format("{} takes no further argument, but got {}: see attnscale {} --help", app.get_name(),
                               attnscale::quoted(word), app.get_name()));
}

int parse_and_run(CLI::App& app, const std::vector<Command>& commands, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    return complain(fmt::format("{}; see attnscale --help", error.what()), ExitCode::bad_input);
  }
  const auto chosen = std::find_if(commands.begin(), commands.end(), [](const Command& c) { return c.app->parsed(); });
  refuse_leftovers(app, names_of(commands));
  if (chosen == commands.end()) {
    throw InputError(fmt::format("no command is given: name one of {}, or see attnscale --help",
                                 fmt::join(names_of(commands), ", ")));
  }
  refuse_leftovers(*chosen->app, {});
  ignore_file_size_signal();
  const int code = chosen->run();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw WriteError("the output could not be written to stdout");
  return code;
}

}  // namespace

int run_program(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  CLI::App app{"How attention scales with sequence length, and what each shortcut costs in accuracy.", "attnscale"};
  app.set_version_flag("--version", version_text);
  const std::vector<Command> commands = {add_list(app), add_run(app, arguments), add_fit(app),
                                         add_plot(app), add_doctor(app),         add_probe(app)};
  app.allow_extras();
  for (const Command& command : commands) command.app->allow_extras();
  try {
    return parse_and_run(app, commands, argc, argv);
  } catch (const Error& error) {
    return complain(error.what(), error.code());
  } catch (const std::exception& error) {
    return complain(fmt::format("internal error: {}; please report it with the command that you typed", error.what()),
                    ExitCode::unmeasured);
  }
}

}  // namespace attnscale::cli
