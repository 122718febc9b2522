// The real tensors that ship with the studies: present, readable, finite, and of the sizes that their README states.
#include <filesystem>

#include "fixtures.hpp"
#include "inputs/inputs.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

const std::string kData = ATTNSCALE_SOURCE_DIR "/studies/data/";

std::int64_t lines_in(const std::string& path) {
  const std::string text = slurp(path);
  return std::count(text.begin(), text.end(), '\n');
}

}  // namespace

TEST_CASE("studies/data: every set loads whole and is finite") {
  for (const auto& [name, shape] :
       std::vector<std::pair<std::string, Shape>>{{"sentence-l2", {1, 12, 12, 15, 15, 32, 32}},
                                                  {"sentence-l4", {1, 12, 12, 15, 15, 32, 32}},
                                                  {"minilm-l2", {1, 12, 12, 512, 512, 32, 32}},
                                                  {"whisper-l2", {1, 6, 6, 1500, 1500, 64, 64}},
                                                  {"bytelm-l2", {1, 4, 4, 8192, 8192, 64, 64}}}) {
    INFO(name);
    const std::string input = "npy:" + kData + name;
    CHECK(input_shape(input) == shape);
    CHECK(input_label(input) == "npy:" + name);
    const Inputs inputs = make_inputs(problem_of(input, shape));
    CHECK(inputs.warnings.empty());
  }
}

TEST_CASE("studies/data: one token per row") {
  CHECK(lines_in(kData + "sentence.tokens.txt") == 15);
  CHECK(lines_in(kData + "minilm.tokens.txt") == 512);
  CHECK(std::filesystem::file_size(kData + "bytelm-text.txt") >= 8192);
}

TEST_CASE("studies/data: stays small") {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kData)) bytes += entry.file_size();
  CHECK(bytes <= 20U * 1024 * 1024);
}
