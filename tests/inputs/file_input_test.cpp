// --input npy:PREFIX: slices, grouped heads, ranks, and sets that do not fit together.
#include <cmath>

#include "fixtures.hpp"
#include "inputs/inputs.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

/// Files of 2 batch items, 6 query heads, 3 key/value heads, 5 queries, 7 keys, dim 4, value dim 2; every element is
/// its own index.
std::string put_set(const Folder& folder) {
  folder.put("set.q.npy", counting_npy("(2, 6, 5, 4)", 240));
  folder.put("set.k.npy", counting_npy("(2, 3, 7, 4)", 168));
  folder.put("set.v.npy", counting_npy("(2, 3, 7, 2)", 84));
  return "npy:" + folder.file("set");
}

const Shape kWhole{2, 6, 3, 5, 7, 4, 2};

float at(const QueryTensor& tensor, std::int64_t b, std::int64_t h, std::int64_t r, std::int64_t c) {
  return tensor.view().matrix(BatchIndex{b}, HeadIndex{h}).row(r)[c];
}
float at(const KeyTensor& tensor, std::int64_t b, std::int64_t h, std::int64_t r, std::int64_t c) {
  return tensor.view().matrix(BatchIndex{b}, KvHeadIndex{h}).row(r)[c];
}

}  // namespace

TEST_CASE("file input: the whole set and its shape") {
  const Folder folder;
  const std::string input = put_set(folder);
  check_input(input);
  CHECK(input_shape(input) == kWhole);
  CHECK(input_label(input) == "npy:set");
  const Inputs inputs = make_inputs(problem_of(input, kWhole));
  for (std::int64_t i = 0; i < 240; ++i) REQUIRE(inputs.view().q.data[i] == static_cast<float>(i));
  for (std::int64_t i = 0; i < 168; ++i) REQUIRE(inputs.view().k.data[i] == static_cast<float>(i));
  for (std::int64_t i = 0; i < 84; ++i) REQUIRE(inputs.view().v.data[i] == static_cast<float>(i));
  CHECK(inputs.warnings.empty());
  CHECK(inputs.hash.size() == 16);
}

TEST_CASE("file input: a cut takes the first rows and the heads from first_head on") {
  const Folder folder;
  Problem problem = problem_of(put_set(folder), {2, 2, 1, 3, 6, 4, 2});
  problem.first_head = 4;  // query heads 4 and 5 read key/value head 2
  const Inputs inputs = make_inputs(problem);
  CHECK(inputs.q.extents() == Extents{2, 2, 3, 4});
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t r = 0; r < 3; ++r) {
      for (std::int64_t c = 0; c < 4; ++c) {
        for (std::int64_t h = 0; h < 2; ++h)
          REQUIRE(at(inputs.q, b, h, r, c) == static_cast<float>(((b * 6 + 4 + h) * 5 + r) * 4 + c));
        REQUIRE(at(inputs.k, b, 0, r, c) == static_cast<float>(((b * 3 + 2) * 7 + r) * 4 + c));
      }
      REQUIRE(at(inputs.v, b, 0, r, 1) == static_cast<float>(((b * 3 + 2) * 7 + r) * 2 + 1));
    }
  }
}

TEST_CASE("file input: ranks 2 and 3 stand for one head and one batch item") {
  const Folder folder;
  folder.put("two.q.npy", counting_npy("(5, 4)", 20));
  folder.put("two.k.npy", counting_npy("(1, 7, 4)", 28));
  folder.put("two.v.npy", counting_npy("(1, 1, 7, 2)", 14));
  CHECK(input_shape("npy:" + folder.file("two")) == Shape{1, 1, 1, 5, 7, 4, 2});
  for (const auto& [shape, sizes] : std::vector<std::pair<std::string, std::string>>{
           {"()", "0 dimensions"}, {"(20,)", "1 dimension:"}, {"(1, 1, 1, 5, 4)", "5 dimensions"}}) {
    folder.put("two.q.npy", counting_npy(shape, shape == "()" ? 1 : 20));
    CHECK(contains(refusal([&] { check_input("npy:" + folder.file("two")); }), sizes));
  }
}

TEST_CASE("file input: NaN and infinities in the part that is used are warnings") {
  const Folder folder;
  const std::string input = put_set(folder);
  std::vector<float> values(168, 1.0F);
  values[0] = std::nanf("");
  values[1] = -std::nanf("");
  values[5] = INFINITY;
  values[27] = std::nanf("");  // the last row of the first head
  folder.put("set.k.npy", npy_preamble(1, npy_text("<f4", "(2, 3, 7, 4)")) + raw_bytes(values));
  CHECK(make_inputs(problem_of(input, kWhole)).warnings ==
        std::vector<std::string>{"k holds 3 NaN", "k holds 1 infinite value"});
  CHECK(make_inputs(problem_of(input, {1, 2, 1, 1, 1, 4, 2})).warnings == std::vector<std::string>{"k holds 2 NaN"});
}

TEST_CASE("file input: the hash is that of the values") {
  const Folder folder;
  const std::string input = put_set(folder);
  const std::string hash = make_inputs(problem_of(input, kWhole)).hash;
  std::filesystem::copy_file(folder.file("set.q.npy"), folder.file("other.q.npy"));
  std::filesystem::copy_file(folder.file("set.k.npy"), folder.file("other.k.npy"));
  folder.put("other.v.npy", counting_npy("(2, 3, 7, 2)", 84));
  CHECK(make_inputs(problem_of("npy:" + folder.file("other"), kWhole)).hash == hash);
  folder.put("other.v.npy", counting_npy("(2, 3, 7, 2)", 84, 1));
  CHECK(make_inputs(problem_of("npy:" + folder.file("other"), kWhole)).hash != hash);
}

TEST_CASE("file input: tensors that disagree are refused") {
  const Folder folder;
  const std::string input = put_set(folder);
  struct Case {
    std::string name, shape;
    std::int64_t count;
    std::string part;
  };
  for (const Case& wrong :
       std::vector<Case>{{"k", "(2, 3, 6, 4)", 144, "the rows (n) of k and v are 6 and 7"},
                         {"k", "(2, 3, 7, 5)", 210, "the dims of q and k are 4 and 5"},
                         {"k", "(1, 3, 7, 4)", 84, "the batch sizes of q and k are 2 and 1"},
                         {"v", "(1, 3, 7, 2)", 42, "the batch sizes of k and v are 2 and 1"},
                         {"v", "(2, 2, 7, 2)", 56, "the heads of k and v are 3 and 2"},
                         {"q", "(2, 4, 5, 4)", 160, "the 4 heads of q are not a multiple of the 3 heads"}}) {
    const std::string path = "set." + wrong.name + ".npy";
    const std::string before = slurp(folder.file(path));
    folder.put(path, counting_npy(wrong.shape, wrong.count));
    const std::string sentence = refusal([&] { check_input(input); });
    INFO(sentence);
    CHECK(is_one_sentence(sentence));
    CHECK(contains(sentence, wrong.part));
    CHECK(contains(sentence, "npy:set"));
    CHECK(refusal([&] { make_inputs(problem_of(input, kWhole)); }) == sentence);
    folder.put(path, before);
  }
}

TEST_CASE("file input: asking for more than the files hold is refused with what they hold") {
  const Folder folder;
  folder.put("set.q.npy", counting_npy("(6, 7, 4)", 168));
  folder.put("set.k.npy", counting_npy("(3, 7, 4)", 84));
  folder.put("set.v.npy", counting_npy("(3, 7, 2)", 42));
  struct Case {
    Shape shape;
    std::int64_t first_head;
    std::string part;
  };
  for (const Case& wrong : std::vector<Case>{{{1, 6, 3, 8, 8, 4, 2}, 0, "the largest n is 7"},
                                             {{1, 6, 3, 9, 7, 4, 2}, 0, "the largest queries is 7"},
                                             {{1, 6, 3, 7, 9, 4, 2}, 0, "the largest keys is 7"},
                                             {{2, 6, 3, 7, 7, 4, 2}, 0, "the largest batch is 1"},
                                             {{1, 6, 3, 7, 7, 5, 2}, 0, "give --dim 4"},
                                             {{1, 6, 3, 7, 7, 4, 4}, 0, "give --value-dim 2"},
                                             {{1, 6, 6, 7, 7, 4, 2}, 0, "give --heads 6 --kv-heads 3"},
                                             {{1, 8, 4, 7, 7, 4, 2}, 0, "the largest heads is 6"},
                                             {{1, 4, 2, 7, 7, 4, 2}, 4, "the largest first-head is 2"}}) {
    Problem problem = problem_of("npy:" + folder.file("set"), wrong.shape);
    problem.first_head = wrong.first_head;
    const std::string sentence = refusal([&] { make_inputs(problem); });
    INFO(sentence);
    CHECK(is_one_sentence(sentence));
    CHECK(contains(sentence, wrong.part));
  }
}

TEST_CASE("file input: a prefix without files is refused with the nearest one") {
  const Folder folder;
  put_set(folder);
  for (const char* typed : {"sett", "set.q", "set.q.npy", "zet"}) {
    const std::string sentence = refusal([&] { check_input("npy:" + folder.file(typed)); });
    INFO(sentence);
    CHECK(is_one_sentence(sentence));
    CHECK(contains(sentence, "did you mean 'npy:" + folder.file("set") + "'"));
  }
  CHECK(contains(refusal([] { check_input("npy:"); }), "names no file"));
  CHECK(contains(refusal([] { check_input("npy:no/such/place"); }), "does not exist"));
  std::filesystem::remove(folder.file("set.v.npy"));
  CHECK(contains(refusal([&] { check_input("npy:" + folder.file("set")); }), "set.v.npy' does not exist"));
  std::filesystem::create_directory(folder.file("set.v.npy"));
  CHECK(contains(refusal([&] { check_input("npy:" + folder.file("set")); }), "is a folder"));
}
