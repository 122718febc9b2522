// What names a cell: its id, the command line that makes it again, and the hash of everything that was asked for.
#pragma once

#include <string>
#include <string_view>

#include "study/expand.hpp"

namespace attnscale {

/// xxHash (XXH3, 64 bits) of a text as 16 hex digits.
std::string hash_text(std::string_view text);

/// The options under which a cell is another cell, as they would be typed: "" when none was given, else
/// " --simd avx2 --cache cold --pin" or a part of it.
std::string condition_flags(const RunOptions& options);

/// 16 hex digits over problem, method, threads, input hash and condition_flags(). A file input counts by label and
/// hash, not by where it lies.
std::string cell_id(const Problem& problem, const MethodSpec& spec, int threads, const std::string& input_hash,
                    const std::string& conditions = "");

/// The command line that measures this cell again; a file input stands by its base name, and a method from outside
/// ends it with the flag that brings it in.
std::string repro_command(const Group& group, const MethodSpec& spec);

/// Hash over the options that shape a measurement, beside what cell_id covers.
std::string config_hash(const Group& group);

}  // namespace attnscale
