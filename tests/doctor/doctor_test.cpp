#include "doctor/doctor.hpp"

#include "kernels/strip.hpp"
#include "support/catch.hpp"

using namespace attnscale;

namespace {

DoctorOptions quick() {
  DoctorOptions options;
  options.threads = 2;
  options.probe_seconds = 0.001;
  options.noise_rounds = 3;
  return options;
}

}  // namespace

TEST_CASE("a diagnosis fills everything that it shows") {
  const Diagnosis d = diagnose(quick());
  CHECK(d.simd_target == kernels::current_target());
  CHECK(d.threads == 2);
  CHECK(d.peak_gflops_one > 0);
  CHECK(d.peak_gflops_all > 0);
  REQUIRE(d.levels.size() >= 3);
  for (const MemoryLevel& level : d.levels) {
    INFO(level.name);
    CHECK(level.one.read_gbs > 0);
    CHECK(level.all.triad_gbs > 0);
  }
  const std::string text = diagnosis_text(d);
  for (const char* part : {"SIMD target", "multiply-add peak", "exp2", "clock", "noise floor", "L1", "memory"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("JSON holds the same values, and findings even when there are none") {
  Diagnosis d;
  d.simd_target = "avx2";
  d.peak_gflops_one = 100;
  d.peak_gflops_all = 190;
  d.levels = {{"memory", 0, 1000, {10, 12}, {19, 20}}};
  const std::string text = run_json(diagnosis_info(d));
  CHECK(text.find("\"findings\": {}") != std::string::npos);
  d.findings = {{"load", "load 3", "wait"}};
  const RunInfo info = parse_run_json(run_json(diagnosis_info(d)), "doctor");
  CHECK(info.text("limits", "peak_gflops_all") == "190");
  CHECK(info.text("limits", "balance_flop_per_byte") == "10");
  CHECK(info.text("memory", "read_gbs_all") == "19");
  CHECK(info.text("findings", "load") == "load 3: wait");
}

TEST_CASE("buffers fit into the level that they measure and not into the one above") {
  Machine machine;
  machine.caches = {{"L1d", 48 << 10}, {"L1i", 32 << 10}, {"L2", 1 << 20}, {"L3", 32 << 20}};
  for (const int threads : {1, 2, 4, 64}) {
    CAPTURE(threads);
    const std::vector<MemoryLevel> levels = memory_levels(machine, threads);
    REQUIRE(levels.size() == 4);
    CHECK(levels[0].buffer_bytes < levels[0].size_bytes);
    CHECK(levels[1].buffer_bytes > levels[0].size_bytes);
    CHECK(levels[1].buffer_bytes < levels[1].size_bytes);
    CHECK(levels[2].buffer_bytes > levels[1].size_bytes);
    CHECK(levels[3].name == "memory");
    CHECK(levels[3].buffer_bytes * threads >= std::int64_t{32} << 20);
  }
  machine.caches.clear();
  const std::vector<MemoryLevel> unknown = memory_levels(machine, 1);
  REQUIRE(unknown.size() == 3);
  CHECK(unknown[0].buffer_bytes < unknown[1].buffer_bytes);
  CHECK(unknown[1].buffer_bytes < unknown[2].buffer_bytes);
}
