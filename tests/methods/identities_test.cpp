// Identities that hold for every method whatever the numbers are: properties of attention, run over the catalogue.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cases.hpp"
#include "harness.hpp"
#include "kernels/strip.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

// Calls `check(spec, problem)` for each method and a few problems that it supports.
template <class Check>
void for_each_supported(const std::vector<Problem>& problems, Check&& check) {
  for (const MethodSpec& spec : few_specs()) {
    for (const Problem& problem : problems) {
      if (spec.unsupported(problem)) continue;
      INFO(describe(spec, problem));
      check(spec, problem);
    }
  }
}

ReferenceRow reference_row(const MethodSpec& spec, const Problem& problem, const Qkv& in, const Outcome& outcome,
                           RowRef row) {
  return Reference(problem, in, spec.shares_qk()).row(row, groups_of(spec, problem, outcome, row));
}

double distance(const float* a, const std::vector<double>& b) {
  double square = 0;
  for (std::size_t c = 0; c < b.size(); ++c) square += std::pow(a[c] - b[c], 2);
  return std::sqrt(square);
}

std::vector<double> as_double(const float* row, std::int64_t width) {
  return {row, row + width};
}

// Value heads differ in the tests of V; two heads and two batch items show a mix-up.
std::vector<Problem> small_problems() {
  return {problem_of("queries=65,keys=65,dim=8,value_dim=3,heads=2,kv_heads=2,batch=2"),
          problem_of("queries=100,keys=100,dim=16,value_dim=5,mask=causal"),
          problem_of("queries=70,keys=33,dim=8,value_dim=4,mask=causal,heads=2,kv_heads=1")};
}

}  // namespace

TEST_CASE("values of 1 give 1, and 0 in empty rows") {
  for_each_supported(small_problems(), [](const MethodSpec& spec, Problem problem) {
    problem.shape.value_dim = 1;
    TestInputs in = gaussian(problem);
    fill(in.v, [](auto...) { return 1.0f; });
    const Outcome outcome = run(spec, problem, in.view());
    for (const RowRef row : rows_of(problem)) {
      const ReferenceRow reference = reference_row(spec, problem, in.view(), outcome, row);
      REQUIRE(std::abs(outcome.row(row)[0] - (reference.pseudo_keys > 0 ? 1.0 : 0.0)) <= reference.out_tolerance);
    }
  });
}

TEST_CASE("outputs lie in the convex hull of the visible values") {
  for_each_supported(small_problems(), [](const MethodSpec& spec, const Problem& problem) {
    const TestInputs in = gaussian(problem);
    const Outcome outcome = run(spec, problem, in.view());
    for (const RowRef row : rows_of(problem)) {
      const std::vector<std::int32_t> groups = groups_of(spec, problem, outcome, row);
      const double tolerance = reference_row(spec, problem, in.view(), outcome, row).out_tolerance;
      const MatrixView<const float> v = in.v.view().matrix(row.batch, problem.shape.kv_head(row.head));
      for (std::int64_t c = 0; c < problem.shape.value_dim; ++c) {
        float low = INFINITY;
        float high = -INFINITY;
        for (std::size_t j = 0; j < groups.size(); ++j) {
          if (groups[j] < 0) continue;
          low = std::min(low, v.row(static_cast<std::int64_t>(j))[c]);
          high = std::max(high, v.row(static_cast<std::int64_t>(j))[c]);
        }
        if (low > high) continue;  // an empty row
        REQUIRE(outcome.row(row)[c] >= low - tolerance);
        REQUIRE(outcome.row(row)[c] <= high + tolerance);
      }
    }
  });
}

TEST_CASE("V -> V M + c turns the output O into O M + c") {
  // Small multiples of 1/8 and whole numbers, so that V M + c is exact in fp32.
  for_each_supported(small_problems(), [](const MethodSpec& spec, const Problem& problem) {
    const std::int64_t width = problem.shape.value_dim;
    const auto m = [](std::int64_t a, std::int64_t b) { return static_cast<float>((3 * a + 5 * b + 1) % 4 - 1); };
    const auto shift = [](std::int64_t b) { return static_cast<float>(b) - 1.5f; };
    const TestInputs in = eighths(problem);
    TestInputs mapped = eighths(problem);
    fill(mapped.v, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t to) {
      const float* row = in.v.view().matrix(BatchIndex{b}, KvHeadIndex{h}).row(i);
      float sum = shift(to);
      for (std::int64_t from = 0; from < width; ++from) sum += row[from] * m(from, to);
      return sum;
    });
    double norm_m = 0;
    for (std::int64_t a = 0; a < width; ++a) {
      for (std::int64_t b = 0; b < width; ++b) norm_m += std::pow(m(a, b), 2);
    }
    const Outcome plain = run(spec, problem, in.view());
    const Outcome changed = run(spec, problem, mapped.view());
    REQUIRE(plain.choices == changed.choices);
    for (const RowRef row : rows_of(problem)) {
      const ReferenceRow a = reference_row(spec, problem, in.view(), plain, row);
      const ReferenceRow b = reference_row(spec, problem, mapped.view(), changed, row);
      std::vector<double> expected(static_cast<std::size_t>(width), 0.0);
      for (std::int64_t to = 0; to < width && a.pseudo_keys > 0; ++to) {
        expected[static_cast<std::size_t>(to)] = shift(to);
        for (std::int64_t from = 0; from < width; ++from) {
          expected[static_cast<std::size_t>(to)] += static_cast<double>(plain.row(row)[from]) * m(from, to);
        }
      }
      REQUIRE(distance(changed.row(row), expected) <= b.out_tolerance + std::sqrt(norm_m) * a.out_tolerance);
      REQUIRE((changed.lse_of(row) == plain.lse_of(row)));
    }
  });
}

TEST_CASE("the same row added to all keys changes no output") {
  // Not for hashes, which see where the keys lie, nor for keys that are the queries.
  for_each_supported(small_problems(), [](const MethodSpec& spec, const Problem& problem) {
    if (spec.method->name == "lsh" || spec.shares_qk()) return;
    const TestInputs in = eighths(problem);
    TestInputs moved = eighths(problem);
    change(moved.k, [](float old, auto, auto, auto, std::int64_t c) { return old + static_cast<float>(c % 5) - 2.0f; });
    const Outcome plain = run(spec, problem, in.view());
    const Outcome changed = run(spec, problem, moved.view());
    std::size_t chosen_otherwise = 0;
    const std::vector<RowRef> rows = rows_of(problem);
    for (const RowRef row : rows) {
      if (groups_of(spec, problem, plain, row) != groups_of(spec, problem, changed, row)) {
        ++chosen_otherwise;  // equal scores on a coarse grid, told apart by rounding
        continue;
      }
      const double tolerance = reference_row(spec, problem, in.view(), plain, row).out_tolerance +
                               reference_row(spec, problem, moved.view(), changed, row).out_tolerance;
      REQUIRE(distance(changed.row(row), as_double(plain.row(row), problem.shape.value_dim)) <= tolerance);
    }
    CHECK(chosen_otherwise <= rows.size() / 10);
    if (!spec.method->judge) CHECK(chosen_otherwise == 0);
  });
}

TEST_CASE("(4 Q, K / 4) gives the same bits") {
  for_each_supported(few_problems(), [](const MethodSpec& spec, const Problem& problem) {
    if (spec.shares_qk()) return;  // reads no K
    TestInputs in = gaussian(problem);
    const Outcome plain = run(spec, problem, in.view());
    change(in.q, [](float old, auto...) { return 4 * old; });
    change(in.k, [](float old, auto...) { return old / 4; });
    const Outcome scaled = run(spec, problem, in.view());
    CHECK(plain.choices == scaled.choices);
    CHECK(same_bits(plain, scaled));
  });
}

TEST_CASE("methods that share queries and keys do not read K") {
  for_each_supported({square(65), square(65, Mask::causal)}, [](const MethodSpec& spec, const Problem& problem) {
    if (!spec.shares_qk()) return;
    TestInputs in = gaussian(problem);
    const Outcome plain = run(spec, problem, in.view());
    fill(in.k, [](auto...) { return kNaN; });
    CHECK(same_bits(plain, run(spec, problem, in.view())));
  });
}

TEST_CASE("causal: the future changes nothing, not even when it is NaN") {
  const std::vector<Problem> problems = {
      square(100, Mask::causal), square(65, Mask::causal, 33),
      problem_of("queries=40,keys=70,dim=8,value_dim=8,mask=causal,heads=2,kv_heads=1")};
  for_each_supported(problems, [](const MethodSpec& spec, const Problem& problem) {
    if (spec.shares_qk() && spec.method->name == "lsh") return;  // sorts past and future together
    TestInputs in = gaussian(problem);
    const Outcome plain = run(spec, problem, in.view());
    for (const float future : {kNaN, 3e4f}) {
      const std::int64_t from = problem.shape.keys - problem.shape.queries / 2;
      in = gaussian(problem);
      const Change spoil = [&](float old, auto, auto, std::int64_t i, auto) { return i >= from ? future : old; };
      change(in.k, spoil);
      change(in.v, spoil);
      change(in.q,
             [&](float old, auto, auto, std::int64_t i, auto) { return problem.position(i) >= from ? future : old; });
      const Outcome changed = run(spec, problem, in.view());
      for (const RowRef row : rows_of(problem)) {
        if (problem.position(row.query) >= from) continue;
        INFO("query " << row.query << ", future " << future);
        REQUIRE(groups_of(spec, problem, plain, row) == groups_of(spec, problem, changed, row));
        // The order of summation may differ (hashes sort), the sums may not.
        const ReferenceRow reference = reference_row(spec, problem, in.view(), changed, row);
        REQUIRE(distance(changed.row(row), as_double(plain.row(row), problem.shape.value_dim)) <=
                2 * reference.out_tolerance);
        if (reference.pseudo_keys == 0) continue;  // -inf both
        REQUIRE(std::abs(changed.lse_of(row) - plain.lse_of(row)) <= 2 * reference.lse_tolerance);
      }
    }
  });
}

TEST_CASE("special parameters make a method exact") {
  for (const Problem& problem : {square(65), square(100, Mask::causal), square(129, Mask::none, 16), square(1)}) {
    const std::string n = std::to_string(problem.shape.keys);
    for (const std::string& text :
         {std::string("exact.materialized"), std::string("exact.streaming"),
          "window:w=" + std::to_string(std::max<std::int64_t>(problem.shape.keys - 1, 0)), "window:w=" + n,
          "topk:k=" + n, std::string("topk:k=1000"), "bigbird:block=" + n, std::string("bigbird:block=8,random=100"),
          std::string("bigbird:block=8,global=200"), std::string("lsh:bucket=1000"), "lsh:rounds=1,bucket=" + n,
          "hierarchical:block=" + n, std::string("hierarchical:block=1000"),
          std::string("hierarchical:block=1,levels=2"), std::string("hierarchical.select:block=8,blocks=1000"),
          "longformer:w=0,globals=first:" + n}) {
      const MethodSpec spec = spec_of(text);
      INFO(describe(spec, problem));
      const TestInputs in = gaussian(problem);
      const Outcome outcome = run(spec, problem, in.view());
      const Reference oracle(problem, in.view(), false);
      for (const RowRef row : rows_of(problem)) REQUIRE(ratio_of(oracle.exact_row(row), outcome, row) <= 1);
      if (spec.method->contract != Contract::exact) CHECK(outcome.cost.exact_fallback);
    }
  }
}

TEST_CASE("exact_fallback is said exactly when every allowed key is seen") {
  for (const MethodSpec& spec : all_specs()) {
    if (spec.method->contract != Contract::pruned || spec.method->judge != nullptr) continue;
    for (const Problem& problem : odd_problems()) {
      if (spec.unsupported(problem)) continue;
      INFO(describe(spec, problem));
      const Cost cost = spec.method->plan(problem, spec.params).cost;
      REQUIRE(cost.visible_pairs.has_value());
      const bool everything =
          *cost.visible_pairs == problem.allowed_pairs() * problem.shape.heads * problem.shape.batch;
      CHECK(cost.exact_fallback == everything);
    }
  }
}

TEST_CASE("hierarchical is full attention with block-mean scores outside the own block") {
  const Problem problem = square(100, Mask::none, 16);
  const TestInputs in = gaussian(problem);
  for (const std::int64_t block : {1, 7, 10, 64}) {
    const MethodSpec spec = spec_of("hierarchical:levels=2,block=" + std::to_string(block));
    const Outcome outcome = run(spec, problem, in.view());
    const MatrixView<const float> q = in.q.view().matrix(BatchIndex{0}, HeadIndex{0});
    const MatrixView<const float> k = in.k.view().matrix(BatchIndex{0}, KvHeadIndex{0});
    const MatrixView<const float> v = in.v.view().matrix(BatchIndex{0}, KvHeadIndex{0});
    for (const RowRef row : rows_of(problem)) {
      std::vector<double> out(16, 0.0);
      double total = 0;
      for (std::int64_t j = 0; j < 100; ++j) {
        const std::int64_t b = j / block;
        const bool own = b == row.query / block;
        const std::int64_t first = own ? j : b * block;
        const std::int64_t last = own ? j + 1 : std::min<std::int64_t>((b + 1) * block, 100);
        double score = 0;
        for (std::int64_t t = first; t < last; ++t) {
          for (std::int64_t c = 0; c < 16; ++c) {
            score += static_cast<double>(q.row(row.query)[c]) * k.row(t)[c] / static_cast<double>(last - first);
          }
        }
        const double weight = std::exp(score / 4);
        total += weight;
        for (std::int64_t c = 0; c < 16; ++c) out[static_cast<std::size_t>(c)] += weight * v.row(j)[c];
      }
      for (double& x : out) x /= total;
      const ReferenceRow reference = reference_row(spec, problem, in.view(), outcome, row);
      INFO("block " << block << ", query " << row.query);
      REQUIRE(distance(outcome.row(row), out) <= reference.out_tolerance);
      REQUIRE(std::abs(outcome.lse_of(row) - std::log(total)) <= reference.lse_tolerance);
    }
  }
}

TEST_CASE("a head alone, told its index, gives the same bits, so does each batch item") {
  const Problem whole = problem_of("queries=65,keys=65,dim=8,value_dim=5,heads=6,kv_heads=3,batch=2,seed=3");
  for_each_supported({whole}, [&](const MethodSpec& spec, const Problem&) {
    TestInputs in = gaussian(whole);
    // The second batch item repeats the first.
    const TestInputs copy = gaussian(whole);
    fill(in.q, [&](auto, std::int64_t h, std::int64_t i, std::int64_t c) {
      return copy.q.view().matrix(BatchIndex{0}, HeadIndex{h}).row(i)[c];
    });
    fill(in.k, [&](auto, std::int64_t h, std::int64_t i, std::int64_t c) {
      return copy.k.view().matrix(BatchIndex{0}, KvHeadIndex{h}).row(i)[c];
    });
    fill(in.v, [&](auto, std::int64_t h, std::int64_t i, std::int64_t c) {
      return copy.v.view().matrix(BatchIndex{0}, KvHeadIndex{h}).row(i)[c];
    });
    const Outcome all = run(spec, whole, in.view());
    Problem cut = whole;
    cut.shape.batch = 1;
    cut.shape.heads = 2;
    cut.shape.kv_heads = 1;
    cut.first_head = 4;
    TestInputs part = zeros(cut);
    fill(part.q, [&](auto, std::int64_t h, std::int64_t i, std::int64_t c) {
      return in.q.view().matrix(BatchIndex{0}, HeadIndex{h + 4}).row(i)[c];
    });
    fill(part.k, [&](auto, auto, std::int64_t i, std::int64_t c) {
      return in.k.view().matrix(BatchIndex{0}, KvHeadIndex{2}).row(i)[c];
    });
    fill(part.v, [&](auto, auto, std::int64_t i, std::int64_t c) {
      return in.v.view().matrix(BatchIndex{0}, KvHeadIndex{2}).row(i)[c];
    });
    const Outcome alone = run(spec, cut, part.view());
    for (const RowRef row : rows_of(cut)) {
      const RowRef among{BatchIndex{0}, HeadIndex{row.head.value + 4}, row.query};
      CHECK(same_bits(alone, row, all, among));
      CHECK(same_bits(all, among, all, {BatchIndex{1}, among.head, row.query}));
    }
  });
}

TEST_CASE("disjoint key sets merge by log-sum-exp: attend in one call, or go on from an earlier one") {
  const Problem problem = square(100, Mask::none, 12);
  const TestInputs in = gaussian(problem);
  const Reference oracle(problem, in.view(), false);
  const MatrixView<const float> k = in.k.view().matrix(BatchIndex{0}, KvHeadIndex{0});
  const MatrixView<const float> v = in.v.view().matrix(BatchIndex{0}, KvHeadIndex{0});
  const int lanes = std::min(kernels::strip_width(), 7);
  std::vector<std::int32_t> rows = {3, 99, 5, 0, 64, 17, 50};
  QueryTensor scratch({1, 1, 1, kernels::attend_scratch(12, 12)});
  const std::span<float> work(scratch.view().data, static_cast<std::size_t>(kernels::attend_scratch(12, 12)));
  const auto span_of = [&](std::int64_t first, std::int64_t last) {
    kernels::Span span;
    span.k = k.data + first * k.row_stride;
    span.v = v.data + first * v.row_stride;
    span.count = last - first;
    span.k_stride = k.row_stride;
    span.v_stride = v.row_stride;
    return span;
  };
  for (const std::int64_t cut : {0, 1, 33, 64, 99, 100}) {
    Outcome outcome{QueryTensor(problem.shape.output_extents()), QueryTensor(problem.shape.lse_extents()), {}, {}, {}};
    kernels::Strip strip{in.q.view().matrix(BatchIndex{0}, HeadIndex{0}),
                         outcome.out.view().matrix(BatchIndex{0}, HeadIndex{0}),
                         outcome.lse.view().matrix(BatchIndex{0}, HeadIndex{0}),
                         rows.data(),
                         lanes,
                         false};
    const std::vector<kernels::Span> first = {span_of(0, cut)};
    const std::vector<kernels::Span> second = {span_of(cut, 100)};
    kernels::attend(strip, first, problem.score_scale(), work);
    strip.resume = true;
    kernels::attend(strip, {}, problem.score_scale(), work);  // nothing more to see
    kernels::attend(strip, second, problem.score_scale(), work);
    for (int l = 0; l < lanes; ++l) {
      const RowRef row{BatchIndex{0}, HeadIndex{0}, rows[static_cast<std::size_t>(l)]};
      INFO("cut at " << cut << ", lane " << l);
      // Each call is off by a tolerance at most, and merging keeps convex combinations.
      CHECK(ratio_of(oracle.exact_row(row), outcome, row) <= 2);
    }
  }
}
