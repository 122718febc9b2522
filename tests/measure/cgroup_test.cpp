#include "measure/cgroup.hpp"

#include "measure/temporary_folder.hpp"
#include "support/catch.hpp"

using namespace attnscale;

TEST_CASE("version 2: the least headroom of the group and its ancestors") {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "0::/batch/job\n");
  root.write("sys/fs/cgroup/batch/job/memory.max", "max\n");
  root.write("sys/fs/cgroup/batch/job/memory.current", "100\n");
  CHECK_FALSE(cgroup_headroom(root.path()));

  root.write("sys/fs/cgroup/batch/memory.max", "1000\n");
  root.write("sys/fs/cgroup/batch/memory.current", "600\n");
  CHECK(cgroup_headroom(root.path()) == 400);

  root.write("sys/fs/cgroup/batch/memory.stat", "active_file 50\ninactive_file 150\n");
  CHECK(cgroup_headroom(root.path()) == 550);

  root.write("sys/fs/cgroup/batch/job/memory.max", "300\n");
  CHECK(cgroup_headroom(root.path()) == 200);
  root.write("sys/fs/cgroup/batch/job/memory.current", "301\n");
  CHECK(cgroup_headroom(root.path()) == 0);
}

TEST_CASE("version 1: the group may be seen at the mount point, and a huge limit is none") {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "9:name=systemd:/\n5:cpu,memory:/docker/abc\n3:cpuset:/x\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "500\n");
  CHECK_FALSE(cgroup_headroom(root.path()));
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000\n");
  CHECK(cgroup_headroom(root.path()) == 1500);
  root.write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "700\n");
  root.write("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "600\n");
  root.write("sys/fs/cgroup/memory/docker/abc/memory.stat", "total_inactive_file 40\n");
  CHECK(cgroup_headroom(root.path()) == 140);
}

TEST_CASE("no cgroups, no limit") {
  const TemporaryFolder root;
  CHECK_FALSE(cgroup_headroom(root.path()));
  root.write("proc/self/cgroup", "nonsense\n0:memory\n::\n");
  CHECK_FALSE(cgroup_headroom(root.path()));
}
