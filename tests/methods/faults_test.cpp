// One test for each fault that others are known to have had, named after it. Three kinds live elsewhere: what concerns
// .npy files is in tests/inputs, swapped layouts are refused by the types (tests/core/tensor_test.cpp), and
// floating-point operations, which are pairs times widths, are counted where records are made (tests/study).
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "cases.hpp"
#include "harness.hpp"
#include "kernels/strip.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

RowRef at(std::int64_t query, std::int64_t head = 0) {
  return {BatchIndex{0}, HeadIndex{head}, query};
}

// Runs and demands agreement with the oracle.
Outcome checked_run(const MethodSpec& spec, const Problem& problem, const TestInputs& in) {
  Outcome outcome = run(spec, problem, in.view());
  INFO(describe(spec, problem));
  const Comparison comparison = compare(spec, problem, in.view(), outcome);
  INFO("worst query " << comparison.where.query);
  CHECK(comparison.worst <= 1);
  CHECK(outcome.work.visible_pairs == comparison.visible_pairs);
  return outcome;
}

Outcome checked_run(const std::string& text, const Problem& problem) {
  return checked_run(spec_of(text), problem, gaussian(problem));
}

// Keys that a row of a static method sees.
std::vector<std::int64_t> seen(const std::string& text, const Problem& problem, std::int64_t query) {
  const MethodSpec spec = spec_of(text);
  std::vector<std::int32_t> groups(static_cast<std::size_t>(problem.shape.keys));
  spec.method->visible(problem, spec.params, {})(at(query), groups);
  std::vector<std::int64_t> keys;
  for (std::size_t j = 0; j < groups.size(); ++j) {
    if (groups[j] >= 0) keys.push_back(static_cast<std::int64_t>(j));
  }
  return keys;
}
using Keys = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("fault: fully masked rows that give NaN or the mean of V") {
  const Problem problem = problem_of("queries=100,keys=17,dim=8,value_dim=8,mask=causal");
  for (const MethodSpec& spec : few_specs()) {
    if (spec.unsupported(problem)) continue;
    INFO(spec.str());
    const TestInputs in = gaussian(problem);
    const Outcome outcome = run(spec, problem, in.view());
    for (std::int64_t i = 0; i < 83; ++i) {
      CHECK(outcome.lse_of(at(i)) == -kInfinity);
      CHECK(std::all_of(outcome.row(at(i)), outcome.row(at(i)) + 8, [](float x) { return x == 0; }));
    }
    if (spec.method->name != "lsh") CHECK(std::isfinite(outcome.lse_of(at(83))));  // a hash may find no key
  }
}

TEST_CASE("fault: the first key block fully masked, -inf minus -inf") {
  // Query 199 sees nothing of the first tiles; the fixed sets of the others start far behind key 0, too.
  for (const char* text :
       {"window:w=0", "window:w=3", "window:w=3,dilation=7", "strided:l=1000", "bigbird:block=8,global=0,random=1",
        "longformer:w=2,globals=first:0", "hierarchical.select:block=8,blocks=1"}) {
    checked_run(text, square(200));
    checked_run(text, square(200, Mask::causal));
  }
}

TEST_CASE("fault: merging two empty states") {
  const Problem problem = square(3);
  const TestInputs in = gaussian(problem);
  QueryTensor out(problem.shape.output_extents());
  QueryTensor lse(problem.shape.lse_extents());
  QueryTensor aligned({1, 1, 1, kernels::attend_scratch(8, 8)});
  const std::vector<std::int32_t> rows = {2, 0};
  kernels::Strip strip{in.q.view().matrix(BatchIndex{0}, HeadIndex{0}),
                       out.view().matrix(BatchIndex{0}, HeadIndex{0}),
                       lse.view().matrix(BatchIndex{0}, HeadIndex{0}),
                       rows.data(),
                       2,
                       false};
  const std::span<float> work(aligned.view().data, static_cast<std::size_t>(kernels::attend_scratch(8, 8)));
  for (const bool resume : {false, true, true}) {
    strip.resume = resume;
    CHECK(kernels::attend(strip, {}, 1.0, work) == 0);
    for (const std::int64_t i : {0, 2}) {
      CHECK(lse.view().matrix(BatchIndex{0}, HeadIndex{0}).row(i)[0] == -kInfinity);
      CHECK(out.view().matrix(BatchIndex{0}, HeadIndex{0}).row(i)[7] == 0);
    }
  }
}

TEST_CASE("fault: finite mask sentinels (-1e4, -5e4) that beat valid large logits") {
  // Visible scores lie near -1e5 and the hidden keys carry values that would show.
  Problem problem = square(100, Mask::causal, 4);
  problem.scale = 1;
  TestInputs in = gaussian(problem);
  fill(in.q, [](auto...) { return 160.0f; });
  fill(in.k, [](auto, auto, std::int64_t i, std::int64_t c) {
    return c == 0 ? -160.0f * 4 - static_cast<float>(i % 3) / 64 : 0.0f;
  });
  fill(in.v, [](auto, auto, std::int64_t i, auto) { return static_cast<float>(i); });
  for (const MethodSpec& spec : few_specs()) {
    if (spec.shares_qk()) continue;
    INFO(spec.str());
    const Outcome outcome = checked_run(spec, problem, in);
    // No key beyond the row's own takes part: its output lies within what it may see.
    for (const RowRef row : rows_of(problem)) CHECK(outcome.row(row)[0] <= static_cast<float>(row.query) * 1.001f);
  }
}

TEST_CASE("fault: a clamped exp2 that leaves 2^-126 in masked lanes") {
  // 2^-126 times 3e38 would be about 3.5.
  Problem problem = square(70, Mask::causal, 4);
  TestInputs in = gaussian(problem);
  change(in.v, [](float old, auto, auto, std::int64_t i, auto) { return i >= 40 ? 3e38f : old; });
  for (const char* text : {"exact.streaming", "exact.materialized", "window:w=9", "longformer:w=3,globals=first:2",
                           "bigbird:block=8", "hierarchical:block=8", "hierarchical.select:block=8,blocks=2",
                           "topk:k=5", "strided:l=5", "lsh:bucket=8,rounds=2"}) {
    INFO(text);
    const Outcome outcome = run(spec_of(text), problem, in.view());
    for (std::int64_t i = 0; i < 40; ++i) CHECK(std::abs(outcome.row(at(i))[0]) < 10);
  }
}

TEST_CASE("fault: n not divisible by block, chunk or twice the bucket") {
  for (const std::int64_t n : {97, 100, 127}) {
    for (const char* text :
         {"bigbird:block=8", "hierarchical:block=8", "hierarchical:block=3,levels=3",
          "hierarchical.select:block=8,blocks=3", "lsh:rounds=2,bucket=8", "lsh:rounds=2,bucket=8,qk=shared"}) {
      checked_run(text, square(n));
      checked_run(text, square(n, Mask::causal));
    }
  }
}

TEST_CASE("fault: odd bucket counts") {
  // n / (2 bucket) = 1.5, 2.5 and 3: rounded halves up and doubled, so the count is always even and all of it is used.
  for (const auto& [n, buckets] : {std::pair<std::int64_t, std::int32_t>{48, 4}, {80, 6}, {96, 6}, {16, 2}, {17, 2}}) {
    for (const char* qk : {"separate", "shared"}) {
      const Outcome outcome = checked_run("lsh:rounds=5,bucket=16,qk=" + std::string(qk), square(n));
      const std::set<std::int32_t> codes(outcome.choices.begin(), outcome.choices.end());
      INFO(n << " keys, " << qk);
      CHECK(*codes.rbegin() <= (n == 16 ? 0 : buckets - 1));
      if (n >= 48) CHECK(codes.size() == static_cast<std::size_t>(buckets));
    }
  }
}

TEST_CASE("fault: n below the chunk changes outputs") {
  // One chunk holds all keys: exact attention without self.
  for (const std::int64_t n : {1, 2, 10, 63}) {
    const Problem problem = square(n);
    const TestInputs in = gaussian(problem);
    const Outcome outcome = checked_run(spec_of("lsh:qk=shared"), problem, in);
    const Reference oracle(problem, in.view(), true);
    for (std::int64_t i = 0; i < n; ++i) {
      std::vector<std::int32_t> groups(static_cast<std::size_t>(n));
      for (std::int32_t j = 0; j < n; ++j) groups[static_cast<std::size_t>(j)] = j == i && n > 1 ? -1 : j;
      CHECK(ratio_of(oracle.row(at(i), groups), outcome, at(i)) <= 1);
    }
  }
}

TEST_CASE("fault: k above the allowed keys") {
  const Outcome outcome = checked_run("topk:k=64", square(7, Mask::causal));
  CHECK(outcome.work.visible_pairs == 28);
  checked_run("topk:k=64", problem_of("queries=9,keys=4,dim=8,value_dim=8,mask=causal"));
}

TEST_CASE("fault: ties that keep more than k") {
  for (const std::int64_t n : {5, 64, 100}) {
    const Problem problem = square(n);
    TestInputs in = gaussian(problem);
    fill(in.q, [](auto...) { return 0.0f; });  // every score is 0
    const MethodSpec spec = spec_of("topk:k=3");
    const Outcome outcome = checked_run(spec, problem, in);
    for (const RowRef row : rows_of(problem)) {
      const std::vector<std::int32_t> groups = groups_of(spec, problem, outcome, row);
      CHECK(std::count_if(groups.begin(), groups.end(), [](std::int32_t g) { return g >= 0; }) == 3);
      CHECK((groups[0] == 0 && groups[1] == 1 && groups[2] == 2));  // the lower index wins
    }
    const MethodSpec blocks = spec_of("hierarchical.select:block=2,blocks=2");
    const Outcome selected = checked_run(blocks, problem, in);
    const std::vector<std::int32_t> last = groups_of(blocks, problem, selected, at(n - 1));
    CHECK((last[0] == 0 && last[1] == 1 && last[2] == -1));
  }
}

TEST_CASE("fault: causal with more queries than keys, and causal aligned top left") {
  for (const char* shape :
       {"queries=40,keys=9,dim=8,value_dim=8,mask=causal", "queries=9,keys=40,dim=8,value_dim=8,mask=causal"}) {
    for (const MethodSpec& spec : few_specs()) {
      if (!spec.unsupported(problem_of(shape))) checked_run(spec, problem_of(shape), gaussian(problem_of(shape)));
    }
  }
  // The last query sees all keys, the first one those before it: 32 of 40, not one.
  const Problem decode = problem_of("queries=9,keys=40,mask=causal");
  CHECK(seen("exact.streaming", decode, 8).size() == 40);
  CHECK(seen("exact.streaming", decode, 0).size() == 32);
  CHECK(seen("window:w=2", decode, 0) == Keys{29, 30, 31});
}

TEST_CASE("fault: causal pairs not halved, sparse pairs counted as dense") {
  const auto visible = [](const std::string& text, const Problem& problem) {
    const MethodSpec spec = spec_of(text);
    return spec.method->plan(problem, spec.params).cost.visible_pairs;
  };
  CHECK(visible("exact.streaming", square(100, Mask::causal)) == 5050);
  CHECK(visible("window:w=1", square(100)) == 298);
  CHECK(visible("window:w=1", square(100, Mask::causal)) == 199);
  CHECK(visible("longformer:w=1,globals=first:0", square(100, Mask::causal)) == 199);
  CHECK(visible("hierarchical:block=10", square(100)) == 1900);
}

TEST_CASE("fault: bigbird blocks drawn from the first 1024 tokens only, or unseeded") {
  // At 4096 keys and no globals, a block beyond key 1024 that is no neighbour must turn up.
  const Problem problem = square(4096, Mask::none, 1);
  const std::string text = "bigbird:block=64,window=1,global=0,random=3";
  std::set<std::int64_t> drawn;
  for (std::int64_t i = 0; i < 4096; i += 64) {
    for (const std::int64_t j : seen(text, problem, i)) {
      if (j / 64 != i / 64) drawn.insert(j / 64);
    }
  }
  CHECK(*drawn.rbegin() >= 48);
  CHECK(drawn.size() > 48);
  CHECK(seen(text, problem, 100) == seen(text, problem, 100));
  Problem other = problem;
  other.seed = 1;
  std::size_t same = 0;
  for (std::int64_t i = 0; i < 4096; i += 64) same += seen(text, problem, i) == seen(text, other, i) ? 1 : 0;
  CHECK(same < 8);
}

TEST_CASE("fault: bigbird's random blocks overlap the window or a global block and count twice") {
  const Problem problem = square(64 * 8);
  const MethodSpec spec = spec_of("bigbird:block=8,random=50");  // only 59 to 61 others exist
  const Outcome outcome = checked_run(spec, problem, gaussian(problem));
  for (std::int64_t i = 16; i < 64 * 8 - 16; i += 8) CHECK(seen(spec.str(), problem, i).size() == 55 * 8);
  CHECK(outcome.work.visible_pairs == outcome.cost.visible_pairs);
}

TEST_CASE("fault: block means that leak the future") {
  // Keys and values of the own block's later half are huge; their mean must not reach the earlier half.
  Problem problem = square(64, Mask::causal, 4);
  for (const char* text :
       {"hierarchical:block=8", "hierarchical:block=2,levels=4", "hierarchical.select:block=8,blocks=3"}) {
    for (const std::int64_t p : {0, 3, 8, 27, 62}) {
      INFO(text << ", query " << p);
      const Outcome plain = run(spec_of(text), problem, gaussian(problem).view());
      TestInputs in = gaussian(problem);
      const Change future = [p](float old, auto, auto, std::int64_t i, auto) { return i > p ? 1e4f : old; };
      change(in.k, future);
      change(in.v, future);
      const Outcome changed = run(spec_of(text), problem, in.view());
      CHECK(same_bits(plain, at(p), changed, at(p)));
    }
  }
}

TEST_CASE("fault: longformer's global columns counted twice where the window covers them") {
  const Problem problem = square(100);
  TestInputs in = gaussian(problem);
  fill(in.q, [](auto...) { return 0.0f; });  // equal weights: the LSE is the log of the number of keys
  const Outcome outcome = checked_run(spec_of("longformer:w=8,globals=first:5"), problem, in);
  for (std::int64_t i = 5; i < 100; ++i) {
    const std::int64_t keys = std::min<std::int64_t>(i + 8, 99) - std::max<std::int64_t>(i - 8, 0) + 1 +
                              std::clamp<std::int64_t>(i - 8, 0, 5);
    CHECK(outcome.lse_of(at(i)) == Approx(std::log(static_cast<double>(keys))));
  }
}

TEST_CASE("fault: window edges with AND for OR, off by one, or one-sided") {
  const Problem problem = square(10);
  CHECK(seen("window:w=2", problem, 5) == Keys{3, 4, 5, 6, 7});
  CHECK(seen("window:w=2", problem, 0) == Keys{0, 1, 2});
  CHECK(seen("window:w=2", problem, 9) == Keys{7, 8, 9});
  CHECK(seen("window:w=2,dilation=2", problem, 5) == Keys{1, 3, 5, 7, 9});
  CHECK(seen("window:w=2", square(10, Mask::causal), 5) == Keys{3, 4, 5});
  CHECK(seen("strided:l=3", square(10, Mask::causal), 9) == Keys{0, 3, 6, 7, 8, 9});
  CHECK(seen("strided:l=3", problem, 4) == Keys{1, 2, 3, 4, 5, 6, 7});
  CHECK(seen("window2d:r=1,height=3,width=4", square(12), 5) == Keys{0, 1, 2, 4, 5, 6, 8, 9, 10});
  CHECK(seen("window2d:r=1,height=3,width=4", square(12), 3) == Keys{2, 3, 6, 7});
}

TEST_CASE("fault: a window size that means one-sided here and two-sided there") {
  for (const char* text : {"window:w=7", "longformer:w=7"}) {
    const MethodSpec spec = spec_of(text);
    CHECK(spec.method->plan(square(100), spec.params).cost.window_keys == 15);
  }
}

TEST_CASE("fault: corner windows not moved inward") {
  const Problem problem = square(10);
  CHECK(seen("window:w=2,edge=shift", problem, 0) == Keys{0, 1, 2, 3, 4});
  CHECK(seen("window:w=2,edge=shift", problem, 1) == Keys{0, 1, 2, 3, 4});
  CHECK(seen("window:w=2,edge=shift", problem, 9) == Keys{5, 6, 7, 8, 9});
  CHECK(seen("window:w=1,dilation=3,edge=shift", problem, 1) == Keys{1, 4, 7});
  CHECK(seen("window:w=1,dilation=3,edge=shift", problem, 9) == Keys{3, 6, 9});
  CHECK(seen("window:w=2,dilation=4,edge=shift", problem, 3) == Keys{3, 7});  // the whole class
}

TEST_CASE("fault: grouped heads by tiling where interleaving is meant") {
  Problem problem = square(33);
  problem.shape.heads = 6;
  problem.shape.kv_heads = 3;
  for (const MethodSpec& spec : few_specs()) {
    INFO(spec.str());
    TestInputs in = gaussian(problem);
    fill(in.v, [](auto, std::int64_t h, auto, auto) { return static_cast<float>(h + 1); });
    const Outcome outcome = run(spec, problem, in.view());
    for (std::int64_t h = 0; h < 6; ++h) CHECK(outcome.row(at(20, h))[0] == Approx(1 + h / 2).epsilon(1e-4));
  }
}

TEST_CASE("fault: widths that are no multiple of 8") {
  for (const char* shape : {"queries=20,keys=20,dim=1,value_dim=9", "queries=20,keys=20,dim=7,value_dim=1",
                            "queries=20,keys=20,dim=17,value_dim=15", "queries=20,keys=20,dim=65,value_dim=63",
                            "queries=20,keys=20,dim=129,value_dim=127"}) {
    for (const MethodSpec& spec : few_specs()) checked_run(spec, problem_of(shape), gaussian(problem_of(shape)));
  }
}

TEST_CASE("fault: a summary not weighted by its count") {
  // With equal scores every key weighs the same, so every row is the mean of V, ragged blocks or not.
  for (const char* text : {"hierarchical:block=8", "hierarchical:block=7", "hierarchical:block=2,levels=4"}) {
    INFO(text);
    const Problem problem = square(100);
    TestInputs in = gaussian(problem);
    fill(in.q, [](auto...) { return 0.0f; });
    fill(in.v, [](auto, auto, std::int64_t i, auto) { return static_cast<float>(i); });
    const Outcome outcome = checked_run(spec_of(text), problem, in);
    for (std::int64_t i = 0; i < 100; ++i) {
      CHECK(outcome.row(at(i))[0] == Approx(49.5).epsilon(1e-4));
      CHECK(outcome.lse_of(at(i)) == Approx(std::log(100.0)).epsilon(1e-5));
    }
  }
}

TEST_CASE("fault: levels of a hierarchy that subtract different maxima without rescaling") {
  // Own blocks lie far above or far below the summaries, by tens of logits either way.
  Problem problem = square(96, Mask::none, 4);
  problem.scale = 1;
  for (const char* text : {"hierarchical:block=8", "hierarchical:block=4,levels=3", "hierarchical:block=2,levels=4"}) {
    for (const Mask mask : {Mask::none, Mask::causal}) {
      problem.mask = mask;
      TestInputs in = gaussian(problem);
      fill(in.k, [](auto, auto, std::int64_t i, std::int64_t c) {
        return c == 0 ? static_cast<float>(i / 8 * 7 % 12) * 5 - 30 : 0.25f;
      });
      fill(in.q, [](auto, auto, std::int64_t i, auto) { return i % 2 == 0 ? 1.0f : -1.0f; });
      checked_run(spec_of(text), problem, in);
    }
  }
}
