#include "study/study_file.hpp"

#include "support.hpp"

namespace attnscale::test {
namespace {

std::string refusal(const std::string& toml) {
  const TemporaryFolder folder;
  const std::string path = folder.write("mine.toml", toml);
  return input_error([&] { read_study_file(path); });
}

}  // namespace

TEST_CASE("a study file is a list of runs with the keys of the flags") {
  const TemporaryFolder folder;
  const StudyFile study = read_study_file(folder.write("mine.toml", R"(
summary = "two runs"
[[run]]
methods = ["window:w=16", "topk"]
n = "256..512@2"
causal = true
temperature = 0.5
max-time = "200ms"
[[run]]
n = 64
heads = [1, 2]
)"));
  CHECK(study.name == "mine");
  CHECK(study.summary == "two runs");
  REQUIRE(study.runs.size() == 2);
  CHECK(study.runs[0].at("methods") == std::vector<std::string>{"window:w=16", "topk"});
  CHECK(study.runs[0].at("causal") == std::vector<std::string>{"true"});
  CHECK(study.runs[0].at("temperature") == std::vector<std::string>{"0.5"});
  CHECK(study.runs[1].at("n") == std::vector<std::string>{"64"});
  CHECK(study.runs[1].at("heads") == std::vector<std::string>{"1", "2"});
}

TEST_CASE("a tensor file is understood from the folder of the study") {
  const TemporaryFolder folder;
  const StudyFile study =
      read_study_file(folder.write("mine.toml", "[[run]]\ninput = ['npy:data/x', 'gaussian', 'npy:/abs/y']\n"));
  const std::vector<std::string>& inputs = study.runs[0].at("input");
  CHECK(inputs[0] == "npy:" + (folder.path() / "data/x").string());
  CHECK(inputs[1] == "gaussian");
  CHECK(inputs[2] == "npy:/abs/y");
}

TEST_CASE("a faulty study file is one sentence with line and nearest key") {
  CHECK(holds(refusal("[[run]]\nmethds = 'topk'\n"), "did you mean 'methods'"));
  CHECK(holds(refusal("[[run]]\nmethds = 'topk'\n"), "line 2"));
  CHECK(holds(refusal("[[run]]\nvalue_dim = 3\n"), "did you mean 'value-dim'"));
  CHECK(holds(refusal("[[runs]]\nn = 3\n"), "did you mean 'run'"));
  CHECK(holds(refusal("n = 3\n"), "[[run]]"));
  CHECK(holds(refusal("run = 3\n"), "[[run]]"));
  CHECK(holds(refusal("summary = 3\n[[run]]\nn = 3\n"), "summary"));
  CHECK(holds(refusal("[[run]]\nn = \n"), "line 2"));
  CHECK(holds(refusal("[[run]]\nn = true\n"), "n is no whole number"));
  CHECK(holds(refusal("[[run]]\nn = 2.5\n"), "n is no whole number"));
  CHECK(holds(refusal("[[run]]\ncausal = 'yes'\n"), "causal is no flag"));
  CHECK(holds(refusal("[[run]]\nmethods = 3\n"), "methods is no text"));
  CHECK(holds(refusal("[[run]]\nmethods = []\n"), "empty list"));
  CHECK(holds(refusal("[[run]]\nn = {a = 3}\n"), "n is no"));
  CHECK(holds(refusal(""), "holds no run"));
  CHECK(holds(refusal("[[run]]\n\x01"), "line 2"));
  CHECK(holds(input_error([] { read_study_file("no/such/file.toml"); }), "does not exist"));
}

TEST_CASE("a bare name finds the nearest folder's study, and a wrong one the nearest name") {
  const TemporaryFolder near;
  const TemporaryFolder far;
  const std::string path = near.write("quick.toml", "[[run]]\nn = 8\n");
  (void)far.write("quick.toml", "[[run]]\nn = 9\n");
  const std::string other = far.write("scaling.toml", "[[run]]\nn = 9\n");
  const std::vector<std::string> folders = {near.path().string(), far.path().string(), "no/such/folder"};
  CHECK(find_study("quick", folders) == path);
  CHECK(find_study("scaling", folders) == other);
  CHECK(find_study(other, folders) == other);
  CHECK(study_paths(folders).size() == 2);
  CHECK(holds(input_error([&] { find_study("quik", folders); }), "did you mean 'quick'"));
  CHECK(holds(input_error([&] { find_study("quick", {}); }), "no study"));
}

TEST_CASE("every study of the repository parses and expands") {
  for (const std::string& path : study_paths({ATTNSCALE_SOURCE_DIR "/studies"})) {
    INFO(path);
    const StudyFile file = read_study_file(path);
    CHECK_FALSE(file.summary.empty());
    Study study{file.name, {}};
    for (const Settings& run : file.runs) study.runs.push_back(parse_run(run));
    CHECK(count_cells(expand(study)) > 10);
  }
}

}  // namespace attnscale::test
