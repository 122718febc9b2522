// visible() of every method against a second reading of its definition, and the structure of the random parts.
#include "definitions.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "cases.hpp"
#include "harness.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

// Key sets of a static method do not need a run.
std::vector<std::int32_t> static_groups(const MethodSpec& spec, const Problem& problem, RowRef row) {
  std::vector<std::int32_t> groups(static_cast<std::size_t>(problem.shape.keys), -7);
  spec.method->visible(problem, spec.params, {})(row, groups);
  return groups;
}

// Blocks of which query i sees any key, and whether it sees each of them whole.
struct SeenBlocks {
  std::set<std::int64_t> blocks;
  bool whole = true;
};
SeenBlocks seen_blocks(const std::vector<std::int32_t>& groups, std::int64_t block) {
  SeenBlocks seen;
  for (std::size_t j = 0; j < groups.size(); ++j) {
    if (groups[j] >= 0) seen.blocks.insert(static_cast<std::int64_t>(j) / block);
  }
  for (std::size_t j = 0; j < groups.size(); ++j) {
    if (groups[j] < 0 && seen.blocks.count(static_cast<std::int64_t>(j) / block) > 0) seen.whole = false;
  }
  return seen;
}

struct BigBird {
  std::int64_t block, window, global, random;
};

// The random blocks of query i, after checking everything else of the definition.
std::set<std::int64_t> random_blocks(const BigBird& b, const Problem& problem, RowRef row) {
  const MethodSpec spec = spec_of("bigbird:block=" + std::to_string(b.block) + ",window=" + std::to_string(b.window) +
                                  ",global=" + std::to_string(b.global) + ",random=" + std::to_string(b.random));
  const std::int64_t blocks = (problem.shape.keys + b.block - 1) / b.block;
  const std::int64_t own = problem.position(row.query) / b.block;
  const SeenBlocks seen = seen_blocks(static_groups(spec, problem, row), b.block);
  std::set<std::int64_t> fixed;
  for (std::int64_t i = 0; i < (b.global + 1) / 2; ++i) fixed.insert(std::min(i, blocks - 1));
  for (std::int64_t i = 0; i < b.global / 2; ++i) fixed.insert(std::max<std::int64_t>(blocks - 1 - i, 0));
  const bool global_row = fixed.count(own) > 0;
  for (std::int64_t i = own - (b.window - 1) / 2; i <= own + (b.window - 1) / 2; ++i) {
    if (i >= 0 && i < blocks) fixed.insert(i);
  }
  INFO("query " << row.query << " of " << problem.str());
  CHECK(seen.whole);
  CHECK(std::includes(seen.blocks.begin(), seen.blocks.end(), fixed.begin(), fixed.end()));
  std::set<std::int64_t> rest;
  std::set_difference(seen.blocks.begin(), seen.blocks.end(), fixed.begin(), fixed.end(),
                      std::inserter(rest, rest.end()));
  const std::int64_t others = blocks - static_cast<std::int64_t>(fixed.size());
  CHECK(static_cast<std::int64_t>(rest.size()) == (global_row ? others : std::min(b.random, others)));
  return global_row ? std::set<std::int64_t>{} : rest;
}

}  // namespace

TEST_CASE("visible() is the definition, key by key") {
  for (const MethodSpec& spec : all_specs()) {
    for (Problem problem : odd_problems()) {
      if (spec.unsupported(problem)) continue;
      problem.shape.batch = 1;
      problem.shape.heads = problem.shape.kv_heads = 1;
      for (std::int64_t i = 0; i < problem.shape.queries; ++i) {
        const auto defined = defined_groups(spec, problem, i);
        if (!defined) break;
        INFO(describe(spec, problem) << ", query " << i);
        REQUIRE(same_partition(static_groups(spec, problem, {BatchIndex{0}, HeadIndex{0}, i}), *defined));
      }
    }
  }
}

TEST_CASE("key sets never leave the mask") {
  for (const MethodSpec& spec : few_specs()) {
    for (const Problem& problem : few_problems()) {
      if (spec.unsupported(problem)) continue;
      INFO(describe(spec, problem));
      const TestInputs in = gaussian(problem);
      const Outcome outcome = run(spec, problem, in.view());
      for (const RowRef row : rows_of(problem)) {
        const std::vector<std::int32_t> groups = groups_of(spec, problem, outcome, row);
        const auto first_hidden = groups.begin() + problem.allowed(row.query);
        REQUIRE(std::all_of(first_hidden, groups.end(), [](std::int32_t g) { return g == -1; }));
        if (spec.method->contract == Contract::merged) continue;
        for (std::size_t j = 0; j < groups.size(); ++j)
          REQUIRE((groups[j] == -1 || groups[j] == static_cast<std::int32_t>(j)));
      }
    }
  }
}

TEST_CASE("bigbird sees its globals, its window and so many other blocks, each once") {
  for (const BigBird& b : {BigBird{8, 3, 2, 3}, BigBird{4, 1, 1, 2}, BigBird{7, 5, 3, 1}, BigBird{16, 3, 0, 0},
                           BigBird{5, 1, 9, 90}, BigBird{64, 3, 2, 3}, BigBird{1, 3, 2, 4}}) {
    for (const std::int64_t n : {1, 7, 64, 100, 129, 257}) {
      for (std::int64_t i = 0; i < n; ++i) random_blocks(b, square(n), {BatchIndex{0}, HeadIndex{0}, i});
    }
  }
}

TEST_CASE("bigbird draws one set per block of queries, keyed by seed, key head and block alone") {
  Problem problem = square(16 * 60);
  problem.shape.batch = 2;
  problem.shape.heads = 4;
  problem.shape.kv_heads = 2;
  const BigBird b{16, 3, 2, 3};
  const auto drawn = [&](const Problem& p, std::int64_t batch, std::int64_t head) {
    std::vector<std::set<std::int64_t>> sets;
    for (std::int64_t i = 0; i < p.shape.queries; i += 16)
      sets.push_back(random_blocks(b, p, {BatchIndex{batch}, HeadIndex{head}, i}));
    return sets;
  };
  const auto first = drawn(problem, 0, 0);
  CHECK(first == drawn(problem, 1, 0));
  CHECK(first == drawn(problem, 0, 1));  // the same key head
  CHECK(first != drawn(problem, 0, 2));
  for (std::int64_t i = 32; i < 48; ++i) CHECK(random_blocks(b, problem, {BatchIndex{0}, HeadIndex{0}, i}) == first[2]);
  // Neighbouring blocks draw differently, another seed draws differently, one head alone draws as it did among others.
  CHECK(std::set<std::set<std::int64_t>>(first.begin(), first.end()).size() > 50);
  Problem other = problem;
  other.seed = 1;
  CHECK(first != drawn(other, 0, 0));
  Problem cut = problem;
  cut.shape.heads = 2;
  cut.shape.kv_heads = 1;
  cut.first_head = 2;
  CHECK(drawn(cut, 0, 0) == drawn(problem, 0, 2));
}

TEST_CASE("bigbird draws from every block with equal chance, however long the sequence") {
  // 256 blocks of 16, each drawing 3 of about 251: 756 draws. Quarters of the sequence get 189 each, with a standard
  // deviation of 12; five of those are the bounds.
  const Problem problem = square(4096);
  std::map<std::int64_t, int> by_quarter;
  for (std::int64_t i = 16; i < 4096 - 16; i += 16) {
    for (const std::int64_t block : random_blocks({16, 3, 2, 3}, problem, {BatchIndex{0}, HeadIndex{0}, i}))
      ++by_quarter[block / 64];
  }
  REQUIRE(by_quarter.size() == 4);
  for (const auto& [quarter, count] : by_quarter) {
    INFO("quarter " << quarter << ": " << count);
    CHECK(std::abs(count - 190) < 60);
  }
}
