// Real tensors as input: "npy:PREFIX" stands for PREFIX.q.npy, PREFIX.k.npy and PREFIX.v.npy, each of shape (n, dim),
// (heads, n, dim) or (batch, heads, n, dim).
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "inputs/inputs.hpp"
#include "inputs/npy.hpp"

namespace attnscale {

struct FileInput {
  std::array<std::string, 3> paths;  ///< of Q, K and V
  std::array<NpyHeader, 3> headers;
  std::array<Extents, 3> extents;
  Shape shape;
};

bool is_file_input(std::string_view input);

/// "npy:" and the base name of the prefix.
std::string file_input_label(const std::string& input);

/// Reads the three headers and checks that they fit each other. Throws InputError.
FileInput open_file_input(const std::string& input);

/// The first rows, batch items and, from problem.first_head on, heads; warns of NaN and infinities in this part.
/// Throws InputError when the files hold less than the problem asks for, or other head groups or widths. The hash is
/// left empty.
Inputs load_file_input(const Problem& problem);

}  // namespace attnscale
