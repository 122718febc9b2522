// Small readers of the text files under /proc and /sys. All are empty when the file or the key is missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attnscale {

std::optional<std::string> first_line(const std::string& path);

/// The text behind "key" and an optional ':' at the start of a line, without blanks around: "model name : X" gives "X".
std::optional<std::string> line_value(const std::string& path, std::string_view key);

/// The whole number at the start of a text, with a unit behind it if any: "64 kB", "48K", "8M" count in bytes.
std::optional<std::int64_t> size_in_bytes(const std::string& text);

}  // namespace attnscale
