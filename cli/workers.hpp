// Workers that a run or a list asks for: the keys worker, peer and worker-timeout.
#pragma once

#include "study/keys.hpp"

namespace attnscale::cli {

/// Starts the workers of these settings, unless an earlier call has done so, and adds their methods to the catalogue.
/// What is wrong with a worker is bad input; what is wrong with a peer is a line on stderr, and the run goes on. Where
/// the settings name any, the word `peers` among the methods becomes the names of theirs.
void load_workers(Settings& settings);

}  // namespace attnscale::cli
