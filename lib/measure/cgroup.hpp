// The memory limit of the control group that this process runs in (containers, batch systems).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace attnscale {

/// Limit minus use in bytes, the least over the group and its ancestors, for version 2 and version 1 of cgroups; empty
/// when there is no limit. `root` stands before /proc and /sys in tests.
std::optional<std::int64_t> cgroup_headroom(const std::string& root = "");

}  // namespace attnscale
