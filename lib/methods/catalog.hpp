// Declares what catalog.def lists.
#pragma once

#include "methods/method.hpp"

namespace attnscale::methods {
#define METHOD(symbol) extern const Method symbol;
#include "methods/catalog.def"
#undef METHOD
}  // namespace attnscale::methods
