#include "worker/pool.hpp"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "worker/words.hpp"

namespace attnscale::worker {
namespace {

// The number of threads for the libraries that numerical programs are built on, and no spinning while they wait: a
// thread that spins takes a core from whoever is timed next.
Child::Variables variables_for(int threads) {
  const std::string count = std::to_string(threads);
  return {{"ATTNSCALE_WORKER_THREADS", count},
          {"OMP_NUM_THREADS", count},
          {"OPENBLAS_NUM_THREADS", count},
          {"MKL_NUM_THREADS", count},
          {"OMP_WAIT_POLICY", "PASSIVE"},
          {"KMP_BLOCKTIME", "0"},
          {"GOMP_SPINCOUNT", "0"},
          {"PYTHONUNBUFFERED", "1"}};
}

}  // namespace

Connection::Connection(const std::vector<std::string>& words, int thread_count)
    : child(words, variables_for(thread_count)), threads(thread_count) {}

Pool::Pool(const std::string& command, double timeout_s) : words_(split_words(command)), timeout_s_(timeout_s) {
  auto first = std::make_unique<Connection>(words_, 1);
  try {
    offers_ = read_hello(first->child.ask("", timeout_s_).line);
  } catch (const std::runtime_error& error) {
    throw InputError(fmt::format("the worker {} cannot be used: {}", quoted(command), error.what()));
  }
  first->child.set_farewell(quit_line());
  free_.push_back(std::move(first));
}

std::unique_ptr<Connection> Pool::start(int threads) {
  auto connection = std::make_unique<Connection>(words_, threads);
  static_cast<void>(read_hello(connection->child.ask("", timeout_s_).line));
  connection->child.set_farewell(quit_line());
  return connection;
}

std::unique_ptr<Connection> Pool::take(int threads) {
  std::erase_if(free_, [&](const auto& connection) { return connection->threads != threads; });
  if (free_.empty()) return start(threads);
  std::unique_ptr<Connection> connection = std::move(free_.back());
  free_.pop_back();
  return connection;
}

}  // namespace attnscale::worker
