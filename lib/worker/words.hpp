// Splits a command into words as a shell does for blanks and plain quotes, but without a shell: no variable, no pattern
// and no second command is ever looked for.
#pragma once

#include <string>
#include <vector>

namespace attnscale::worker {

/// "python3 'my file.py' \"a b\" c\\ d" gives four words. Single quotes keep everything, double quotes everything but a
/// backslash before `"` and `\`, and outside quotes a backslash keeps the next character. Throws InputError for an open
/// quote, a trailing backslash, and a command without words.
std::vector<std::string> split_words(const std::string& command);

}  // namespace attnscale::worker
