#include "methods/catalog.hpp"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/suggest.hpp"

namespace attnscale {
namespace {

constexpr std::array kCatalog = {
#define METHOD(symbol) &methods::symbol,
#include "methods/catalog.def"
#undef METHOD
};

std::vector<const Method*>& all_methods() {
  static std::vector<const Method*> methods(kCatalog.begin(), kCatalog.end());
  return methods;
}

}  // namespace

void methods::append_to_catalog(const Method& method) {
  all_methods().push_back(&method);
}

const char* name_of(Contract contract) {
  switch (contract) {
    case Contract::exact:
      return "exact";
    case Contract::pruned:
      return "pruned";
    case Contract::merged:
      return "merged";
    case Contract::kernelised:
      return "kernelised";
  }
  return "";
}

std::span<const Method* const> catalog() {
  return all_methods();
}

const Method* find_method(std::string_view name) {
  for (const Method* method : catalog()) {
    if (method->name == name) return method;
  }
  return nullptr;
}

std::string MethodSpec::str() const {
  const std::string values = params.str();
  return values.empty() ? std::string(method->name) : fmt::format("{}:{}", method->name, values);
}

std::string MethodSpec::label() const {
  const std::string values = params.label();
  return values.empty() ? std::string(method->name) : fmt::format("{}:{}", method->name, values);
}

std::vector<MethodSpec> parse_method(const std::string& spec) {
  const std::size_t colon = std::min(spec.find(':'), spec.size());
  const std::string name = spec.substr(0, colon);
  const Method* method = find_method(name);
  if (method == nullptr) {
    std::vector<std::string> names;
    for (const Method* m : catalog()) names.emplace_back(m->name);
    throw InputError(unknown_name("method", name, names));
  }
  std::vector<MethodSpec> specs;
  for (Params& params :
       Params::parse(colon < spec.size() ? spec.substr(colon + 1) : "", method->params, method->name)) {
    if (method->invalid != nullptr) {
      if (const auto reason = method->invalid(params))
        throw InputError(fmt::format("{}:{}: {}", name, params.str(), *reason));
    }
    specs.push_back({method, std::move(params)});
  }
  return specs;
}

}  // namespace attnscale
