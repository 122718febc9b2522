// Ctrl-C (SIGINT) and SIGTERM ask the run to finish its row and stop; the second one ends the program at once.
#pragma once

namespace attnscale::cli {

void watch_interrupts();
bool interrupted();

}  // namespace attnscale::cli
