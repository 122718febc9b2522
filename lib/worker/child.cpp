// stdin is a socket and not a pipe: writing to a child that has died is then an error code instead of a signal.
#include "worker/child.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.hpp"

extern char** environ;

namespace attnscale::worker {
namespace {

constexpr std::size_t kKeptErrors = 4096;  // bytes of stderr
constexpr double kFarewellSeconds = 0.3;
constexpr double kDyingSeconds = 0.3;  // between the end of a child's output and that of the child

struct Ends {
  int ours = -1;
  int theirs = -1;
};

Ends output_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe can be made for a worker");
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {ends[0], ends[1]};
}

Ends input_socket() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::runtime_error("no socket can be made for a worker");
  return {ends[0], ends[1]};
}

std::vector<std::string> environment_with(const Child::Variables& variables) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const auto replaced = [&](const auto& variable) { return variable.first == name; };
    if (std::none_of(variables.begin(), variables.end(), replaced)) entries.emplace_back(text);
  }
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  constexpr std::int64_t kSlice = 3'600'000;
  return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, kSlice));
}

}  // namespace

Child::Child(std::vector<std::string> words, const Variables& variables) {
  const Ends in = input_socket();
  const Ends out = output_pipe();
  const Ends err = output_pipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.theirs, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.theirs, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.theirs, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGXFSZ);  // this program ignores it, which a child would inherit
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> environment = environment_with(variables);
  const int error = posix_spawnp(&process_, words.front().c_str(), &actions, &attributes, pointers_to(words).data(),
                                 pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  for (const int descriptor : {in.theirs, out.theirs, err.theirs}) close(descriptor);
  input_ = in.ours;
  output_ = out.ours;
  errors_ = err.ours;
  if (error == 0) return;
  for (const int descriptor : {input_, output_, errors_}) close(descriptor);
  throw InputError(fmt::format("the program {} of a worker cannot be started: {}", quoted(words.front()),
                               std::generic_category().message(error)));
}

Child::~Child() {
  signal_group(SIGCONT);
  if (!farewell_.empty()) {
    const std::string line = farewell_ + "\n";
    (void)!::send(input_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)!shutdown(input_, SHUT_WR);
    static_cast<void>(has_ended(kFarewellSeconds));
  }
  signal_group(SIGKILL);  // the leader is not reaped yet, so that its number still means this group
  for (const int descriptor : {input_, output_, errors_}) close(descriptor);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Child::signal_group(int signal) const {
  kill(-process_, signal);
}

Reply Child::ask(const std::string& line, double seconds) {
  const Clock::time_point start = Clock::now();
  const auto deadline = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  signal_group(SIGCONT);
  try {
    if (!line.empty()) send(line + "\n", deadline);
    Reply reply;
    reply.line = receive(deadline);
    reply.round_trip_ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    signal_group(SIGSTOP);
    return reply;
  } catch (const TimedOut&) {
    throw TimedOut(with_errors(fmt::format("the worker gave no answer within {:.3g} s", seconds)));
  }
}

void Child::send(const std::string& line, Clock::time_point deadline) {
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t count = ::send(input_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd ready{input_, POLLOUT, 0};
      if (poll(&ready, 1, milliseconds_until(deadline)) == 0) throw TimedOut("");
    } else if (errno != EINTR) {
      fail_as_ended();
    }
  }
}

std::string Child::receive(Clock::time_point deadline) {
  for (;;) {
    if (auto line = take_line()) return *line;
    if (buffer_.size() > kLongestLine) {
      throw std::runtime_error(
          with_errors(fmt::format("the worker wrote a line of more than {} KiB", kLongestLine / 1024)));
    }
    std::array<pollfd, 2> ready{pollfd{output_, POLLIN, 0}, pollfd{errors_, POLLIN, 0}};
    const int count = poll(ready.data(), errors_ < 0 ? 1 : 2, milliseconds_until(deadline));
    if (count < 0 && errno != EINTR) throw std::runtime_error("waiting for a worker failed");
    if (count > 0 && ready[1].revents != 0) read_errors();
    if (count > 0 && ready[0].revents != 0 && !read_output()) fail_as_ended();
    if (Clock::now() >= deadline && buffer_.find('\n') == std::string::npos) throw TimedOut("");
  }
}

// False at the end of the output.
bool Child::read_output() {
  std::array<char, 65536> chunk;
  const ssize_t count = read(output_, chunk.data(), chunk.size());
  if (count > 0) buffer_.append(chunk.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

// At most one chunk, so that a child that never ends writing cannot hold us here; only the last bytes are kept.
void Child::read_errors() {
  std::array<char, 65536> chunk;
  const ssize_t count = read(errors_, chunk.data(), chunk.size());
  if (count > 0) last_errors_.append(chunk.data(), static_cast<std::size_t>(count));
  if (last_errors_.size() > kKeptErrors) last_errors_.erase(0, last_errors_.size() - kKeptErrors);
  if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) return;
  close(errors_);
  errors_ = -1;
}

std::optional<std::string> Child::take_line() {
  const std::size_t end = buffer_.find('\n');
  if (end == std::string::npos || end > kLongestLine) return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

// Waits without reaping: the destructor does that.
bool Child::has_ended(double seconds) const {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == process_)
      return true;
    if (Clock::now() >= deadline) return false;
    poll(nullptr, 0, 1);
  }
}

void Child::fail_as_ended() {
  std::string sentence = "the worker closed its output";
  if (has_ended(kDyingSeconds)) {
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT);
    sentence = info.si_code == CLD_EXITED
                   ? fmt::format("the worker ended with exit code {}", info.si_status)
                   : fmt::format("the worker was killed by signal {} ({})", info.si_status, strsignal(info.si_status));
  }
  throw std::runtime_error(with_errors(sentence));
}

// Adds the last line that the child wrote to stderr: where a program says why it gave up.
std::string Child::with_errors(const std::string& sentence) {
  if (errors_ >= 0) read_errors();
  std::string_view text = last_errors_;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  if (text.empty()) return sentence;
  const std::size_t line = text.rfind('\n');
  if (line != std::string_view::npos) text.remove_prefix(line + 1);
  return fmt::format("{}; its last words: {}", sentence, quoted(std::string(text)));
}

}  // namespace attnscale::worker
