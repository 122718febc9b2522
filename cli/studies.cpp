#include "studies.hpp"

#include <filesystem>

namespace attnscale::cli {

namespace fs = std::filesystem;

std::string program_path() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  return error ? "" : path.string();
}

std::vector<std::string> data_folders(const std::string& name) {
  std::vector<fs::path> candidates = {name};
  const fs::path program = program_path();
  if (!program.empty()) {
    candidates.push_back(program.parent_path() / "../share/attnscale" / name);
    // build/<preset>/bin/attnscale lies in its source tree.
    fs::path above = program.parent_path();
    for (int level = 0; level < 4 && above.has_parent_path(); ++level) {
      above = above.parent_path();
      if (std::error_code error; fs::exists(above / "CMakePresets.json", error)) candidates.push_back(above / name);
    }
  }
  std::vector<std::string> folders;
  for (const fs::path& candidate : candidates) {
    if (std::error_code error; fs::is_directory(candidate, error))
      folders.push_back(candidate.lexically_normal().string());
  }
  return folders;
}

std::vector<std::string> study_folders() {
  return data_folders("studies");
}

}  // namespace attnscale::cli
