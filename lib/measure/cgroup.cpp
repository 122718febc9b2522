#include "measure/cgroup.hpp"

#include <algorithm>
#include <fstream>

#include "measure/proc.hpp"

namespace attnscale {
namespace {

struct Version {
  std::string mount;
  const char* limit;
  const char* usage;
  const char* reclaimable;  ///< key in memory.stat: pages of files that are given back when memory gets tight
};

std::optional<std::int64_t> number_in(const std::string& path) {
  const std::optional<std::string> line = first_line(path);
  return line ? size_in_bytes(*line) : std::nullopt;  // "max" is no number: no limit
}

std::optional<std::int64_t> headroom_at(const std::string& folder, const Version& version) {
  constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;  // version 1 writes about 2^63 for "no limit"
  const auto limit = number_in(folder + version.limit);
  const auto usage = number_in(folder + version.usage);
  if (!limit || !usage || *limit >= kUnlimited) return std::nullopt;
  const auto reclaimable = line_value(folder + "/memory.stat", version.reclaimable);
  const std::int64_t used = *usage - (reclaimable ? size_in_bytes(*reclaimable).value_or(0) : 0);
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, used));
}

/// From the group up to the mount point. A container may see its own group at the mount point, under whatever path.
std::optional<std::int64_t> least_headroom(std::string group, const Version& version) {
  std::optional<std::int64_t> least;
  while (true) {
    if (const auto here = headroom_at(version.mount + group, version)) least = std::min(least.value_or(*here), *here);
    if (group.empty()) return least;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

bool lists(const std::string& controllers, const std::string& name) {
  return ("," + controllers + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

std::optional<std::int64_t> cgroup_headroom(const std::string& root) {
  const Version v2{root + "/sys/fs/cgroup", "/memory.max", "/memory.current", "inactive_file"};
  const Version v1{root + "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                   "total_inactive_file"};
  std::ifstream file(root + "/proc/self/cgroup");
  std::optional<std::int64_t> least;
  std::string line;
  while (std::getline(file, line)) {  // "4:memory:/group" (version 1) or "0::/group" (version 2)
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !lists(controllers, "memory")) continue;
    const auto here = least_headroom(line.substr(second + 1), controllers.empty() ? v2 : v1);
    if (here) least = std::min(least.value_or(*here), *here);
  }
  return least;
}

}  // namespace attnscale
