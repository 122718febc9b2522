#include "study/build_info.hpp"

#include "git_info.hpp"

namespace attnscale {

BuildInfo build_info() {
  const std::string dirty = ATTNSCALE_GIT_DIRTY;
  return {ATTNSCALE_VERSION, ATTNSCALE_GIT_COMMIT, dirty.empty() ? std::nullopt : std::optional<bool>(dirty == "true")};
}

}  // namespace attnscale
