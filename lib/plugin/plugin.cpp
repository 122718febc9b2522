#include "plugin/plugin.hpp"

#include <algorithm>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "methods/external.hpp"
#include "plugin/attnscale_plugin.h"
#include "plugin/guard.hpp"
#include "plugin/table.hpp"

namespace attnscale {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSymbol = "attnscale_plugin_v1";

std::deque<Plugin>& plugins() {
  static std::deque<Plugin> loaded;
  return loaded;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw InputError(fmt::format("the plugin {} {}", quoted(path), why));
}

std::string canonical_path(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) refuse(path, "is not there: give the path of a shared library");
  return fs::canonical(path).string();
}

// Immediate binding, so that a symbol that is missing shows now and not in the middle of a run.
const attnscale_plugin* open_table(const std::string& path, const std::string& canonical) {
  void* library = dlopen(canonical.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse(path, fmt::format("cannot be loaded: {}", plain_text(dlerror())));
  void* symbol = dlsym(library, kSymbol);
  if (symbol == nullptr) {
    refuse(path, fmt::format("does not export {}: build it against the attnscale_plugin.h of this version", kSymbol));
  }
  const auto entry = reinterpret_cast<decltype(&attnscale_plugin_v1)>(symbol);
  return entry();
}

std::string flag_of(const std::string& file) {
  return fmt::format("--plugin {0}{1}{0}", file.find(' ') == std::string::npos ? "" : "'", file);
}

}  // namespace

const Plugin& load_plugin(const std::string& path) {
  const std::string canonical = canonical_path(path);
  const auto same = [&](const Plugin& plugin) { return plugin.path == canonical; };
  const auto loaded = std::find_if(plugins().begin(), plugins().end(), same);
  if (loaded != plugins().end()) return *loaded;
  const std::string file = plain_text(fs::path(canonical).filename().c_str());
  const attnscale_plugin* table = nullptr;
  try {
    table = guarded([&] { return open_table(path, canonical); });
  } catch (const PluginError& error) {
    refuse(path, fmt::format("fails when it is loaded: {}", error.what()));
  }
  const std::size_t before = catalog().size();
  Plugin plugin{canonical, file, add_methods(table, flag_of(file)), {}};
  for (const Method* method : catalog().subspan(before)) plugin.methods.emplace_back(method->name);
  plugins().push_back(plugin);
  return plugins().back();
}

const std::deque<Plugin>& loaded_plugins() {
  return plugins();
}

}  // namespace attnscale
