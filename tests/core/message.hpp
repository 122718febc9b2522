// The sentence that a refused input gives, so that tests can ask what it names.
#pragma once

#include <string>

#include "core/error.hpp"

namespace attnscale {

/// The message of the InputError that `call` throws; empty when it throws none.
template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace attnscale
