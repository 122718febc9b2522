#include "core/error.hpp"

#include <fmt/format.h>

namespace attnscale {

std::string quoted(const std::string& text) {
  constexpr std::size_t kLongest = 80;
  std::string shown = "'";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += c;
    }
  }
  return shown + (text.size() > kLongest ? "...'" : "'");
}

}  // namespace attnscale
