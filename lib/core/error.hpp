// The two ways in which a program can fail for a reason that is not our bug. Both are caught once, in main; the message
// is one sentence that names the thing and says what to do. Assertions are for our own bugs.
#pragma once

#include <stdexcept>
#include <string>

namespace attnscale {

/// Exit codes of the program; docs/guide.md lists them for users.
enum class ExitCode : int {
  ok = 0,
  regression = 1,
  bad_input = 2,
  unmeasured = 3,
  incorrect = 4,
  write_failure = 5,
  interrupted = 130,
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  [[nodiscard]] ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// The user gave something that cannot be used: exit code 2.
class InputError : public Error {
 public:
  explicit InputError(const std::string& sentence) : Error(ExitCode::bad_input, sentence) {}
};

/// Results could not be written (disk full, folder gone): exit code 5. The sentence says what was saved.
class WriteError : public Error {
 public:
  explicit WriteError(const std::string& sentence) : Error(ExitCode::write_failure, sentence) {}
};

/// One cell cannot be measured, and the run goes on: it becomes a row `unsupported` or `timeout` with this sentence.
/// Thrown by what runs outside of this program; any other exception is a row `failed`.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
class TimedOut : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A sentence with the value that was refused, cut to a readable length and with control characters made visible.
std::string quoted(const std::string& text);

}  // namespace attnscale
