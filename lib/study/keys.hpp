// The one grammar of flags, study files and environment variables: a table of keys. A flag --max-time, a key max-time
// in a [[run]] table and the variable ATTNSCALE_MAX_TIME are the same thing, with the same values and the same errors.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscale {

enum class KeyKind {
  words,    ///< names, separated by spaces or in an array
  word,     ///< one name
  sizes,    ///< whole numbers in the range grammar of core/ranges.hpp
  number,   ///< one whole number
  reals,    ///< real numbers, separated by commas
  real,     ///< one real number
  seconds,  ///< a time: "2s", "500ms", or a bare number of seconds
  flag,     ///< on or off
};

struct Key {
  std::string_view name;
  KeyKind kind;
  std::string_view fallback;  ///< the default as a user would type it; empty when it depends on the input
  std::string_view doc;
};

/// All keys of a run, in the order of the help text.
std::span<const Key> run_keys();
const Key* find_key(std::string_view name);

/// The values of one run as they were typed, by key; a repeated flag has several texts.
using Settings = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Puts `over` on top of `base`. A given --n replaces --queries and --keys, and the other way round.
Settings overlay(const Settings& base, const Settings& over);

/// ATTNSCALE_MAX_TIME and so on, for every key that is set in the environment.
Settings settings_of_environment();

/// "2s", "500ms" or "0.5" in seconds. Throws InputError naming `what`.
double parse_seconds(const std::string& text, const std::string& what);

}  // namespace attnscale
