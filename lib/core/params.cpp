#include "core/params.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/ranges.hpp"
#include "core/suggest.hpp"

namespace attnscale {
namespace {
constexpr std::size_t kMostCombinations = 4096;
}

std::size_t Params::index_of(std::string_view name) const {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].name == name) return i;
  }
  assert(false && "a method asks for a parameter that it does not declare");
  return 0;
}

std::int64_t Params::integer(std::string_view name) const {
  const Value& value = values_[index_of(name)];
  assert(!value.automatic);
  return value.number;
}

bool Params::is_auto(std::string_view name) const {
  return values_[index_of(name)].automatic;
}

std::int64_t Params::integer_or(std::string_view name, std::int64_t computed) const {
  return is_auto(name) ? computed : integer(name);
}

std::string_view Params::choice(std::string_view name) const {
  const std::size_t i = index_of(name);
  std::string_view rest = specs_[i].choices;
  for (std::int64_t skip = values_[i].number; skip > 0; --skip) rest.remove_prefix(rest.find('|') + 1);
  return rest.substr(0, rest.find('|'));
}

std::string Params::text_of(std::size_t index) const {
  const ParamSpec& spec = specs_[index];
  if (values_[index].automatic) return "auto";
  if (spec.kind == ParamKind::choice) return std::string(choice(spec.name));
  return fmt::format("{}{}", spec.kind == ParamKind::first ? "first:" : "", values_[index].number);
}

std::string Params::str() const {
  std::string text;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "" : ",", specs_[i].name, text_of(i));
  }
  return text;
}

std::string Params::label() const {
  std::string text;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (i > 0 && text_of(i) == specs_[i].fallback) continue;
    text += fmt::format("{}{}={}", i == 0 ? "" : ";", specs_[i].name, text_of(i));
  }
  return text;
}

bool Params::operator==(const Params& other) const {
  return specs_.data() == other.specs_.data() && values_ == other.values_;
}

std::vector<Params::Value> Params::parse_values(const std::string& text, const ParamSpec& spec,
                                                std::string_view method) {
  const std::string what = fmt::format("parameter {} of {}", spec.name, method);
  const Bounds bounds{spec.lowest, spec.highest};
  std::vector<Value> values;
  const auto add = [&values](Value value) {
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  };
  for (const std::string& part : split(text, '/')) {
    if (spec.kind == ParamKind::choice) {
      const std::vector<std::string> words = split(std::string(spec.choices), '|');
      const auto at = std::find(words.begin(), words.end(), part);
      if (at == words.end()) throw InputError(unknown_name(fmt::format("value of {}:", what), part, words));
      add({at - words.begin(), false});
    } else if (spec.kind == ParamKind::automatic && part == "auto") {
      add({0, true});
    } else if (spec.kind == ParamKind::first) {
      if (part.rfind("first:", 0) != 0) {
        throw InputError(fmt::format("{} is {}: write first:N, as in {}=first:1", what, quoted(part), spec.name));
      }
      for (const std::int64_t v : parse_range(part.substr(6), what, bounds, '/')) add({v, false});
    } else {
      for (const std::int64_t v : parse_range(part, what, bounds, '/')) add({v, false});
    }
  }
  return values;
}

std::vector<Params> Params::parse(const std::string& text, std::span<const ParamSpec> specs, std::string_view method) {
  std::vector<std::vector<Value>> choices(specs.size());
  for (const std::string& field : text.empty() ? std::vector<std::string>{} : split(text, ',')) {
    const std::size_t equals = std::min(field.find('='), field.size());
    const std::string name = field.substr(0, equals);
    const auto spec = std::find_if(specs.begin(), specs.end(), [&](const ParamSpec& s) { return s.name == name; });
    if (spec == specs.end()) {
      std::vector<std::string> names;
      for (const ParamSpec& s : specs) names.emplace_back(s.name);
      if (names.empty())
        throw InputError(fmt::format("{} takes no parameters, but got {}: write {}", method, quoted(field), method));
      throw InputError(unknown_name(fmt::format("parameter of {}:", method), name, names));
    }
    if (equals == field.size()) {
      throw InputError(fmt::format("parameter {} of {} has no value: write {}={}", name, method, name, spec->fallback));
    }
    std::vector<Value>& slot = choices[static_cast<std::size_t>(spec - specs.begin())];
    if (!slot.empty())
      throw InputError(
          fmt::format("parameter {} of {} is given twice: give it once, with / between values", name, method));
    slot = parse_values(field.substr(equals + 1), *spec, method);
  }
  std::vector<Params> all(1);
  all[0].specs_ = specs;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (choices[i].empty()) choices[i] = parse_values(std::string(specs[i].fallback), specs[i], method);
    if (all.size() * choices[i].size() > kMostCombinations) {
      throw InputError(fmt::format("{} with these ranges stands for more than {} methods: give fewer values", method,
                                   kMostCombinations));
    }
    std::vector<Params> extended;
    for (const Params& params : all) {
      for (const Value& value : choices[i]) {
        extended.push_back(params);
        extended.back().values_.push_back(value);
      }
    }
    all = std::move(extended);
  }
  return all;
}

}  // namespace attnscale
