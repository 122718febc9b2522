// What this program was built from.
#pragma once

#include <optional>
#include <string>

namespace attnscale {

struct BuildInfo {
  std::string version;
  std::string git_commit;     ///< empty when it was not built from a git repository
  std::optional<bool> dirty;  ///< the tree differed from the commit
};

BuildInfo build_info();

}  // namespace attnscale
