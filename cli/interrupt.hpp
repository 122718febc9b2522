// Ctrl-C (SIGINT) and SIGTERM ask the run to finish its row and stop; the second one ends the program at once.
#pragma once

namespace attnscale::cli {

void watch_interrupts();
bool interrupted();

/// A file that reaches the size limit of the process is a write error with a sentence, not the end of the program.
void ignore_file_size_signal();

}  // namespace attnscale::cli
