#include "study/expand.hpp"

#include <set>
#include <sstream>
#include <utility>

#include "inputs/npy.hpp"
#include "kernels/strip.hpp"
#include "study/identity.hpp"
#include "support.hpp"

namespace attnscale::test {
namespace {

// A file input of 2 heads, 10 rows, width 4.
std::string write_tensors(const TemporaryFolder& folder) {
  QueryTensor tensor({1, 2, 10, 4});
  for (const char* part : {"q", "k", "v"}) {
    write_npy((folder.path() / ("x." + std::string(part) + ".npy")).string(), std::as_const(tensor).view(), false);
  }
  return "npy:" + (folder.path() / "x").string();
}

}  // namespace

TEST_CASE("the baseline is always there, first and once") {
  const std::vector<Group> groups = groups_of({{"methods", {"window topk exact.streaming"}}, {"n", {"64,128"}}});
  REQUIRE(groups.size() == 2);
  for (const Group& group : groups) {
    REQUIRE(group.methods.size() == 3);
    CHECK(group.methods[0].str() == "exact.streaming");
  }
  CHECK(groups[1].problem.shape.keys == 128);
  CHECK(count_cells(groups) == 6);
}

TEST_CASE("axes multiply, and threads share a problem") {
  const std::vector<Group> groups = groups_of({{"n", {"8,16"}},
                                               {"heads", {"2"}},
                                               {"kv-heads", {"1,2"}},
                                               {"seeds", {"2"}},
                                               {"threads", {"1,2"}},
                                               {"causal", {"true"}}});
  REQUIRE(groups.size() == 2 * 2 * 2 * 2);
  CHECK(groups[0].problem == groups[1].problem);
  CHECK(groups[0].threads == 1);
  CHECK(groups[1].threads == 2);
  CHECK(groups[0].problem.causal());
  CHECK(groups[0].problem.shape.value_dim == 64);
}

TEST_CASE("a cell that two runs share occurs once, with the options of the first") {
  const Run first = parse_run({{"methods", {"window"}}, {"n", {"64"}}, {"rounds", {"3"}}});
  const Run second = parse_run({{"methods", {"window topk"}}, {"n", {"64,128"}}});
  const std::vector<Group> groups = expand({"", {first, second}});
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].methods.size() == 3);
  CHECK(groups[0].options.min_rounds == 3);
  CHECK(groups[1].options.min_rounds == 7);
}

TEST_CASE("a generated input needs a length, a file has its own") {
  CHECK(holds(input_error([] { groups_of({}); }), "give n"));
  CHECK(holds(input_error([] { groups_of({{"n", {"own"}}}); }), "give n"));
  const TemporaryFolder folder;
  const std::string input = write_tensors(folder);
  for (const Settings& settings : {Settings{{"input", {input}}}, Settings{{"input", {input}}, {"n", {"own"}}}}) {
    const std::vector<Group> groups = groups_of(settings);
    REQUIRE(groups.size() == 1);
    const Shape& shape = groups[0].problem.shape;
    CHECK(shape == Shape{1, 2, 2, 10, 10, 4, 4});
  }
  CHECK(groups_of({{"input", {input}}, {"n", {"7"}}, {"heads", {"1"}}})[0].problem.shape == Shape{1, 1, 1, 7, 7, 4, 4});
}

TEST_CASE("more than a file holds is refused with what it holds") {
  const TemporaryFolder folder;
  const std::string input = write_tensors(folder);
  CHECK(holds(input_error([&] {
                groups_of({{"input", {input}}, {"n", {"11"}}});
              }),
              "holds 10: the nearest valid n is 10"));
  CHECK(holds(input_error([&] { groups_of({{"input", {input}}, {"heads", {"3"}}}); }), "holds 2"));
  CHECK(holds(input_error([&] {
                groups_of({{"input", {input}}, {"heads", {"2"}}, {"first-head", {"1"}}});
              }),
              "first-head"));
  CHECK(holds(input_error([&] { groups_of({{"input", {input}}, {"dim", {"8"}}}); }), "dim is 8"));
  CHECK(holds(input_error([&] { groups_of({{"input", {input}}, {"batch", {"2"}}}); }), "batch"));
}

TEST_CASE("heads that are no multiple of kv-heads are refused") {
  CHECK(holds(input_error([] { groups_of({{"n", {"8"}}, {"heads", {"3"}}, {"kv-heads", {"2"}}}); }), "multiple"));
}

TEST_CASE("window2d is refused when no n of the run fits, and single misfits stay") {
  const auto misfit = [](const char* n) {
    return input_error([&] { groups_of({{"methods", {"window2d:height=8,width=8"}}, {"n", {n}}}); });
  };
  CHECK(holds(misfit("60,70"), "nearest valid n is 64"));
  CHECK(misfit("60,64").empty());
  CHECK(holds(input_error([&] {
                groups_of({{"methods", {"window2d:height=7"}}, {"n", {"60"}}});
              }),
              "nearest valid n is 63"));
  CHECK(groups_of({{"methods", {"window2d"}}, {"n", {"61"}}}).size() == 1);
}

TEST_CASE("cell ids are stable and tell cells apart") {
  Problem problem;
  problem.shape.queries = problem.shape.keys = 64;
  const MethodSpec window = parse_method("window:w=8").front();
  const std::string id = cell_id(problem, window, 1, "0123456789abcdef");
  CHECK(id == "892cd9d940d3ace3");
  CHECK(cell_id(problem, window, 2, "0123456789abcdef") != id);
  CHECK(cell_id(problem, window, 1, "0123456789abcdee") != id);
  CHECK(cell_id(problem, parse_method("window:w=9").front(), 1, "0123456789abcdef") != id);
  problem.seed = 1;
  CHECK(cell_id(problem, window, 1, "0123456789abcdef") != id);
  // Where a file lies does not matter, which file it is does.
  problem.input = "npy:/a/x";
  const std::string here = cell_id(problem, window, 1, "");
  problem.input = "npy:/b/x";
  CHECK(cell_id(problem, window, 1, "") == here);
  problem.input = "npy:/b/y";
  CHECK(cell_id(problem, window, 1, "") != here);
}

TEST_CASE("SIMD target, cache and pinning make other cells of the same problem") {
  const std::string target = kernels::available_targets().back();
  std::vector<Run> runs;
  for (const Settings& more :
       {Settings{}, {{"cache", {"cold"}}}, {{"pin", {"true"}}}, {{"simd", {target}}}, {{"cache", {"warm"}}}}) {
    Settings settings = {{"n", {"40"}}};
    for (const auto& [key, values] : more) settings[key] = values;
    runs.push_back(parse_run(settings));
  }
  const std::vector<Group> groups = expand({"", runs});
  REQUIRE(groups.size() == 4);  // warm is the default
  std::set<std::string> ids, hashes;
  for (const Group& group : groups) {
    ids.insert(cell_id(group.problem, group.methods[0], 1, "", condition_flags(group.options)));
    hashes.insert(config_hash(group));
    CHECK(holds(repro_command(group, group.methods[0]), condition_flags(group.options)));
  }
  CHECK(ids.size() == 4);
  CHECK(hashes.size() >= 3);  // the target asked for may be the one that is in use
  CHECK(condition_flags(groups[1].options) == " --cache cold");
  CHECK(condition_flags(groups[2].options) == " --pin");
  CHECK(cell_id(groups[0].problem, groups[0].methods[0], 1, "") ==
        cell_id(groups[0].problem, groups[0].methods[0], 1, "", condition_flags(groups[0].options)));
}

TEST_CASE("the repro command makes the same cell again") {
  const std::vector<Group> groups = groups_of({{"methods", {"lsh:bucket=16"}},
                                               {"n", {"40"}},
                                               {"heads", {"4"}},
                                               {"kv-heads", {"2"}},
                                               {"causal", {"true"}},
                                               {"temperature", {"0.3"}},
                                               {"seed", {"5"}},
                                               {"rounds", {"2"}},
                                               {"cache", {"cold"}},
                                               {"pin", {"true"}},
                                               {"threads", {"2"}}});
  const std::string command = repro_command(groups[0], groups[0].methods[1]);
  Settings again;
  std::string key;
  std::istringstream words(command);
  for (std::string word; words >> word;) {
    if (word.starts_with("--")) {
      key = word.substr(2);
      again[key] = key == "causal" || key == "pin" ? std::vector<std::string>{"true"} : std::vector<std::string>{};
    } else if (!key.empty()) {
      again[key].push_back(word);
    }
  }
  const std::vector<Group> repeated = groups_of(again);
  REQUIRE(repeated.size() == 1);
  CHECK(repeated[0].problem == groups[0].problem);
  CHECK(repeated[0].threads == 2);
  CHECK(repeated[0].options == groups[0].options);
  CHECK(repeated[0].methods[1].str() == groups[0].methods[1].str());
  CHECK(config_hash(repeated[0]) == config_hash(groups[0]));
}

}  // namespace attnscale::test
