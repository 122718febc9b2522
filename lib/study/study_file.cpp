#include "study/study_file.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "core/error.hpp"
#include "core/suggest.hpp"
#include "record/files.hpp"

namespace attnscale {
namespace {

namespace fs = std::filesystem;

std::string where(const std::string& path, const toml::node& node) {
  return fmt::format("{}, line {}", fs::path(path).filename().string(), node.source().begin.line);
}

[[noreturn]] void wrong_type(const std::string& at, const Key& key, std::string_view wanted) {
  throw InputError(fmt::format("{}: {} is no {}: write it as in {} = {}", at, key.name, wanted, key.name,
                               wanted == "flag"   ? "true"
                               : wanted == "text" ? "\"...\""
                                                  : "1"));
}

std::string scalar_text(const toml::node& node, const Key& key, const std::string& at) {
  if (key.kind == KeyKind::flag) {
    if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
    wrong_type(at, key, "flag");
  }
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (key.kind == KeyKind::words || key.kind == KeyKind::word) wrong_type(at, key, "text");
  if (const auto number = node.value_exact<std::int64_t>()) return fmt::format("{}", *number);
  const bool real = key.kind == KeyKind::real || key.kind == KeyKind::reals || key.kind == KeyKind::seconds;
  if (const auto number = node.value_exact<double>(); number && real) return fmt::format("{}", *number);
  wrong_type(at, key, real ? "number" : "whole number");
}

std::vector<std::string> texts_of(const toml::node& node, const Key& key, const std::string& at) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return {scalar_text(node, key, at)};
  if (key.kind == KeyKind::flag) wrong_type(at, key, "flag");
  std::vector<std::string> texts;
  for (const toml::node& item : *array) texts.push_back(scalar_text(item, key, at));
  if (texts.empty())
    throw InputError(fmt::format("{}: {} is an empty list: give it a value or leave it out", at, key.name));
  return texts;
}

void resolve_input(std::string& input, const fs::path& folder) {
  constexpr std::string_view kFile = "npy:";
  if (!input.starts_with(kFile)) return;
  const fs::path file = input.substr(kFile.size());
  if (file.is_relative()) input = std::string(kFile) + (folder / file).lexically_normal().string();
}

void resolve_plugin(std::string& plugin, const fs::path& folder) {
  if (fs::path(plugin).is_relative()) plugin = (folder / plugin).lexically_normal().string();
}

Settings settings_of(const toml::table& table, const std::string& path) {
  Settings settings;
  for (const auto& [name, node] : table) {
    const Key* key = find_key(name.str());
    if (key == nullptr) {
      std::vector<std::string> names;
      for (const Key& k : run_keys()) names.emplace_back(k.name);
      throw InputError(fmt::format("{}: {}", where(path, node), unknown_name("key", name.str(), names)));
    }
    settings[std::string(key->name)] = texts_of(node, *key, where(path, node));
  }
  if (const auto input = settings.find("input"); input != settings.end()) {
    for (std::string& text : input->second) resolve_input(text, fs::path(path).parent_path());
  }
  if (const auto plugin = settings.find("plugin"); plugin != settings.end()) {
    for (std::string& text : plugin->second) resolve_plugin(text, fs::path(path).parent_path());
  }
  return settings;
}

toml::table parse_file(const std::string& path) {
  const std::string text = read_file(path);
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw InputError(fmt::format("{}, line {}: {}", fs::path(path).filename().string(), error.source().begin.line,
                                 std::string(error.description())));
  }
}

}  // namespace

StudyFile read_study_file(const std::string& path) {
  const toml::table table = parse_file(path);
  StudyFile study;
  study.name = fs::path(path).stem().string();
  for (const auto& [name, node] : table) {
    if (name == "summary") {
      if (!node.is_string())
        throw InputError(where(path, node) + ": summary is no text: write it as in summary = \"...\"");
      study.summary = node.value_or(std::string());
    } else if (name == "run") {
      const toml::array* runs = node.as_array();
      if (runs == nullptr || !runs->is_homogeneous(toml::node_type::table)) {
        throw InputError(where(path, node) + ": run is no list of tables: write [[run]] above the keys of each run");
      }
      for (const toml::node& run : *runs) study.runs.push_back(settings_of(*run.as_table(), path));
    } else {
      const std::vector<std::string> names = {"run", "summary"};
      throw InputError(fmt::format("{}: {} (the keys of a run stand under [[run]])", where(path, node),
                                   unknown_name("key", name.str(), names)));
    }
  }
  if (study.runs.empty())
    throw InputError(fmt::format("the study {} holds no run: add a [[run]] table", attnscale::quoted(study.name)));
  return study;
}

std::vector<std::string> study_paths(const std::vector<std::string>& folders) {
  std::vector<std::string> paths;
  std::set<std::string> names;
  for (const std::string& folder : folders) {
    std::error_code error;
    std::vector<std::string> here;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".toml") here.push_back(entry.path().string());
    }
    std::sort(here.begin(), here.end());
    for (const std::string& path : here) {
      if (names.insert(fs::path(path).stem().string()).second) paths.push_back(path);
    }
  }
  return paths;
}

std::string find_study(const std::string& name, const std::vector<std::string>& folders) {
  std::error_code error;
  if (fs::is_regular_file(name, error)) return name;
  const std::vector<std::string> paths = study_paths(folders);
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    names.push_back(fs::path(path).stem().string());
    if (names.back() == name) return path;
  }
  if (names.empty())
    throw InputError(fmt::format("there is no study {}: give the path of a .toml file", attnscale::quoted(name)));
  const std::string bare = fs::path(name).stem().string();
  throw InputError(unknown_name("study", bare.empty() ? name : bare, names));
}

}  // namespace attnscale
