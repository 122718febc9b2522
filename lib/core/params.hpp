// Parameters of a method, from a spec string such as "bigbird:block=64,random=3".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscale {

enum class ParamKind {
  integer,    ///< a whole number
  automatic,  ///< a whole number, or "auto"
  choice,     ///< one of a few words
  first,      ///< "first:N", a whole number N of leading positions
};

/// Declares one parameter of a method; methods hold a constant array of these, in canonical order.
struct ParamSpec {
  std::string_view name;
  ParamKind kind;
  std::string_view fallback;  ///< the default, as a user would type it
  std::int64_t lowest = 0;    ///< bounds of the number
  std::int64_t highest = 0;
  std::string_view choices = {};  ///< for `choice`: the words, separated by '|'
  std::string_view doc;           ///< a phrase for `attnscale list methods`
};

/// Values of all parameters of one method.
class Params {
 public:
  Params() = default;

  /// The number of an integer, automatic (must not be auto) or first parameter.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] bool is_auto(std::string_view name) const;
  /// The number, or `computed` when the user left it to us.
  [[nodiscard]] std::int64_t integer_or(std::string_view name, std::int64_t computed) const;
  [[nodiscard]] std::string_view choice(std::string_view name) const;

  /// "w=256,dilation=1,edge=truncate": every parameter in declared order, `auto` stays; empty without parameters.
  [[nodiscard]] std::string str() const;
  /// "w=16" or "rounds=4;qk=shared": the first parameter and those that are not at their default, without commas, for
  /// the legend of a plot.
  [[nodiscard]] std::string label() const;
  bool operator==(const Params& other) const;

  /// Parses "w=64/128,edge=shift" (the part behind the method's name) and expands its ranges: one Params per
  /// combination, the last parameter varying fastest. Throws InputError for unknown names, bad or repeated values.
  static std::vector<Params> parse(const std::string& text, std::span<const ParamSpec> specs, std::string_view method);

 private:
  struct Value {
    std::int64_t number = 0;  ///< for a choice: its index
    bool automatic = false;
    bool operator==(const Value&) const = default;
  };
  [[nodiscard]] std::string text_of(std::size_t index) const;
  [[nodiscard]] std::size_t index_of(std::string_view name) const;
  static std::vector<Value> parse_values(const std::string& text, const ParamSpec& spec, std::string_view method);

  std::span<const ParamSpec> specs_;
  std::vector<Value> values_;
};

}  // namespace attnscale
