#include "record/scaled.hpp"

#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

namespace attnscale {
namespace {

struct Unit {
  double size;
  const char* name;
};

/// The largest unit that leaves 1 or more after rounding to three digits, so that 999.9996 us is 1.00 ms.
std::string scaled(double value, std::span<const Unit> units) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  constexpr double kRoundsUp = 0.9995;
  const Unit* unit = &units.front();
  for (const Unit& candidate : units) {
    if (std::abs(value) >= kRoundsUp * candidate.size) unit = &candidate;
  }
  const double shown = value / unit->size;
  const double size = std::abs(shown);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  const std::string gap = *unit->name == '\0' ? "" : " ";
  return fmt::format("{:.{}f}{}{}", shown, decimals, gap, unit->name);
}

}  // namespace

std::string scaled_time(double ns) {
  constexpr std::array kUnits = {Unit{1, "ns"}, Unit{1e3, "us"}, Unit{1e6, "ms"}, Unit{1e9, "s"}};
  return scaled(ns, kUnits);
}

std::string scaled_bytes(double bytes) {
  constexpr double k = 1024;
  constexpr std::array kUnits = {Unit{1, "B"}, Unit{k, "KiB"}, Unit{k * k, "MiB"}, Unit{k * k * k, "GiB"},
                                 Unit{k * k * k * k, "TiB"}};
  if (std::abs(bytes) < k && bytes == std::trunc(bytes)) return fmt::format("{:.0f} B", bytes);
  return scaled(bytes, kUnits);
}

std::string scaled_count(double count) {
  constexpr std::array kUnits = {Unit{1, ""}, Unit{1e3, "k"}, Unit{1e6, "M"}, Unit{1e9, "G"}, Unit{1e12, "T"}};
  if (std::abs(count) < 1000 && count == std::trunc(count)) return fmt::format("{:.0f}", count);
  return scaled(count, kUnits);
}

}  // namespace attnscale
