// The text of a .npy header: a Python dictionary with exactly the keys 'descr', 'fortran_order' and 'shape'. Parsed
// strictly, since a misread header is a wrong tensor.
#pragma once

#include <string>
#include <string_view>

#include "inputs/npy.hpp"

namespace attnscale {

/// Everything but data_offset. Throws InputError that names `path`.
NpyHeader parse_npy_header(std::string_view text, const std::string& path);

}  // namespace attnscale
