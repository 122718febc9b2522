#include "cli/program.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attnscale::test {

namespace fs = std::filesystem;

Workplace::Workplace() {
  std::string name = (fs::temp_directory_path() / "attnscale-cli-XXXXXX").string();
  logs_ = mkdtemp(name.data());
  path_ = logs_ / "here";
  fs::create_directory(path_);
}

Workplace::~Workplace() {
  std::error_code error;
  fs::permissions(path_, fs::perms::owner_all, error);
  fs::remove_all(logs_, error);
}

void Workplace::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
}

std::vector<std::string> Workplace::contents() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(path_))
    names.push_back(fs::relative(entry.path(), path_).string());
  std::sort(names.begin(), names.end());
  return names;
}

pid_t Workplace::start(const std::vector<std::string>& arguments, const std::function<void()>& in_child) const {
  std::vector<std::string> words = {ATTNSCALE_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string out = (logs_ / "out.txt").string();
  const std::string err = (logs_ / "err.txt").string();
  const pid_t child = fork();
  if (child != 0) return child;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  const bool ready = chdir(path_.c_str()) == 0 && dup2(open(out.c_str(), kFlags, 0644), STDOUT_FILENO) >= 0 &&
                     dup2(open(err.c_str(), kFlags, 0644), STDERR_FILENO) >= 0;
  if (in_child) in_child();
  if (ready) execv(argv[0], argv.data());
  _exit(126);
}

int Workplace::wait(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result Workplace::run(const std::vector<std::string>& arguments, const std::function<void()>& in_child) const {
  const int code = wait(start(arguments, in_child));
  return {code, text_of(logs_ / "out.txt"), text_of(logs_ / "err.txt")};
}

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

bool wait_for_lines(const fs::path& path, std::size_t lines) {
  constexpr int kTries = 12000;
  for (int i = 0; i < kTries; ++i) {
    const std::string text = text_of(path);
    if (static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) >= lines) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

std::function<void()> with_variable(const std::string& name, const std::string& value) {
  return [name, value] { setenv(name.c_str(), value.c_str(), 1); };
}

}  // namespace attnscale::test
