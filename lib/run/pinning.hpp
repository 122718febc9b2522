// Threads held on one core each, so that none migrates in the middle of a sample and leaves its caches behind.
#pragma once

#include <vector>

namespace attnscale {

/// Cores that this process may use, ascending, as they were when first asked for: before any thread was pinned. Empty
/// where the system does not say, and then nothing can be pinned.
const std::vector<int>& allowed_cores();

inline constexpr int kAnyCore = -1;

/// Holds the calling thread on the core allowed_cores()[index % their number], or with kAnyCore lets it run on all of
/// them again (child processes and new threads inherit what a thread is held to). Costs nothing when the thread is
/// there already. False when the system refuses.
bool hold_thread(int index);

}  // namespace attnscale
