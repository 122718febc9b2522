#include "measure/proc.hpp"

#include <charconv>
#include <fstream>

namespace attnscale {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return std::string(trimmed(line));
}

std::optional<std::string> line_value(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::string_view rest = line;
    if (!rest.starts_with(key)) continue;
    rest.remove_prefix(key.size());
    if (rest.find_first_of(": \t") != 0) continue;  // a longer key
    rest = trimmed(rest);
    if (rest.starts_with(':')) rest = trimmed(rest.substr(1));
    return std::string(rest);
  }
  return std::nullopt;
}

std::optional<std::int64_t> size_in_bytes(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit =
      trimmed(std::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end)));
  if (unit.empty()) return number;
  switch (unit.front()) {
    case 'k':
    case 'K':
      return number << 10;
    case 'M':
      return number << 20;
    case 'G':
      return number << 30;
    default:
      return std::nullopt;
  }
}

}  // namespace attnscale
