#include "study/verify/rows.hpp"

#include <algorithm>

#include "support.hpp"

namespace attnscale::test {
namespace {

Problem problem_of(std::int64_t queries, std::int64_t keys) {
  Problem problem;
  problem.shape.queries = queries;
  problem.shape.keys = keys;
  return problem;
}

std::vector<std::int64_t> queries_of(const std::vector<SampledRow>& rows, std::int64_t head) {
  std::vector<std::int64_t> queries;
  for (const SampledRow& row : rows) {
    if (row.ref.head.value == head) queries.push_back(row.ref.query);
  }
  return queries;
}

bool has(const std::vector<std::int64_t>& list, std::int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

TEST_CASE("up to 2048 queries every row is checked and averaged") {
  Problem problem = problem_of(2048, 2048);
  problem.shape.batch = 2;
  problem.shape.heads = problem.shape.kv_heads = 3;
  const std::vector<SampledRow> rows = sample_rows(problem, parse_method("window").front());
  CHECK(rows.size() == 2U * 3U * 2048U);
  CHECK(std::all_of(rows.begin(), rows.end(), [](const SampledRow& row) { return row.averaged; }));
}

TEST_CASE("beyond it 256 rows per head are drawn, and at most 32 forced") {
  Problem problem = problem_of(5000, 5000);
  problem.shape.heads = problem.shape.kv_heads = 2;
  for (const char* spec : {"exact.streaming", "window:w=256", "longformer:w=64,globals=first:5", "bigbird",
                           "hierarchical:levels=3", "lsh"}) {
    INFO(spec);
    const MethodSpec method = parse_method(spec).front();
    const std::vector<SampledRow> rows = sample_rows(problem, method);
    CHECK(std::count_if(rows.begin(), rows.end(), [](const SampledRow& row) { return row.averaged; }) == 2 * 256);
    CHECK(forced_queries(problem, method).size() <= kForcedRows);
    for (const std::int64_t head : {0, 1}) {
      const std::vector<std::int64_t> queries = queries_of(rows, head);
      CHECK(std::is_sorted(queries.begin(), queries.end()));
      CHECK(std::adjacent_find(queries.begin(), queries.end()) == queries.end());
      CHECK(queries.back() == 4999);
      CHECK(has(queries, 0));
      for (const std::int64_t forced : forced_queries(problem, method)) CHECK(has(queries, forced));
    }
    CHECK(queries_of(rows, 0) != queries_of(rows, 1));
  }
}

TEST_CASE("drawn rows depend on the seed, not on the method") {
  const auto drawn = [](std::uint64_t seed, const char* spec) {
    Problem problem = problem_of(4096, 4096);
    problem.seed = seed;
    std::vector<std::int64_t> queries;
    for (const SampledRow& row : sample_rows(problem, parse_method(spec).front())) {
      if (row.averaged) queries.push_back(row.ref.query);
    }
    return queries;
  };
  CHECK(drawn(1, "window") == drawn(1, "topk"));
  CHECK(drawn(1, "window") != drawn(2, "window"));
}

TEST_CASE("edges of globals, windows and blocks are forced, around the query's position") {
  const Problem problem = problem_of(4096, 4096);
  const auto forced = [&](const char* spec) { return forced_queries(problem, parse_method(spec).front()); };
  CHECK(has(forced("longformer:w=100,globals=first:7"), 6));
  CHECK(has(forced("longformer:w=100,globals=first:7"), 7));
  CHECK(has(forced("longformer:w=100,globals=first:7"), 100));
  CHECK(has(forced("longformer:w=100,globals=first:7"), 101));
  CHECK(has(forced("bigbird:block=48"), 47));
  CHECK(has(forced("bigbird:block=48"), 48));
  CHECK(has(forced("hierarchical"), 64));  // ceil(sqrt(4096))
  CHECK(has(forced("lsh:bucket=50"), 50));
  const Problem shifted = problem_of(3000, 4000);  // query i stands at position i + 1000
  CHECK(has(forced_queries(shifted, parse_method("bigbird:block=1100").front()), 100));
}

}  // namespace attnscale::test
