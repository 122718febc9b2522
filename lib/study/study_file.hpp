// Reads a study: a TOML file with a summary and a list of [[run]] tables, whose keys are the flags of `attnscale run`.
#pragma once

#include <string>
#include <vector>

#include "study/keys.hpp"

namespace attnscale {

struct StudyFile {
  std::string name;     ///< the file's name without folder and .toml
  std::string summary;  ///< one line for `attnscale list studies`
  std::vector<Settings> runs;
};

/// Throws InputError, in one sentence with the line, for a file that cannot be read, bad TOML, an unknown key or a
/// value of the wrong type. A relative npy:PREFIX, and the
/// relative path of a plugin, is understood from the folder of the file.
StudyFile read_study_file(const std::string& path);

/// Finds the file that `name` means: a path to a .toml file, or the bare name of a study in one of the folders.
/// Throws InputError with the nearest name when there is none.
std::string find_study(const std::string& name, const std::vector<std::string>& folders);

/// The .toml files of the folders that exist, sorted by name; a name found twice counts in the first folder only.
std::vector<std::string> study_paths(const std::vector<std::string>& folders);

}  // namespace attnscale
