// Progress on stderr: a bar that redraws itself on a terminal, a plain line now and then otherwise.
#pragma once

#include <chrono>
#include <string>

#include "study/runner.hpp"

namespace attnscale::cli {

/// "auto", "always" or "never"; NO_COLOR turns auto off. Throws InputError with the nearest valid name.
bool wants_colour(const std::string& choice, int descriptor);

class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  void show(const Progress& progress);
  /// Clears the bar, so that what follows starts on a clean line.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point last_ = Clock::now();
};

}  // namespace attnscale::cli
