// A fingerprint of inputs: XXH3 over the extents and values of Q, K and V, row by row, so that padding does not count.
#pragma once

#include <string>

#include "core/tensor.hpp"

namespace attnscale {

/// 16 hex digits.
std::string hash_inputs(const Qkv& inputs);

}  // namespace attnscale
