// NumPy's .npy format: version 1-3 headers, f2 f4 f8 little endian, C and Fortran order. Format: NumPy enhancement
// proposal 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor.hpp"

namespace attnscale {

struct NpyHeader {
  std::vector<std::int64_t> shape;  ///< every size is 1 or more; empty for a single number
  int element_bytes = 4;            ///< 2, 4 or 8: half, single or double precision
  bool fortran_order = false;
  std::int64_t data_offset = 0;
};

/// Reads and checks the header against the size of the file. Throws InputError naming the file and what is wrong with
/// it.
NpyHeader read_npy_header(const std::string& path);

/// Reads the whole array as fp32, in C order; a double beyond the range of fp32 becomes infinite.
std::vector<float> read_npy(const std::string& path, const NpyHeader& header);

/// Writes a (batch, heads, rows, width) tensor as fp32, C order, version 1; with `squeeze_width` as (batch, heads,
/// rows), of a tensor of width 1. Written to a temporary name and renamed. Throws WriteError, and then leaves nothing
/// behind.
void write_npy(const std::string& path, const TensorView<const float, HeadIndex>& tensor, bool squeeze_width);

/// A path for a sentence: in quotes, control characters visible, a long one without its beginning.
std::string quoted_path(const std::string& path);

}  // namespace attnscale
