// Judges of what the data-dependent methods chose. A kernel chooses in fp32, and near ties an fp64 oracle would choose
// otherwise; so the output is judged on the set that was chosen, and the choice here, with room for the rounding of the
// scores alone. Nothing of the methods' code is used but the random numbers of the hashes, which are part of their
// definition.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/numbers.hpp"
#include "methods/keyed_random.hpp"
#include "methods/reference.hpp"

namespace attnscale {
namespace {

using Verdict = std::optional<std::string>;
using Choices = std::span<const std::int32_t>;

constexpr double kUnitRoundoff = 0x1p-24;  // of fp32
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class A, class B>
double dot(const A* a, const B* b, std::int64_t width) {
  double sum[4] = {0, 0, 0, 0};
  std::int64_t c = 0;
  for (; c + 4 <= width; c += 4) {
    for (int i = 0; i < 4; ++i) sum[i] += static_cast<double>(a[c + i]) * static_cast<double>(b[c + i]);
  }
  for (; c < width; ++c) sum[0] += static_cast<double>(a[c]) * static_cast<double>(b[c]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <class T>
double norm(const T* x, std::int64_t width) {
  return std::sqrt(dot(x, x, width));
}

std::string place_of(RowRef row) {
  return fmt::format("batch {}, head {}, query {}", row.batch.value, row.head.value, row.query);
}

Choices choices_of(const Shape& shape, RowRef row, std::int64_t columns, Choices choices) {
  const std::int64_t flat = (row.batch.value * shape.heads + row.head.value) * shape.queries + row.query;
  return choices.subspan(static_cast<std::size_t>(flat * columns), static_cast<std::size_t>(columns));
}

// Candidates 0, 1, ... of one row with their fp64 scores; -inf: not eligible.
struct Contest {
  std::vector<double> score;
  double tolerance = 0;  // 2 delta: both scores of a comparison are rounded
  std::int64_t places = 0;
  const char* thing = "";
};

// Exactly `places` different eligible candidates, and none left out beats one taken by more than the tolerance.
Verdict judge_contest(const Contest& contest, Choices taken, const std::string& where) {
  std::vector<bool> in(contest.score.size(), false);
  std::int64_t count = 0;
  double worst = kInfinity;
  bool ended = false;
  for (const std::int32_t t : taken) {
    if (t == -1) {
      ended = true;
      continue;
    }
    const auto at = static_cast<std::size_t>(t);
    if (ended || t < 0 || at >= in.size() || contest.score[at] == -kInfinity) {
      return fmt::format("{}: chose {} {}, which it may not", where, contest.thing, t);
    }
    if (in[at]) return fmt::format("{}: chose {} {} twice", where, contest.thing, t);
    in[at] = true;
    worst = std::min(worst, contest.score[at]);
    ++count;
  }
  if (count != contest.places) {
    return fmt::format("{}: chose {} {}s where there should be {}", where, count, contest.thing, contest.places);
  }
  for (std::size_t at = 0; at < in.size(); ++at) {
    if (!in[at] && contest.score[at] > worst + contest.tolerance) {
      return fmt::format("{}: left out {} {} with score {}, though one of score {} was taken", where, contest.thing, at,
                         contest.score[at], worst);
    }
  }
  return std::nullopt;
}

bool all_finite(const std::vector<double>& values, std::int64_t count) {
  return std::all_of(values.begin(), values.begin() + count, [](double x) { return std::isfinite(x); });
}

}  // namespace

Verdict judge_topk(const Problem& problem, const Params& params, const Qkv& inputs, Choices choices,
                   std::span<const RowRef> rows) {
  const Shape& s = problem.shape;
  const std::int64_t columns = std::min(params.integer("k"), s.keys);
  for (const RowRef row : rows) {
    const std::int64_t allowed = problem.allowed(row.query);
    const float* q = inputs.q.matrix(row.batch, row.head).row(row.query);
    const MatrixView<const float> k = inputs.k.matrix(row.batch, s.kv_head(row.head));
    Contest contest{std::vector<double>(static_cast<std::size_t>(s.keys), -kInfinity), 0, std::min(columns, allowed),
                    "key"};
    double largest_key = 0;
    for (std::int64_t j = 0; j < allowed; ++j) {
      contest.score[static_cast<std::size_t>(j)] = dot(q, k.row(j), s.dim) * problem.score_scale();
      largest_key = std::max(largest_key, norm(k.row(j), s.dim));
    }
    // With NaN or infinity among them the scores have no order: the row itself is NaN, which is judged by its output.
    if (!all_finite(contest.score, allowed)) continue;
    const double delta =
        static_cast<double>(s.dim + 2) * kUnitRoundoff * norm(q, s.dim) * largest_key * problem.score_scale();
    contest.tolerance = 2 * delta;
    const Verdict verdict = judge_contest(contest, choices_of(s, row, columns, choices), place_of(row));
    if (verdict) return verdict;
  }
  return std::nullopt;
}

namespace {

// Mean key of every block of one key/value head, and the largest norm of a key.
struct BlockMeans {
  BatchIndex batch{-1};
  KvHeadIndex head{-1};
  std::vector<double> mean;  // [blocks][dim]
  double largest_key = 0;
};

void fill_means(BlockMeans& means, const Problem& problem, const Qkv& inputs, std::int64_t block) {
  const MatrixView<const float> k = inputs.k.matrix(means.batch, means.head);
  const std::int64_t blocks = ceil_div(k.rows, block);
  means.mean.assign(static_cast<std::size_t>(blocks * problem.shape.dim), 0.0);
  means.largest_key = 0;
  for (std::int64_t j = 0; j < k.rows; ++j) {
    const auto count = static_cast<double>(std::min(block, k.rows - j / block * block));
    double* mean = &means.mean[static_cast<std::size_t>(j / block * problem.shape.dim)];
    for (std::int64_t c = 0; c < k.width; ++c) mean[c] += static_cast<double>(k.row(j)[c]) / count;
    means.largest_key = std::max(means.largest_key, norm(k.row(j), k.width));  // NaN does not count
  }
}

// Judges one row that has a place among the keys.
Verdict judge_blocks(const Problem& problem, const BlockMeans& means, const float* q, std::int64_t block, RowRef row,
                     Choices mine) {
  const std::int64_t dim = problem.shape.dim;
  const std::int64_t own = problem.position(row.query) / block;
  const std::int64_t blocks = ceil_div(problem.shape.keys, block);
  const std::int64_t end = problem.causal() ? own : blocks;  // completed blocks end before the own one
  Contest contest{std::vector<double>(static_cast<std::size_t>(blocks), -kInfinity), 0, 0, "block"};
  for (std::int64_t b = 0; b < end; ++b) {
    const double score = dot(q, &means.mean[static_cast<std::size_t>(b * dim)], dim) * problem.score_scale();
    if (!std::isfinite(score)) return std::nullopt;  // no order; the row is NaN
    if (b != own) contest.score[static_cast<std::size_t>(b)] = score;
  }
  if (!std::isfinite(norm(q, dim))) return std::nullopt;
  if (mine[0] != own)
    return fmt::format("{}: its own block {} is not the first one chosen, but {}", place_of(row), own, mine[0]);
  const std::int64_t others = problem.causal() ? own : blocks - 1;
  contest.places = std::min(static_cast<std::int64_t>(mine.size()) - 1, others);
  const auto rounding = static_cast<double>(dim + 2 + std::min(block, problem.shape.keys));  // the mean rounds too
  contest.tolerance = 2 * rounding * kUnitRoundoff * norm(q, dim) * means.largest_key * problem.score_scale();
  return judge_contest(contest, mine.subspan(1), place_of(row));
}

}  // namespace

Verdict judge_select(const Problem& problem, const Params& params, const Qkv& inputs, Choices choices,
                     std::span<const RowRef> rows) {
  const Shape& s = problem.shape;
  const std::int64_t block = params.integer_or("block", ceil_root(s.keys, 2));
  const std::int64_t columns = std::min(params.integer("blocks"), ceil_div(s.keys, block));
  BlockMeans means;
  for (const RowRef row : rows) {
    const Choices mine = choices_of(s, row, columns, choices);
    if (problem.position(row.query) < 0) {
      if (std::any_of(mine.begin(), mine.end(), [](std::int32_t b) { return b != -1; })) {
        return fmt::format("{}: chose a block, though it sees no key", place_of(row));
      }
      continue;
    }
    if (row.batch != means.batch || s.kv_head(row.head) != means.head) {
      means.batch = row.batch;
      means.head = s.kv_head(row.head);
      fill_means(means, problem, inputs, block);
    }
    const float* q = inputs.q.matrix(row.batch, row.head).row(row.query);
    const Verdict verdict = judge_blocks(problem, means, q, block, row, mine);
    if (verdict) return verdict;
  }
  return std::nullopt;
}

namespace {

// Multiply-adds that judging every hash may take; beyond, a sample is judged.
constexpr double kHashBudget = 3e8;

// B = 2 max(1, round(n / (2 bucket))), halves up; above 128 two even counts, the first 2 ceil(sqrt(B) / 2) and the
// second the least that reaches B.
struct HashCounts {
  std::int64_t first = 1;
  std::int64_t second = 1;
};

HashCounts hash_counts(std::int64_t keys, std::int64_t bucket) {
  if (bucket >= keys) return {};
  std::int64_t half = keys / (2 * bucket);
  if (2 * (keys % (2 * bucket)) >= 2 * bucket) ++half;
  const std::int64_t buckets = 2 * std::max<std::int64_t>(half, 1);
  if (buckets <= 128) return {buckets, 1};
  HashCounts counts{2, 2};
  while (counts.first * counts.first < buckets) counts.first += 2;
  while (counts.first * counts.second < buckets) counts.second += 2;
  return counts;
}

// One round of one head.
struct Rotation {
  HashCounts counts;
  std::vector<float> columns;  // [first / 2 + second / 2][dim]
  std::vector<double> norms;
};

Rotation rotation_of(const Problem& problem, HashCounts counts, KvHeadIndex head, std::int64_t round) {
  const std::int64_t dim = problem.shape.dim;
  const std::int64_t columns = counts.first / 2 + counts.second / 2;
  Rotation rotation{counts, std::vector<float>(static_cast<std::size_t>(columns * dim)), {}};
  methods::KeyedRandom random({problem.seed, problem.global_kv_head(head), round, methods::Purpose::rotations});
  random.fill_gaussian(rotation.columns);
  for (std::int64_t c = 0; c < columns; ++c)
    rotation.norms.push_back(norm(&rotation.columns[static_cast<std::size_t>(c * dim)], dim));
  return rotation;
}

// Whether `number` is an argmax of [xR; -xR] over the columns [begin, begin + count/2), within rounding.
bool is_argmax(const Rotation& rotation, const float* x, std::int64_t dim, std::int64_t begin, std::int64_t count,
               std::int64_t number) {
  const double size = norm(x, dim);
  if (!std::isfinite(size)) return true;  // NaN has no largest component
  const double unit = static_cast<double>(dim + 2) * kUnitRoundoff * size;
  double best = -kInfinity;  // the least that the largest component can have been computed as
  double mine = 0;
  for (std::int64_t c = 0; c < count / 2; ++c) {
    const double product = dot(x, &rotation.columns[static_cast<std::size_t>((begin + c) * dim)], dim);
    const double error = unit * rotation.norms[static_cast<std::size_t>(begin + c)];
    best = std::max(best, std::abs(product) - error);
    if (number == c) mine = product + error;
    if (number == c + count / 2) mine = -product + error;
  }
  return mine >= best;
}

bool right_bucket(const Rotation& rotation, const float* x, std::int64_t dim, std::int32_t code) {
  const HashCounts& counts = rotation.counts;
  if (code < 0 || code >= counts.first * counts.second) return false;
  if (counts.first == 1) return true;
  if (!is_argmax(rotation, x, dim, 0, counts.first, code / counts.second)) return false;
  return counts.second == 1 || is_argmax(rotation, x, dim, counts.first / 2, counts.second, code % counts.second);
}

// Checks every `step`-th vector of one head in one round.
Verdict judge_codes(const Rotation& rotation, const MatrixView<const float>& vectors, Choices codes, std::int64_t step,
                    const std::string& what) {
  for (std::int64_t i = 0; i < vectors.rows; i += step) {
    const std::int32_t code = codes[static_cast<std::size_t>(i)];
    if (right_bucket(rotation, vectors.row(i), vectors.width, code)) continue;
    return fmt::format("{} {} was put into bucket {}, which is not the largest component of its rotation", what, i,
                       code);
  }
  return std::nullopt;
}

// Every number of choices of one round, head by head.
template <class Head>
Choices codes_of(const TensorView<const float, Head>& tensor, std::int64_t rounds, std::int64_t b, std::int64_t h,
                 std::int64_t r, Choices choices) {
  const std::int64_t at = ((b * tensor.extents.heads + h) * rounds + r) * tensor.extents.rows;
  return choices.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(tensor.extents.rows));
}

}  // namespace

// The set of a row depends on the codes of all keys (and, when sorted, of all queries), so every code is checked while
// that takes below kHashBudget multiply-adds. Beyond, every step-th vector of every head and round is, and always those
// of `rows`.
Verdict judge_lsh(const Problem& problem, const Params& params, const Qkv& inputs, Choices choices,
                  std::span<const RowRef> rows) {
  const Shape& s = problem.shape;
  const bool shared = params.choice("qk") == "shared";
  const HashCounts counts = hash_counts(s.keys, params.integer("bucket"));
  const std::int64_t rounds = counts.first == 1 ? 1 : params.integer("rounds");
  const std::int64_t vectors = s.rows() + (shared ? 0 : s.batch * s.kv_heads * s.keys);
  const double work =
      static_cast<double>(vectors) * static_cast<double>(rounds * (counts.first + counts.second) / 2 * s.dim);
  const auto step = static_cast<std::int64_t>(std::ceil(std::max(1.0, work / kHashBudget)));
  const Choices key_codes = choices.subspan(static_cast<std::size_t>(s.rows() * rounds));
  for (std::int64_t kv = 0; kv < s.kv_heads; ++kv) {
    for (std::int64_t r = 0; r < rounds; ++r) {
      const Rotation rotation = rotation_of(problem, counts, KvHeadIndex{kv}, r);
      for (std::int64_t b = 0; b < s.batch; ++b) {
        for (std::int64_t h = kv * s.group(); h < (kv + 1) * s.group(); ++h) {
          const std::string what = fmt::format("round {}, batch {}, head {}: query", r, b, h);
          const MatrixView<const float> q = inputs.q.matrix(BatchIndex{b}, HeadIndex{h});
          const Choices codes = codes_of(inputs.q, rounds, b, h, r, choices);
          if (auto verdict = judge_codes(rotation, q, codes, step, what)) return verdict;
          for (const RowRef row : rows) {
            if (row.batch.value != b || row.head.value != h || step == 1) continue;
            const std::int32_t code = codes[static_cast<std::size_t>(row.query)];
            if (!right_bucket(rotation, q.row(row.query), s.dim, code))
              return fmt::format("{} {} was put into bucket {}, which is not the largest component of its rotation",
                                 what, row.query, code);
          }
        }
        if (shared) continue;
        const std::string what = fmt::format("round {}, batch {}, key/value head {}: key", r, b, kv);
        if (auto verdict = judge_codes(rotation, inputs.k.matrix(BatchIndex{b}, KvHeadIndex{kv}),
                                       codes_of(inputs.k, rounds, b, kv, r, key_codes), step, what)) {
          return verdict;
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace attnscale
