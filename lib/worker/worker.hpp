// Methods that run in another process, in whatever language: a worker. It is started by a command, offers its methods
// in JSON lines, finds Q, K, V and the output in POSIX shared memory, and times its own calls. docs/workers.md
// describes the protocol. From add_worker on, its methods stand in the catalogue and are verified and measured like
// ours.
#pragma once

#include <string>
#include <vector>

namespace attnscale {

/// Starts the command to hear what it offers, and adds that to the catalogue; returns the names. Every wait for the
/// worker ends after `timeout_s` and the time that the work itself may take. Throws InputError when the command cannot
/// be started, its hello is not in order, or an offer does not fit the catalogue. The processes end with the program.
std::vector<std::string> add_worker(const std::string& command, double timeout_s);

}  // namespace attnscale
