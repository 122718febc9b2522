#include "measure/machine.hpp"

#include "measure/temporary_folder.hpp"
#include "support/catch.hpp"

using namespace attnscale;

TEST_CASE("the machine is described") {
  const Machine machine = describe_machine();
  CHECK_FALSE(machine.cpu.empty());
  CHECK(machine.cores >= 1);
  CHECK_FALSE(machine.kernel.empty());
  CHECK_FALSE(machine.compiler.empty());
  REQUIRE_FALSE(machine.versions.empty());
  CHECK(machine.versions[0].first == "google-benchmark");
  for (const auto& [library, version] : machine.versions) {
    CAPTURE(library);
    CHECK(version.find('.') != std::string::npos);
  }
  CHECK(machine.memory_bytes > (std::int64_t{16} << 20));
  for (const auto& [cache, bytes] : machine.caches) {
    CAPTURE(cache);
    CHECK(cache.starts_with('L'));
    CHECK(bytes >= 1024);
  }
  CHECK(machine.host.size() == 16);
  CHECK(machine.host.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(machine.host == describe_machine().host);
}

TEST_CASE("a quiet machine gives no warnings, a disturbed one says by what") {
  const Disturbance quiet{0.4, 1000, 3000.0};
  CHECK(warnings_of(quiet, quiet, 1.0, 1).empty());
  CHECK(warnings_of({}, {}, 1.0, 1).empty());

  // Our own threads are no foreign load.
  CHECK(warnings_of({4.0, {}, {}}, {4.2, {}, {}}, 1.0, 4).empty());
  CHECK(warnings_of({2.0, {}, {}}, {1.0, {}, {}}, 1.0, 1) ==
        std::vector<std::string>{"load 2.0 with 1 thread of ours"});
  CHECK(warnings_of({{}, {}, 3000.0}, {{}, {}, 2400.0}, 1.0, 1) ==
        std::vector<std::string>{"frequency went from 3000 to 2400 MHz"});
  CHECK(warnings_of({{}, {}, 3000.0}, {{}, {}, 2900.0}, 1.0, 1).empty());
}

TEST_CASE("steal time is a share of the time of the cores in use") {
  // 100 ticks per second is what every Linux reports to programs.
  CHECK(warnings_of({{}, 1000, {}}, {{}, 1031, {}}, 10.0, 1) == std::vector<std::string>{"steal time 3.1 %"});
  CHECK(warnings_of({{}, 1000, {}}, {{}, 1031, {}}, 10.0, 4).empty());
  CHECK(warnings_of({{}, 1000, {}}, {{}, 1009, {}}, 10.0, 1).empty());
  CHECK(warnings_of({{}, 1000, {}}, {{}, 2000, {}}, 0.0, 1).empty());
}

TEST_CASE("a power-saving governor is warned about") {
  Machine machine;
  CHECK(warnings_of(machine).empty());
  machine.governor = "performance";
  CHECK(warnings_of(machine).empty());
  machine.governor = "powersave";
  CHECK(warnings_of(machine) == std::vector<std::string>{"frequency governor powersave, not performance"});
}

#ifdef __linux__
TEST_CASE("disturbances are read where the system tells them") {
  const Disturbance now = read_disturbance();
  REQUIRE(now.load);
  CHECK(*now.load >= 0);
  REQUIRE(now.steal_ticks);
  CHECK(*now.steal_ticks >= 0);
  if (now.frequency_mhz) CHECK(*now.frequency_mhz > 10);
}
#endif

TEST_CASE("the last level cache is the largest one that holds data") {
  Machine machine;
  CHECK(last_level_cache(machine) == 0);
  machine.caches = {{"L1d", 1 << 15}, {"L1i", 1 << 30}, {"L2", 1 << 20}, {"L3", 1 << 25}};
  CHECK(last_level_cache(machine) == 1 << 25);
}

TEST_CASE("cores that share a physical one are found") {
  const TemporaryFolder root;
  const auto siblings = [&](int core, const std::string& list) {
    root.write("sys/devices/system/cpu/cpu" + std::to_string(core) + "/topology/thread_siblings_list", list + "\n");
  };
  siblings(0, "0,2");
  siblings(1, "1,3");
  siblings(2, "0,2");
  siblings(3, "1,3");
  CHECK(threads_per_core({0, 1, 2, 3}, root.path()) == 2);
  CHECK(threads_per_core({0, 1}, root.path()) == 1);
  CHECK(threads_per_core({0, 2}, root.path()) == 2);
  CHECK(threads_per_core({7}, root.path()) == 1);
  CHECK(threads_per_core({}, root.path()) == 1);
}

TEST_CASE("the share of stolen time counts the cores in use") {
  Disturbance before, after;
  CHECK_FALSE(steal_share(before, after, 10, 2));
  before.steal_ticks = 1000;
  after.steal_ticks = 1000;
  CHECK(steal_share(before, after, 10, 2) == 0.0);
  after.steal_ticks = 1000 + 2000;
  CHECK(*steal_share(before, after, 10, 2) * 2 == Approx(*steal_share(before, after, 10, 1)));
  CHECK_FALSE(steal_share(before, after, 0, 1));
}
