// The processes of one worker command. A process holds one problem at a time, so that methods which are timed side by
// side cannot disturb one another, and one that dies takes nobody along.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/child.hpp"
#include "worker/messages.hpp"

namespace attnscale::worker {

/// A process that has said hello.
struct Connection {
  Connection(const std::vector<std::string>& words, int thread_count);
  Child child;
  int threads;
  std::int64_t next_id = 1;
};

class Pool {
 public:
  /// Starts a first process to learn what it offers. Throws InputError when there is no such program or its hello is
  /// not in order. `timeout_s` bounds every wait, on top of the time that the work itself may take.
  Pool(const std::string& command, double timeout_s);

  [[nodiscard]] const std::vector<Offer>& offers() const { return offers_; }
  [[nodiscard]] double timeout_s() const { return timeout_s_; }

  /// A process that was started for this number of threads: one that is free, else a new one. Libraries read their
  /// number of threads when they are loaded, so a process keeps it.
  std::unique_ptr<Connection> take(int threads);
  /// A connection in order comes back for the next problem; one that is not is simply dropped.
  void give_back(std::unique_ptr<Connection> connection) { free_.push_back(std::move(connection)); }

 private:
  std::unique_ptr<Connection> start(int threads);

  std::vector<std::string> words_;
  double timeout_s_;
  std::vector<Offer> offers_;
  std::vector<std::unique_ptr<Connection>> free_;
};

}  // namespace attnscale::worker
