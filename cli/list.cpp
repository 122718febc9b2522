// `attnscale list`: methods, inputs, studies and fields, each from the list that the program itself works by.
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include "inputs/inputs.hpp"
#include "methods/method.hpp"
#include "plugin/plugin.hpp"
#include "record/record.hpp"
#include "record/schema.hpp"
#include "studies.hpp"
#include "study/study_file.hpp"
#include "workers.hpp"

namespace attnscale::cli {
namespace {

std::string parameter_text(const ParamSpec& param) {
  if (param.kind == ParamKind::choice)
    return fmt::format("{}={} ({}): {}", param.name, param.fallback, param.choices, param.doc);
  return fmt::format("{}={}: {}", param.name, param.fallback, param.doc);
}

void list_methods() {
  for (const Method* method : catalog()) {
    fmt::print("{}\n  {}\n  {}, contract {}; {}\n", method->name, method->summary, method->complexity,
               name_of(method->contract), method->paper);
    for (const ParamSpec& param : method->params) fmt::print("    {}\n", parameter_text(param));
  }
}

void list_inputs() {
  for (const InputFamily& family : input_families()) fmt::print("{:<12} {}\n", family.name, family.summary);
  fmt::print("{:<12} {}\n", "npy:PREFIX", "real tensors: PREFIX.q.npy, PREFIX.k.npy and PREFIX.v.npy");
}

void list_studies() {
  for (const std::string& path : study_paths(study_folders())) {
    const StudyFile study = read_study_file(path);
    fmt::print("{:<12} {}\n", study.name, study.summary);
  }
}

template <class Row>
void list_columns(const char* file) {
  fmt::print("{}\n", file);
  for (const FieldInfo& field : fields_of<Row>()) {
    fmt::print("  {:<26} {:<8} {:<8} {}\n", field.name, name_of(field.type), field.unit, field.doc);
  }
}

struct ListArguments {
  std::string what = "methods";
  std::vector<std::string> plugins;
  bool markdown = false;
  bool names = false;
  std::vector<std::string> workers;
};

void list_fields(const ListArguments& arguments) {
  if (arguments.markdown) {
    fmt::print("{}", schema_markdown());
    return;
  }
  if (arguments.names) {
    for (const FieldInfo& field : fields_of<Record>()) fmt::print("{}\n", field.name);
    return;
  }
  list_columns<Record>("summary.csv");
  list_columns<SampleRow>("samples.csv");
  list_columns<StageRow>("stages.csv");
  list_columns<FitRow>("fits.csv");
}

void list(const ListArguments& arguments) {
  const std::vector<std::string> lists = {"methods", "inputs", "studies", "fields"};
  for (const std::string& path : arguments.plugins) load_plugin(path);
  Settings settings = {{"worker", arguments.workers}};
  load_workers(settings);
  if (arguments.what == "methods") return list_methods();
  if (arguments.what == "inputs") return list_inputs();
  if (arguments.what == "studies") return list_studies();
  if (arguments.what == "fields") return list_fields(arguments);
  throw InputError(unknown_name("list", arguments.what, lists));
}

}  // namespace

Command add_list(CLI::App& app) {
  CLI::App* command = app.add_subcommand("list", "What there is: methods, inputs, studies, fields");
  const auto arguments = std::make_shared<ListArguments>();
  command->add_option("what", arguments->what, "methods, inputs, studies or fields")->capture_default_str();
  command->add_option("--plugin", arguments->plugins, "shared library that adds methods; may be repeated")
      ->allow_extra_args(false);
  command->add_flag("--markdown", arguments->markdown, "fields as the text of docs/schema.md");
  command->add_flag("--names", arguments->names, "fields as the bare column names of summary.csv, one per line");
  command->add_option("--worker", arguments->workers, "command of a process whose methods are listed too; repeatable");
  return {command, [arguments] {
            list(*arguments);
            return 0;
          }};
}

}  // namespace attnscale::cli
