// A child process that is asked questions: a line goes to its stdin, a line comes back on its stdout. It is a process
// group of its own, which is stopped while nobody waits for it and killed as a whole at the end.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace attnscale::worker {

using Clock = std::chrono::steady_clock;

/// Longest line that is taken from a child; a reply of the protocol is far shorter.
inline constexpr std::size_t kLongestLine = 256 * 1024;

struct Reply {
  std::string line;
  double round_trip_ns = 0;  ///< from before the question was sent until its answer was whole
};

class Child {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  /// Starts words[0], looked up in PATH, with `variables` on top of this process's environment. Throws InputError when
  /// it cannot be started.
  Child(std::vector<std::string> words, const Variables& variables);
  /// Asks it to go by the line `farewell` if there is one, waits a moment, and kills the group.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Lets the group go on, sends `line` (none when it is empty), waits for a line and stops the group again. Throws
  /// TimedOut after `seconds`, and std::runtime_error when the child has ended or its line is too long; the sentence
  /// holds the end of what it wrote to stderr.
  Reply ask(const std::string& line, double seconds);

  void set_farewell(std::string line) { farewell_ = std::move(line); }
  [[nodiscard]] pid_t process() const { return process_; }

 private:
  void signal_group(int signal) const;
  void send(const std::string& line, Clock::time_point deadline);
  std::string receive(Clock::time_point deadline);
  bool read_output();
  void read_errors();
  std::optional<std::string> take_line();
  [[nodiscard]] bool has_ended(double seconds) const;
  [[noreturn]] void fail_as_ended();
  [[nodiscard]] std::string with_errors(const std::string& sentence);

  pid_t process_ = -1;
  int input_ = -1;
  int output_ = -1;
  int errors_ = -1;
  std::string buffer_;
  std::string last_errors_;
  std::string farewell_;
};

}  // namespace attnscale::worker
