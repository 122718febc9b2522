// Exact work: the figures at n = 4096 that methods.md states, by closed form and by running, and closed forms that are
// written a second time here against what was counted.

#include "cases.hpp"
#include "harness.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

struct Counted {
  std::int64_t visible = 0;
  std::int64_t scored = 0;
};

// Pairs do not depend on the width of the vectors, so one element each will do.
Counted count(const std::string& text, std::int64_t n, Mask mask = Mask::none) {
  const MethodSpec spec = spec_of(text);
  const Problem problem = square(n, mask, 1);
  INFO(describe(spec, problem));
  REQUIRE_FALSE(spec.unsupported(problem).has_value());
  const TestInputs in = gaussian(problem);
  const Outcome outcome = run(spec, problem, in.view());
  if (outcome.cost.visible_pairs) CHECK(*outcome.cost.visible_pairs == outcome.work.visible_pairs);
  if (outcome.cost.scored_pairs) CHECK(*outcome.cost.scored_pairs == outcome.work.scored_pairs);
  return {outcome.work.visible_pairs, outcome.work.scored_pairs};
}

Cost planned(const std::string& text, const Problem& problem) {
  const MethodSpec spec = spec_of(text);
  return spec.method->plan(problem, spec.params).cost;
}

}  // namespace

TEST_CASE("pairs at n = 4096 are the published ones, planned and counted") {
  CHECK(count("exact.streaming", 4096).visible == 16'777'216);
  CHECK(count("bigbird", 4096).visible == 2'547'712);
  CHECK(count("longformer:w=256,globals=first:0", 4096).visible == 2'035'456);
  CHECK(count("longformer:w=256,globals=first:1", 4096).visible == 2'043'134);
  CHECK(count("window:w=256", 4096).visible == 2'035'456);
  CHECK(count("hierarchical:block=64", 4096).visible == 520'192);
  CHECK(count("hierarchical", 4096).visible == 520'192);
  CHECK(count("strided", 4096).visible == 774'208);
  CHECK(count("lsh:rounds=4,bucket=64,qk=shared", 4096).scored == 2'097'152);
}

TEST_CASE("closed forms of the plan alone, where running takes long") {
  const Problem problem = square(4096, Mask::none, 64);
  for (const char* exact : {"exact.streaming", "exact.materialized", "exact.shared"}) {
    INFO(exact);
    CHECK(planned(exact, problem).visible_pairs == 16'777'216);
    CHECK(planned(exact, problem).scored_pairs == 16'777'216);
    CHECK(planned(exact, square(4096, Mask::causal, 64)).visible_pairs == 8'390'656);
  }
  CHECK(planned("topk:k=64", problem).visible_pairs == 262'144);
  CHECK(planned("topk:k=64", problem).scored_pairs == 16'777'216);
  CHECK(planned("lsh:qk=shared", problem).scored_pairs == 2'097'152);
  // At 2^17 the counts pass 2^32.
  CHECK(planned("exact.streaming", square(131072)).visible_pairs == std::int64_t{1} << 34);
}

TEST_CASE("counts of whole problems are those of a head times heads and batch") {
  Problem problem = square(100);
  const std::int64_t one = *planned("longformer:w=4,globals=first:3", problem).visible_pairs;
  problem.shape.batch = 2;
  problem.shape.heads = 6;
  problem.shape.kv_heads = 3;
  CHECK(planned("longformer:w=4,globals=first:3", problem).visible_pairs == 12 * one);
}

TEST_CASE("windows: n(2w+1) - dilation w(w+1)") {
  for (const std::int64_t n : {17, 64, 100, 129}) {
    for (const std::int64_t w : {0, 1, 3, 7}) {
      for (const std::int64_t d : {1, 2}) {
        if (w * d > n) continue;
        const std::string text = "window:w=" + std::to_string(w) + ",dilation=" + std::to_string(d);
        CHECK(count(text, n).visible == n * (2 * w + 1) - d * w * (w + 1));
      }
      CHECK(count("window:edge=shift,w=" + std::to_string(w), n).visible == n * std::min(2 * w + 1, n));
      // Causal: p..p-w.
      CHECK(count("window:w=" + std::to_string(w), n, Mask::causal).visible == n * (w + 1) - w * (w + 1) / 2);
    }
  }
}

TEST_CASE("rasters: (3H-2)(3W-2) at radius 1") {
  for (const auto& [h, w] : {std::pair<std::int64_t, std::int64_t>{8, 8}, {5, 13}, {10, 10}, {1, 7}, {2, 8}}) {
    const std::string text = "window2d:r=1,height=" + std::to_string(h) + ",width=" + std::to_string(w);
    CHECK(count(text, h * w).visible == (3 * h - 2) * (3 * w - 2));
  }
}

TEST_CASE("longformer: 2gn - g^2 + (n-g)(2w+1) - w(w+1)") {
  for (const std::int64_t n : {20, 64, 101}) {
    for (const std::int64_t g : {0, 1, 2, 9}) {
      for (const std::int64_t w : {0, 1, 4, 11}) {
        if (w > n - g) continue;
        const std::string text = "longformer:w=" + std::to_string(w) + ",globals=first:" + std::to_string(g);
        CHECK(count(text, n).visible == 2 * g * n - g * g + (n - g) * (2 * w + 1) - w * (w + 1));
      }
    }
  }
}

TEST_CASE("bigbird: b^2 (2 nb + 2(4+r) + (nb-4)(5+r))") {
  for (const std::int64_t b : {1, 4, 8}) {
    for (const std::int64_t r : {0, 1, 3}) {
      for (const std::int64_t nb : {8, 9, 16}) {
        if (nb < r + 5) continue;
        const std::string text = "bigbird:block=" + std::to_string(b) + ",random=" + std::to_string(r);
        CHECK(count(text, nb * b).visible == b * b * (2 * nb + 2 * (4 + r) + (nb - 4) * (5 + r)));
      }
    }
  }
}

TEST_CASE("hierarchical: own keys and one pseudo-key for each other block") {
  for (const std::int64_t n : {1, 7, 64, 65, 100, 129}) {
    for (const std::int64_t b : {1, 3, 8, 16, 200}) {
      const std::int64_t nb = (n + b - 1) / b;
      std::int64_t expected = 0;
      std::int64_t causal = 0;
      for (std::int64_t i = 0; i < nb; ++i) {
        const std::int64_t c = std::min(b, n - i * b);
        expected += c * (c + nb - 1);
        causal += c * (c + 1) / 2 + c * i;
      }
      CHECK(count("hierarchical:block=" + std::to_string(b), n).visible == expected);
      CHECK(count("hierarchical:block=" + std::to_string(b), n, Mask::causal).visible == causal);
    }
  }
}

TEST_CASE("selection scores each query against each block, then attends to whole blocks") {
  const Counted full = count("hierarchical.select:block=8,blocks=3", 64);
  CHECK(full.visible == 64 * 24);
  CHECK(full.scored == 64 * 8 + 64 * 24);
  const Counted causal = count("hierarchical.select:block=8,blocks=3", 64, Mask::causal);
  std::int64_t visible = 0;
  std::int64_t scored = 0;
  for (std::int64_t p = 0; p < 64; ++p) {
    visible += p % 8 + 1 + 8 * std::min<std::int64_t>(p / 8, 2);
    scored += p / 8;
  }
  CHECK(causal.visible == visible);
  CHECK(causal.scored == scored + visible);
}

TEST_CASE("topk: min(k, allowed) keys per query, every allowed pair scored") {
  for (const std::int64_t n : {1, 5, 64, 65}) {
    for (const std::int64_t k : {1, 5, 64, 1000}) {
      const std::string text = "topk:k=" + std::to_string(k);
      CHECK(count(text, n).visible == n * std::min(n, k));
      CHECK(count(text, n).scored == n * n);
      std::int64_t causal = 0;
      for (std::int64_t p = 0; p < n; ++p) causal += std::min(p + 1, k);
      CHECK(count(text, n, Mask::causal).visible == causal);
      CHECK(count(text, n, Mask::causal).scored == n * (n + 1) / 2);
    }
  }
}

TEST_CASE("reformer scores 2 bucket rounds n pairs when chunks are whole") {
  for (const std::int64_t rounds : {1, 3}) {
    for (const std::int64_t bucket : {4, 16}) {
      for (const std::int64_t n : {2 * bucket, 64 + 0 * bucket, 5 * bucket}) {
        if (n % bucket != 0) continue;
        const std::string text = "lsh:qk=shared,rounds=" + std::to_string(rounds) + ",bucket=" + std::to_string(bucket);
        CHECK(count(text, n).scored == 2 * bucket * rounds * n);
      }
    }
  }
}

TEST_CASE("a single chunk is scored once, in one round, and self is left out where another key is at hand") {
  // Further rounds would offer the very same keys: the definition does not need them.
  CHECK(count("lsh:qk=shared,rounds=2,bucket=64", 10).scored == 10 * 10);
  CHECK(count("lsh:qk=shared,rounds=2,bucket=64", 10).visible == 10 * 9);
  CHECK(count("lsh:qk=shared,rounds=2,bucket=64", 1).visible == 1);
}

TEST_CASE("extra work is counted: hashing with n/64 buckets is itself quadratic") {
  const auto extra = [](std::int64_t n) {
    return static_cast<double>(planned("lsh:rounds=1,bucket=64", square(n, Mask::none, 64)).extra_flops);
  };
  // One product of length d for each query or key and each of B/2 = n/128 directions; 128 buckets at n = 8192 is the
  // last size that is not factorised.
  CHECK(extra(2048) > 0);
  CHECK(extra(4096) / extra(2048) == Approx(4.0).epsilon(0.1));
  CHECK(extra(8192) / extra(4096) == Approx(4.0).epsilon(0.1));
}
