#include "core/problem.hpp"

#include <cmath>
#include <limits>

#include "message.hpp"
#include "support/catch.hpp"

using namespace attnscale;

namespace {
Problem sized(std::int64_t queries, std::int64_t keys, Mask mask) {
  Problem problem;
  problem.shape.queries = queries;
  problem.shape.keys = keys;
  problem.mask = mask;
  return problem;
}
std::string refused(const Problem& problem) {
  return message_of([&] { problem.validate(); });
}
std::string refused_text(const std::string& text) {
  return message_of([&] { Problem::parse(text); });
}
}  // namespace

TEST_CASE("a causal mask is aligned bottom right: the last query sees every key") {
  const Problem more_keys = sized(3, 5, Mask::causal);
  CHECK(more_keys.position(0) == 2);
  CHECK(more_keys.allowed(0) == 3);
  CHECK(more_keys.allowed(2) == 5);
  const Problem more_queries = sized(5, 3, Mask::causal);
  CHECK(more_queries.position(0) == -2);
  CHECK(more_queries.allowed(0) == 0);
  CHECK(more_queries.allowed(1) == 0);
  CHECK(more_queries.allowed(2) == 1);
  CHECK(more_queries.allowed(4) == 3);
  CHECK(sized(5, 3, Mask::none).allowed(0) == 3);
}

TEST_CASE("allowed_pairs is the sum of allowed") {
  for (const Mask mask : {Mask::none, Mask::causal}) {
    for (std::int64_t queries = 1; queries <= 12; ++queries) {
      for (std::int64_t keys = 1; keys <= 12; ++keys) {
        const Problem problem = sized(queries, keys, mask);
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < queries; ++i) sum += problem.allowed(i);
        REQUIRE(problem.allowed_pairs() == sum);
      }
    }
  }
  CHECK(sized(4096, 4096, Mask::causal).allowed_pairs() == 4096 * 4097 / 2);
}

TEST_CASE("the score scale is scale / temperature, 1/sqrt(dim) by default") {
  Problem problem = sized(1, 1, Mask::none);
  problem.shape.dim = 64;
  CHECK(problem.score_scale() == 0.125);
  problem.temperature = 2;
  CHECK(problem.score_scale() == 0.0625);
  problem.scale = 3;
  CHECK(problem.score_scale() == 1.5);
}

TEST_CASE("grouped query heads read neighbouring key heads: h / (heads / kv_heads), never h % kv_heads") {
  Problem problem = sized(1, 1, Mask::none);
  problem.shape.heads = 6;
  problem.shape.kv_heads = 2;
  CHECK(problem.shape.kv_head(HeadIndex{0}).value == 0);
  CHECK(problem.shape.kv_head(HeadIndex{2}).value == 0);
  CHECK(problem.shape.kv_head(HeadIndex{3}).value == 1);
  CHECK(problem.shape.kv_head(HeadIndex{5}).value == 1);
  problem.first_head = 9;
  CHECK(problem.global_kv_head(KvHeadIndex{1}) == 4);
}

TEST_CASE("problems round-trip through text") {
  Problem problem = sized(7, 130, Mask::causal);
  problem.shape.batch = 2;
  problem.shape.heads = 4;
  problem.shape.kv_heads = 2;
  problem.shape.dim = 33;
  problem.shape.value_dim = 8;
  problem.scale = 0.1;  // not a binary fraction
  problem.temperature = 1.0 / 3.0;
  problem.seed = std::numeric_limits<std::int64_t>::max();
  problem.first_head = 6;
  problem.input = "npy:a,mask=none,b=c";  // a path may hold commas: the input stands last
  CHECK(Problem::parse(problem.str()) == problem);
  CHECK(Problem::parse("queries=4,keys=4") == sized(4, 4, Mask::none));
  CHECK(Problem::parse("queries=4,keys=4,input=local").input == "local");
}

TEST_CASE("bad problems are refused by name with the nearest valid value") {
  CHECK(refused(sized(4, 4, Mask::none)).empty());
  CHECK(contains(refused(sized(0, 4, Mask::none)), "queries is 0"));
  CHECK(contains(refused(sized(4, (std::int64_t{1} << 31) + 1, Mask::none)), "nearest valid value is 2147483648"));
  Problem problem = sized(4, 4, Mask::none);
  problem.shape.dim = 0;
  CHECK(contains(refused(problem), "dim is 0"));
  problem.shape.dim = 8;
  problem.shape.heads = 6;
  problem.shape.kv_heads = 4;
  CHECK(contains(refused(problem), "nearest valid kv-heads is 3"));
  problem.shape.kv_heads = 3;
  problem.first_head = 3;
  CHECK(contains(refused(problem), "nearest valid value is 2"));
  problem.first_head = -1;
  CHECK_FALSE(refused(problem).empty());
  problem.first_head = 4;
  CHECK(refused(problem).empty());
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    Problem hot = sized(4, 4, Mask::none);
    hot.temperature = bad;
    CHECK(contains(refused(hot), "temperature"));
  }
  for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) {
    Problem scaled = sized(4, 4, Mask::none);
    scaled.scale = bad;
    CHECK(contains(refused(scaled), "scale"));
  }
}

TEST_CASE("bad problem texts are refused") {
  CHECK(contains(refused_text("querys=4,keys=4"), "did you mean 'queries'?"));
  CHECK(contains(refused_text("queries=x,keys=4"), "queries is 'x'"));
  CHECK(contains(refused_text("queries=4,keys=4,mask=casual"), "did you mean 'causal'?"));
  CHECK(contains(refused_text("queries"), "queries"));
  CHECK(contains(refused_text(""), "queries is 0"));
  CHECK_FALSE(refused_text("queries=4,keys=4,").empty());
  CHECK_FALSE(refused_text("queries=4,keys=4,seed=-1").empty());
}
