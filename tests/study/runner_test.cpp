#include "study/runner.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "deterministic.hpp"
#include "inputs/npy.hpp"
#include "kernels/strip.hpp"
#include "measure/counters.hpp"
#include "study/budget.hpp"
#include "support.hpp"

namespace attnscale::test {
namespace {

std::map<std::string, std::string> by_method(const std::vector<Cell>& cells) {
  std::map<std::string, std::string> rows;
  for (const Cell& cell : cells) {
    CHECK(cell.record.status == "ok");
    rows[cell.record.method] = deterministic(cell.record);
  }
  return rows;
}

}  // namespace

TEST_CASE("a cell becomes a verified row with its samples") {
  const std::vector<Cell> cells =
      run_cells({{"methods", {"window:w=8"}}, {"n", {"65"}}, {"heads", {"2"}}, {"rounds", {"6"}}});
  REQUIRE(cells.size() == 2);
  const Record& exact = cells[0].record;
  CHECK(exact.method == "exact.streaming");
  CHECK(exact.visible_pairs == 2 * 65 * 65);
  CHECK(exact.ratio_to_exact == 1);
  CHECK(exact.exact_fallback == true);
  CHECK_FALSE(exact.mass_recall_mean);
  const Record& window = cells[1].record;
  CHECK(window.status == "ok");
  CHECK(window.label == "window:w=8");
  CHECK(window.visible_pairs == 2 * (65 * 17 - 8 * 9));
  CHECK(window.window_keys == 17);
  CHECK(window.flops == 2 * (64 + 64) * *window.visible_pairs);
  CHECK(window.samples == 6);
  CHECK(cells[1].samples.size() == 6);
  CHECK_FALSE(cells[1].stages.empty());
  CHECK(window.time_ns_ci_low);
  CHECK(window.ratio_to_exact);
  CHECK(window.ratio_ci_low);
  CHECK(*window.impl_ratio < 1);
  CHECK(*window.rel_fro > 0.1);
  CHECK(*window.mass_recall_mean < 1);
  CHECK(window.bound_held == true);
  CHECK(window.error_rows == 130);
  CHECK(window.cell_id.size() == 16);
  CHECK(window.input_hash.size() == 16);
  CHECK_FALSE(window.resident_bytes);  // no program to start
}

TEST_CASE("an unsupported cell is a row with its reason") {
  const std::vector<Cell> cells = run_cells({{"methods", {"exact.shared"}}, {"queries", {"3"}}, {"keys", {"8"}}});
  const Record row = row_of(cells, "exact.shared");
  CHECK(row.status == "unsupported");
  CHECK_FALSE(row.reason.empty());
  CHECK_FALSE(row.time_ns_median);
}

TEST_CASE("memory beyond what is free is over_budget, decided before allocating") {
  const std::vector<Cell> cells = run_cells({{"methods", {"window exact.shared"}}, {"n", {"2147483648"}}});
  REQUIRE(cells.size() == 3);
  for (const Cell& cell : cells) {
    CHECK(cell.record.status == "over_budget");
    CHECK(holds(cell.record.reason, "free"));
    CHECK(cell.record.input_hash.empty());
  }
}

TEST_CASE("a call predicted beyond the budget is over_budget, and the others run without a ratio") {
  // Half of what exact attention is predicted to take on this machine: far more than a window of one needs.
  const double exact_ms = calibrate() * 2 * (64 + 64) * 3000 * 3000 * 1e-6;
  const std::string budget = fmt::format("{}ms", exact_ms / 2);
  const std::vector<Cell> cells = run_cells({{"methods", {"window:w=1"}}, {"n", {"3000"}}, {"cell-budget", {budget}}});
  const Record exact = row_of(cells, "exact.streaming");
  const Record window = row_of(cells, "window:w=1");
  CHECK(exact.status == "over_budget");
  CHECK(holds(exact.reason, "predicted"));
  CHECK_FALSE(exact.impl_error);
  INFO(window.reason);
  REQUIRE(window.status == "ok");
  CHECK(window.time_ns_median);
  CHECK_FALSE(window.ratio_to_exact);
  CHECK(window.baseline.empty());
  CHECK(window.rel_fro);  // against the oracle's sampled rows
  CHECK(window.error_rows == 256);
  CHECK(*window.verified_rows > 256);
}

TEST_CASE("the same seed gives the same figures for any threads, order and company of methods") {
  Settings settings = {{"methods", {"all"}}, {"n", {"150"}}, {"heads", {"2"}}, {"seed", {"3"}}};
  const auto once = by_method(run_cells(settings));
  CHECK(once.size() == catalog().size());
  CHECK(by_method(run_cells(settings)) == once);
  std::string reversed;
  for (auto method = catalog().rbegin(); method != catalog().rend(); ++method)
    reversed += std::string((*method)->name) + " ";
  settings["methods"] = {reversed};
  CHECK(by_method(run_cells(settings)) == once);
  settings["methods"] = {"topk"};
  const auto alone = by_method(run_cells(settings));
  CHECK(alone.at("topk:k=64") == once.at("topk:k=64"));
}

TEST_CASE("outputs are the same, bit for bit, at 1 and 2 threads") {
  const TemporaryFolder folder;
  RunnerOptions options;
  options.save_output = folder.path();
  const std::vector<Cell> cells =
      run_cells({{"methods", {"all"}}, {"n", {"200"}}, {"causal", {"true"}}, {"threads", {"1,2"}}}, options);
  std::map<std::string, std::vector<float>> outputs;
  std::size_t compared = 0;
  for (const Cell& cell : cells) {
    for (const char* part : {".o.npy", ".lse.npy"}) {
      const std::string path = (folder.path() / (cell.record.cell_id + part)).string();
      if (cell.record.status != "ok") continue;
      std::vector<float> values = read_npy(path, read_npy_header(path));
      const auto [at, first] = outputs.try_emplace(cell.record.method + part, values);
      if (first) continue;
      ++compared;
      INFO(cell.record.method << part);
      CHECK(std::equal(values.begin(), values.end(), at->second.begin(), at->second.end(),
                       [](float a, float b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }));
    }
  }
  CHECK(compared == 2 * catalog().size());
}

TEST_CASE("NaN in a file is a warning and a column") {
  const TemporaryFolder folder;
  QueryTensor tensor({1, 1, 20, 4});
  std::fill(tensor.view().data, tensor.view().data + 80, 0.5F);
  for (const char* part : {"q", "v"})
    write_npy((folder.path() / ("x." + std::string(part) + ".npy")).string(), std::as_const(tensor).view(), false);
  tensor.view().data[7] = std::numeric_limits<float>::quiet_NaN();
  write_npy((folder.path() / "x.k.npy").string(), std::as_const(tensor).view(), false);
  const std::vector<Cell> cells =
      run_cells({{"methods", {"window:w=2"}}, {"input", {"npy:" + (folder.path() / "x").string()}}});
  const Record window = row_of(cells, "window:w=2");
  INFO(window.reason);
  CHECK(window.status == "ok");
  CHECK(window.input == "npy:x");
  CHECK(window.input_nans == 1);
  CHECK(holds(window.warnings, "NaN"));
  CHECK(window.repro.find(folder.path().string()) == std::string::npos);
}

TEST_CASE("finite inputs whose scores overflow fp32 are incorrect and say so") {
  const TemporaryFolder folder;
  QueryTensor tensor({1, 1, 20, 4});
  std::fill(tensor.view().data, tensor.view().data + 80, 3e20F);
  for (const char* part : {"q", "k", "v"})
    write_npy((folder.path() / ("x." + std::string(part) + ".npy")).string(), std::as_const(tensor).view(), false);
  const std::vector<Cell> cells = run_cells({{"input", {"npy:" + (folder.path() / "x").string()}}});
  CHECK(cells[0].record.status == "incorrect");
  CHECK(holds(cells[0].record.reason, "overflow"));
  CHECK_FALSE(cells[0].record.time_ns_median);
}

TEST_CASE("an interrupted run keeps what is finished and says that it was interrupted") {
  const std::vector<Group> groups = groups_of({{"methods", {"window:w=2"}}, {"n", {"32,64"}}, {"rounds", {"1"}}});
  std::vector<Cell> cells;
  RunnerHooks hooks;
  hooks.finished = [&](Cell cell) { cells.push_back(std::move(cell)); };
  hooks.interrupted = [&] { return cells.size() >= 2; };
  CHECK_FALSE(run_groups(groups, {}, hooks));
  REQUIRE(cells.size() == 2);
  CHECK(cells[0].record.status == "ok");
  CHECK(cells[1].record.queries == 32);
}

TEST_CASE("an error of a hook, such as a full disk, ends the run") {
  const std::vector<Group> groups = groups_of({{"n", {"32"}}, {"rounds", {"1"}}});
  RunnerHooks hooks;
  hooks.finished = [](Cell) { throw WriteError("full"); };
  CHECK_THROWS_AS(run_groups(groups, {}, hooks), WriteError);
}

TEST_CASE("a forced SIMD target is used and recorded") {
  const std::string target = kernels::available_targets().back();
  const std::vector<Cell> cells = run_cells({{"n", {"40"}}, {"simd", {target}}});
  CHECK(cells[0].record.simd_target == target);
  CHECK(cells[0].record.status == "ok");
}

TEST_CASE("a timed row has its place under the roofline") {
  const std::vector<Group> groups =
      groups_of({{"methods", {"window:w=4"}}, {"n", {"64"}}, {"rounds", {"2"}}, {"threads", {"2"}}});
  std::vector<Cell> cells;
  RunAccount account;
  RunnerHooks hooks;
  hooks.finished = [&](Cell cell) { cells.push_back(std::move(cell)); };
  hooks.account = [&](const RunAccount& found) { account = found; };
  REQUIRE(run_groups(groups, {}, hooks));
  REQUIRE(account.peak_gflops.size() == 1);
  const double peak = account.peak_gflops.begin()->second;
  CHECK(account.peak_gflops.begin()->first == kernels::current_target());
  CHECK(peak > 0);
  for (const Cell& cell : cells) {
    const Record& row = cell.record;
    CHECK(*row.arithmetic_intensity == Approx(static_cast<double>(*row.flops) / static_cast<double>(*row.bytes_moved)));
    CHECK(*row.peak_share == Approx(*row.gflops / (2 * peak)));
    CHECK(row.cache == "warm");
    CHECK(row.pinned == false);
    CHECK(row.instructions.has_value() == counters_missing().empty());
  }
}

TEST_CASE("the time of a run is booked, and the parts do not exceed the whole") {
  const std::vector<Group> groups =
      groups_of({{"methods", {"window:w=4"}}, {"n", {"64,80"}}, {"seeds", {"2"}}, {"rounds", {"2"}}});
  RunAccount account;
  RunnerHooks hooks;
  hooks.finished = [](Cell) {};
  hooks.account = [&](const RunAccount& found) { account = found; };
  REQUIRE(run_groups(groups, {}, hooks));
  CHECK(account.whole.cells == 8);
  CHECK(account.whole.calls_s > 0);
  CHECK(account.whole.oracle_s > 0);
  CHECK(account.whole.inputs_s > 0);
  CHECK(account.whole.limits_s > 0);
  CHECK(account.whole.children_s < 0.01);  // no program to start
  CHECK(account.whole.eviction_s == 0);
  CHECK(account.whole.harness_s() > 0);
  CHECK(account.whole.harness_share() < 1);
  REQUIRE(account.by_keys.size() == 2);
  TimeAccount sum;
  for (const auto& [keys, part] : account.by_keys) {
    CHECK(part.cells == 4);
    CHECK(part.harness_s() > 0);
    sum += part;
  }
  CHECK(sum.calls_s == Approx(account.whole.calls_s));
  CHECK(sum.wall_s <= account.whole.wall_s);
}

TEST_CASE("with cold caches a sample is one call, and pinned threads give the same output") {
  const Settings settings = {{"methods", {"window:w=4"}}, {"n", {"64"}}, {"threads", {"2"}}};
  Settings cold = settings;
  cold["cache"] = {"cold"};
  cold["pin"] = {"true"};
  cold["rounds"] = {"3"};
  const std::vector<Cell> cells = run_cells(cold);
  const std::vector<Cell> warm = run_cells(settings);
  REQUIRE(cells.size() == 2);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    INFO(cells[i].record.reason);
    CHECK(cells[i].record.status == "ok");
    CHECK(cells[i].record.cache == "cold");
    CHECK(cells[i].record.pinned == true);
    CHECK(cells[i].record.cell_id != warm[i].record.cell_id);
    CHECK(cells[i].record.impl_error == warm[i].record.impl_error);
    CHECK(cells[i].samples.size() == 3);
    for (const SampleRow& sample : cells[i].samples) CHECK(sample.iterations == 1);
  }
}

TEST_CASE("predictions name what would not be tried") {
  const std::vector<Group> groups =
      groups_of({{"methods", {"window exact.shared"}}, {"queries", {"64"}}, {"keys", {"128,2147483648"}}});
  const std::vector<Prediction> predictions = predict(groups);
  REQUIRE(predictions.size() == 6);
  CHECK(predictions[0].outcome == Outcome::ok);
  CHECK(predictions[0].call_ns > 0);
  CHECK(predictions[0].memory_bytes > 128 * 64 * 4);
  CHECK(predictions[2].outcome == Outcome::unsupported);
  CHECK(predictions[3].outcome == Outcome::over_budget);
}

}  // namespace attnscale::test
