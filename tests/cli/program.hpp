// Runs the built program as a user would: its own process, its own folder, and everything that it says.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace attnscale::test {

struct Result {
  int code = -1;  ///< exit code; 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

/// An empty folder in which the program runs; it vanishes at the end.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  void write(const std::string& name, const std::string& text) const;
  /// Names of everything in the folder, recursively, sorted.
  [[nodiscard]] std::vector<std::string> contents() const;

  /// Runs the program here and waits. `in_child` runs in the child before the program starts (limits, privileges).
  [[nodiscard]] Result run(const std::vector<std::string>& arguments, const std::function<void()>& in_child = {}) const;
  /// Starts it and returns; its output goes to the files out.txt and err.txt beside the folder's own content.
  [[nodiscard]] pid_t start(const std::vector<std::string>& arguments,
                            const std::function<void()>& in_child = {}) const;
  /// Waits for a started one.
  static int wait(pid_t child);

 private:
  std::filesystem::path path_;
  std::filesystem::path logs_;
};

std::string text_of(const std::filesystem::path& path);
/// Waits (at most a minute) until the file holds `lines` line ends. False when it never did.
bool wait_for_lines(const std::filesystem::path& path, std::size_t lines);

/// Sets a variable in the child: in_child argument of run().
std::function<void()> with_variable(const std::string& name, const std::string& value);

}  // namespace attnscale::test
