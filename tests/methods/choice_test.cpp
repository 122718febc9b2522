// Choices that depend on the data: what the judges accept and what they catch, ties, bucket counts, single chunks.
#include <algorithm>
#include <string>
#include <vector>

#include "cases.hpp"
#include "harness.hpp"
#include "methods/counting_sort.hpp"
#include "methods/lsh_hash.hpp"
#include "support/catch.hpp"

namespace attnscale::test {
namespace {

using Choices = std::vector<std::int32_t>;

std::optional<std::string> judge(const MethodSpec& spec, const Problem& problem, const TestInputs& in,
                                 const Choices& choices) {
  return spec.method->judge(problem, spec.params, in.view(), choices, rows_of(problem));
}

// A run whose own choices must pass, to be spoiled afterwards.
struct Case {
  MethodSpec spec;
  Problem problem;
  TestInputs in;
  Choices choices;

  Case(const std::string& text, const Problem& p) : spec(spec_of(text)), problem(p), in(gaussian(p)) {
    choices = run(spec, problem, in.view()).choices;
    INFO(describe(spec, problem));
    REQUIRE(judge(spec, problem, in, choices) == std::nullopt);
  }

  [[nodiscard]] bool caught(std::size_t at, std::int32_t value) const {
    Choices spoiled = choices;
    spoiled[at] = value;
    return judge(spec, problem, in, spoiled).has_value();
  }
};

// A number below `count` that is not among `taken`.
std::int32_t left_out(const Choices& taken, std::int32_t count) {
  for (std::int32_t j = 0; j < count; ++j) {
    if (std::find(taken.begin(), taken.end(), j) == taken.end()) return j;
  }
  return -1;
}

TEST_CASE("the judge of topk catches worse, repeated, missing and forbidden keys") {
  const Case c("topk:k=4", square(40, Mask::causal));
  for (const std::int32_t query : {10, 25, 39}) {
    const auto at = static_cast<std::size_t>(query) * 4;
    const Choices taken(c.choices.begin() + query * 4, c.choices.begin() + query * 4 + 4);
    CHECK(c.caught(at, left_out(taken, query + 1)));
    CHECK(c.caught(at, taken[1]));
    CHECK(c.caught(at + 3, -1));
    CHECK(c.caught(at, -1));
    CHECK(c.caught(at, query + 1));  // the future, or no key at all
    CHECK(c.caught(at, -2));
  }
  CHECK(c.choices[1] == -1);  // the first query may see one key only
  CHECK(c.caught(1, 0));
}

TEST_CASE("the judge of block selection catches wrong blocks") {
  const Case c("hierarchical.select:block=5,blocks=3", square(48));
  for (const std::int32_t query : {0, 12, 47}) {
    const auto at = static_cast<std::size_t>(query) * 3;
    const Choices taken(c.choices.begin() + query * 3, c.choices.begin() + query * 3 + 3);
    CHECK(taken[0] == query / 5);
    CHECK(c.caught(at, (query / 5 + 1) % 10));
    CHECK(c.caught(at, -1));
    CHECK(c.caught(at + 1, left_out(taken, 10)));
    CHECK(c.caught(at + 1, taken[0]));
    CHECK(c.caught(at + 1, taken[2]));
    CHECK(c.caught(at + 2, -1));
    CHECK(c.caught(at + 2, 10));
  }
}

TEST_CASE("the judge of block selection catches blocks that are not complete") {
  const Case c("hierarchical.select:block=5,blocks=4", square(48, Mask::causal));
  CHECK(c.choices[14 * 4 + 1] == 0);
  CHECK(c.choices[14 * 4 + 2] == 1);
  CHECK(c.choices[14 * 4 + 3] == -1);  // blocks 0 and 1 are complete, 2 is its own
  CHECK(c.caught(14 * 4 + 3, 3));
  CHECK(c.caught(14 * 4 + 3, 2));
}

TEST_CASE("the judge of hashes catches every single wrong code") {
  for (const char* text : {"lsh:rounds=2,bucket=8", "lsh:rounds=2,bucket=8,qk=shared"}) {
    const Case c(text, problem_of("heads=4,kv_heads=2,queries=33,keys=33,dim=8,value_dim=8"));
    for (std::size_t at = 0; at < c.choices.size(); at += 7) {
      CHECK(c.caught(at, (c.choices[at] + 1) % 4));
      CHECK(c.caught(at, -1));
      CHECK(c.caught(at, 4));
    }
  }
}

TEST_CASE("the judge of hashes knows factorised rotations, seeds and heads") {
  const Case c("lsh:rounds=1,bucket=1", square(300, Mask::none, 16));
  CHECK(*std::max_element(c.choices.begin(), c.choices.end()) > 128);
  CHECK(c.caught(0, (c.choices[0] + 1) % 300));       // wrong in the second hash
  CHECK(c.caught(299, (c.choices[299] + 18) % 300));  // wrong in the first one
  Problem other = c.problem;
  other.seed += 1;
  CHECK(judge(c.spec, other, c.in, c.choices).has_value());
  other = c.problem;
  other.first_head = 1;
  CHECK(judge(c.spec, other, c.in, c.choices).has_value());
}

TEST_CASE("rows with NaN scores are left to the oracle") {
  for (const char* text : {"topk:k=3", "hierarchical.select:block=4,blocks=2", "lsh:rounds=2,bucket=4"}) {
    const MethodSpec spec = spec_of(text);
    const Problem problem = square(20);
    TestInputs in = gaussian(problem);
    in.k.view().matrix(BatchIndex{0}, KvHeadIndex{0}).row(7)[2] = kNaN;
    in.q.view().matrix(BatchIndex{0}, HeadIndex{0}).row(3)[0] = kNaN;
    CHECK(judge(spec, problem, in, run(spec, problem, in.view()).choices) == std::nullopt);
  }
}

TEST_CASE("ties go to the lower index") {
  const Problem problem = square(70);
  const TestInputs in = zeros(problem);
  const Outcome keys = run(spec_of("topk:k=5"), problem, in.view());
  const Outcome blocks = run(spec_of("hierarchical.select:block=7,blocks=3"), problem, in.view());
  for (std::size_t i = 0; i < 70; ++i) {
    CHECK(Choices(keys.choices.begin() + static_cast<std::ptrdiff_t>(i) * 5,
                  keys.choices.begin() + static_cast<std::ptrdiff_t>(i) * 5 + 5) == Choices{0, 1, 2, 3, 4});
    const auto own = static_cast<std::int32_t>(i / 7);
    const Choices expected{own, own == 0 ? 1 : 0, own <= 1 ? 2 : 1};
    CHECK(Choices(blocks.choices.begin() + static_cast<std::ptrdiff_t>(i) * 3,
                  blocks.choices.begin() + static_cast<std::ptrdiff_t>(i) * 3 + 3) == expected);
  }
}

TEST_CASE("bucket counts are even, near keys / bucket, and factorised above 128") {
  struct Expected {
    std::int64_t keys, bucket, first, second;
  };
  const std::vector<Expected> all = {
      {4096, 64, 64, 1}, {8192, 64, 128, 1}, {16384, 64, 16, 16}, {32768, 64, 24, 22}, {8256, 32, 18, 16},
      {64, 64, 1, 1},    {10, 64, 1, 1},     {65, 64, 2, 1},      {191, 64, 2, 1},     {192, 64, 4, 1},
      {96, 64, 2, 1},    {1, 1, 1, 1},       {2, 1, 2, 1},        {131, 1, 12, 12},
  };
  for (const Expected& e : all) {
    INFO(e.keys << " keys, bucket " << e.bucket);
    const auto buckets = methods::lsh_parts::bucket_counts(e.keys, e.bucket);
    CHECK(buckets.first == e.first);
    CHECK(buckets.second == e.second);
  }
}

TEST_CASE("a chunk longer than the sequence changes nothing") {
  for (const Mask mask : {Mask::none, Mask::causal}) {
    const Problem problem = square(23, mask);
    const TestInputs in = gaussian(problem);
    for (const std::string qk : {"separate", "shared"}) {
      const Outcome whole = run(spec_of("lsh:bucket=23,qk=" + qk), problem, in.view());
      CHECK(same_bits(whole, run(spec_of("lsh:bucket=24,qk=" + qk), problem, in.view())));
      CHECK(same_bits(whole, run(spec_of("lsh:bucket=5000,rounds=9,qk=" + qk), problem, in.view())));
    }
  }
}

TEST_CASE("shared LSH: self is seen only by rows that see nothing else") {
  const Problem problem = square(30, Mask::causal);
  const TestInputs in = gaussian(problem);
  const MethodSpec spec = spec_of("lsh:rounds=2,bucket=6,qk=shared");
  const Outcome outcome = run(spec, problem, in.view());
  for (const RowRef row : rows_of(problem)) {
    const std::vector<std::int32_t> groups = groups_of(spec, problem, outcome, row);
    const auto seen = std::count_if(groups.begin(), groups.end(), [](std::int32_t g) { return g >= 0; });
    CHECK(seen >= 1);
    if (groups[static_cast<std::size_t>(row.query)] >= 0) CHECK(seen == 1);
    if (row.query > 0) continue;
    CHECK(groups[0] == 0);
    const float* v = in.v.view().matrix(BatchIndex{0}, KvHeadIndex{0}).row(0);
    CHECK(std::equal(v, v + problem.shape.value_dim, outcome.row(row)));
  }
}

TEST_CASE("counting sort is stable and leaves out places without a bucket") {
  const Choices bucket = {2, 0, -1, 2, 1, 0, -1, 2};
  Choices sorted(bucket.size(), -9);
  Choices start(5);
  methods::counting_sort(bucket, sorted, start);
  CHECK(start == Choices{0, 2, 3, 6, 6});
  CHECK(Choices(sorted.begin(), sorted.begin() + 6) == Choices{1, 5, 4, 0, 3, 7});
}

}  // namespace
}  // namespace attnscale::test
