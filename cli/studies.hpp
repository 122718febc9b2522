// Where study files are looked for.
#pragma once

#include <string>
#include <vector>

namespace attnscale::cli {

/// Path of this program; empty where the system does not say.
std::string program_path();

/// A folder that comes with the program, such as "studies" or "plots": in the working directory, in a source tree above
/// the program, or installed beside it (../share/attnscale). Those that exist, nearest first.
std::vector<std::string> data_folders(const std::string& name);

/// Folders with studies.
std::vector<std::string> study_folders();

}  // namespace attnscale::cli
