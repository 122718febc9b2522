// Declares what catalog.def lists, and how the list grows.
#pragma once

#include "methods/method.hpp"

namespace attnscale::methods {
#define METHOD(symbol) extern const Method symbol;
#include "methods/catalog.def"
#undef METHOD

/// Puts a method behind the others; it must live as long as the program. Only add_method (external.hpp) calls this.
void append_to_catalog(const Method& method);

}  // namespace attnscale::methods
