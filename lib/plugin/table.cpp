#include "plugin/table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "methods/external.hpp"
#include "plugin/plugin_method.hpp"

namespace attnscale {
namespace {

constexpr std::uint32_t kMostMethods = 256;
constexpr std::uint32_t kMostParams = 32;
constexpr const char* kHeader = "build it against the attnscale_plugin.h of this version";

// Sizes of the first version: members that came later may be missing.
constexpr std::size_t kFirstMethodSize = offsetof(attnscale_method, visible) + sizeof(attnscale_method::visible);
constexpr std::size_t kFirstPluginSize = offsetof(attnscale_plugin, methods) + sizeof(attnscale_plugin::methods);

// What an older plugin lacks stays zero, what a newer one has beyond us is left out.
template <class Table>
Table copy_of(const Table* from, std::size_t size) {
  Table copy{};
  std::memcpy(&copy, from, std::min(size, sizeof(Table)));
  return copy;
}

attnscale_plugin checked_plugin(const attnscale_plugin* table, const std::string& origin) {
  if (table == nullptr) throw InputError(fmt::format("{} returns no table of methods: {}", origin, kHeader));
  if (table->abi != ATTNSCALE_PLUGIN_ABI) {
    throw InputError(fmt::format("{} has version {} of the plugin interface, this program version {}: {}", origin,
                                 table->abi, ATTNSCALE_PLUGIN_ABI, kHeader));
  }
  if (table->size < kFirstPluginSize)
    throw InputError(
        fmt::format("{} has a table of {} bytes, less than {}: {}", origin, table->size, kFirstPluginSize, kHeader));
  const attnscale_plugin plugin = copy_of(table, table->size);
  if (plugin.method_count < 1 || plugin.method_count > kMostMethods || plugin.methods == nullptr) {
    throw InputError(fmt::format("{} brings {} methods{}: it must list 1 to {}", origin, plugin.method_count,
                                 plugin.methods == nullptr ? " in no list" : "", kMostMethods));
  }
  return plugin;
}

// What is wrong with the entry of a method, as the end of a sentence; empty: nothing.
std::string fault_of(const attnscale_method& method) {
  if (method.contract != ATTNSCALE_EXACT && method.contract != ATTNSCALE_PRUNED)
    return fmt::format("has the unknown contract {}", method.contract);
  if ((method.flags & ~static_cast<std::uint32_t>(ATTNSCALE_NO_LSE)) != 0)
    return fmt::format("has unknown flags ({})", method.flags);
  if (method.param_count > kMostParams)
    return fmt::format("declares {} parameters, more than {}", method.param_count, kMostParams);
  if (method.param_count > 0 && method.params == nullptr) return "declares parameters in no list";
  if (method.plan == nullptr) return "has no function plan";
  if (method.run == nullptr) return "has no function run";
  if (method.release == nullptr) return "has no function release";
  const bool pruned = method.contract == ATTNSCALE_PRUNED;
  if (pruned && method.visible == nullptr) return "is pruned but has no function visible";
  if (pruned && method.visible_pairs == nullptr) return "is pruned but has no function visible_pairs";
  if (!pruned && method.visible != nullptr) return "is exact but has a function visible";
  return "";
}

attnscale_method checked_method(const attnscale_plugin& plugin, std::uint32_t index, const std::string& origin) {
  const attnscale_method* entry = plugin.methods[index];
  if (entry == nullptr) throw InputError(fmt::format("{}: its method {} is null: {}", origin, index + 1, kHeader));
  if (entry->size < kFirstMethodSize) {
    throw InputError(fmt::format("{}: its method {} has {} bytes, less than {}: {}", origin, index + 1, entry->size,
                                 kFirstMethodSize, kHeader));
  }
  const attnscale_method method = copy_of(entry, entry->size);
  if (const std::string fault = fault_of(method); !fault.empty()) {
    throw InputError(fmt::format("{}: its method {} ({}) {}: {}", origin, index + 1, quoted(plain_text(method.name)),
                                 fault, kHeader));
  }
  return method;
}

// The texts of one method, which the catalogue copies.
struct Texts {
  explicit Texts(const attnscale_method& method)
      : name(plain_text(method.name)),
        summary(plain_text(method.summary)),
        paper(plain_text(method.paper)),
        complexity(plain_text(method.complexity, 40)) {
    for (std::uint32_t i = 0; i < method.param_count; ++i) {
      const attnscale_param& param = method.params[i];
      param_names.push_back(plain_text(param.name));
      param_docs.push_back(plain_text(param.doc));
      fallbacks.push_back(std::to_string(param.fallback));
    }
  }
  std::string name, summary, paper, complexity;
  std::vector<std::string> param_names, param_docs, fallbacks;
};

void add_one(const attnscale_method& table, const std::string& origin) {
  const Texts texts(table);
  std::vector<ParamSpec> params;
  for (std::uint32_t i = 0; i < table.param_count; ++i) {
    params.push_back({texts.param_names[i], ParamKind::integer, texts.fallbacks[i], table.params[i].lowest,
                      table.params[i].highest, "", texts.param_docs[i]});
  }
  const auto inside = std::make_shared<const PluginMethod>(table, texts.param_names);
  Method method;
  method.name = texts.name;
  method.summary = texts.summary;
  method.paper = texts.paper.empty() ? origin : texts.paper;
  method.complexity = texts.complexity;
  method.origin = origin;
  method.contract = table.contract == ATTNSCALE_PRUNED ? Contract::pruned : Contract::exact;
  method.params = params;
  method.gives_lse = (table.flags & ATTNSCALE_NO_LSE) == 0;
  method.unsupported = [inside](const Problem& problem, const Params& values) {
    return inside->unsupported(problem, values);
  };
  method.plan_with_threads = [inside](const Problem& problem, const Params& values, int threads) {
    return inside->plan(problem, values, threads);
  };
  if (table.visible != nullptr) {
    method.visible = [inside](const Problem& problem, const Params& values, std::span<const std::int32_t>) {
      return inside->visible(problem, values);
    };
  }
  add_method(method);
}

}  // namespace

std::string add_methods(const attnscale_plugin* table, const std::string& origin) {
  const attnscale_plugin plugin = checked_plugin(table, origin);
  for (std::uint32_t i = 0; i < plugin.method_count; ++i) add_one(checked_method(plugin, i, origin), origin);
  return plain_text(plugin.library, 100);
}

}  // namespace attnscale
