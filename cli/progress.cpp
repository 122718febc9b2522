#include "progress.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/suggest.hpp"

namespace attnscale::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kPlainLine = std::chrono::seconds(10);

std::string remaining_text(double seconds) {
  if (seconds < 0) return "";
  const auto whole = static_cast<long>(std::lround(seconds));
  return whole < 90 ? fmt::format(", about {} s left", whole) : fmt::format(", about {} min left", (whole + 30) / 60);
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

bool wants_colour(const std::string& choice, int descriptor) {
  const std::vector<std::string> choices = {"auto", "always", "never"};
  if (choice == "always") return true;
  if (choice == "never") return false;
  if (choice != "auto") throw InputError(unknown_name("value of --color:", choice, choices));
  const char* no_colour = std::getenv("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && isatty(descriptor) == 1;
}

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const Progress& progress) {
  if (quiet_) return;
  const auto now = Clock::now();
  if (terminal_ && drawn_ && now - last_ < kRedraw) return;
  if (!terminal_ && now - last_ < kPlainLine) return;
  last_ = now;
  const std::string count =
      fmt::format("{}/{} cells{}", progress.done, progress.total, remaining_text(progress.remaining_s));
  if (!terminal_) {
    fmt::print(stderr, "{}: {}\n", count, progress.doing);
    return;
  }
  constexpr std::size_t kBar = 24;
  const std::size_t full = progress.total == 0 ? 0 : kBar * progress.done / progress.total;
  const std::string line =
      fmt::format("[{}{}] {}: {}", std::string(full, '#'), std::string(kBar - full, '.'), count, progress.doing);
  fmt::print(stderr, "\r\x1b[K{}", line.substr(0, terminal_width() - 1));
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace attnscale::cli
