#include "methods/lsh_hash.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/numbers.hpp"
#include "kernels/strip.hpp"
#include "methods/keyed_random.hpp"

namespace attnscale::methods::lsh_parts {
namespace {

constexpr std::int64_t kTaskRows = 256;
constexpr std::int64_t kMostUnfactorised = 128;
constexpr std::int64_t kColumnsAtOnce = 256;

// The number of the largest of [x; -x] for each lane, x = scores[column][lane]. In whole numbers and without branches,
// so that compilers make vector code of it: sizes of floats order like their bits. NaN counts as larger than all.
void signed_argmax(const float* scores, std::int64_t columns, std::int64_t width, std::int32_t* number) {
  std::array<std::int32_t, kernels::kMaxStrip> best;
  best.fill(-1);
  for (std::int64_t c = 0; c < columns; ++c) {
    const float* row = scores + c * width;
    for (std::int64_t l = 0; l < width; ++l) {
      const auto bits = std::bit_cast<std::int32_t>(row[l]);
      const std::int32_t size = bits & std::numeric_limits<std::int32_t>::max();
      const std::int32_t mine = static_cast<std::int32_t>(c) + (static_cast<std::int32_t>(columns) & (bits >> 31));
      std::int32_t& largest = best[static_cast<std::size_t>(l)];
      const std::int32_t better = -static_cast<std::int32_t>(size > largest);  // all bits or none
      largest = (size & better) | (largest & ~better);
      number[l] = (mine & better) | (number[l] & ~better);
    }
  }
}

struct HashScratch {
  std::int64_t group = 1;      // rounds that are scored at once, since packing a strip costs as much as some columns
  WorkerBuffer<float> scores;  // [round of the group][columns][strip]
  WorkerBuffer<float> kernel;
};

HashScratch declare_scratch(ScratchLayout& layout, const Setup& setup) {
  const Shape& s = setup.problem.shape;
  const std::int64_t columns = setup.buckets.columns();
  const std::int64_t group =
      std::clamp<std::int64_t>(kColumnsAtOnce / std::max<std::int64_t>(columns, 1), 1, setup.rounds);
  return {group, layout.per_worker<float>(group * columns * kernels::kMaxStrip),
          layout.per_worker<float>(kernels::attend_scratch(s.dim, s.value_dim))};
}

// Buckets of the strip's rows in the rounds [round, round + group); `rotation` holds their columns.
void hash_strip(const Setup& setup, const TaskContext& context, const HashScratch& scratch, const kernels::Strip& strip,
                const float* rotation, std::span<const std::span<std::int32_t>> codes) {
  const Buckets& buckets = setup.buckets;
  const auto group = static_cast<std::int64_t>(codes.size());
  const kernels::Span columns{.k = rotation, .count = group * buckets.columns(), .k_stride = setup.problem.shape.dim};
  // The kernel multiplies by log2(e): with ln 2 the factor is one.
  kernels::score(strip, columns, std::numbers::ln2, context.get(scratch.scores), context.get(scratch.kernel));
  const int width = kernels::strip_width();
  const float* scores = context.get(scratch.scores).data();
  for (const std::span<std::int32_t> out : codes) {
    std::array<std::int32_t, kernels::kMaxStrip> first{};
    std::array<std::int32_t, kernels::kMaxStrip> second{};
    signed_argmax(scores, buckets.first / 2, width, first.data());
    if (buckets.second > 1) {
      signed_argmax(scores + buckets.first / 2 * width, buckets.second / 2, width, second.data());
    }
    const auto factor = static_cast<std::int32_t>(buckets.second);
    for (std::size_t l = 0; l < static_cast<std::size_t>(strip.count); ++l) {
      out[static_cast<std::size_t>(strip.rows[l])] = first[l] * factor + second[l];
    }
    scores += buckets.columns() * width;
  }
}

// Hashes the strip in every round; with one bucket there is nothing to compute.
void hash_rounds(const Setup& setup, const TaskContext& context, const HashScratch& scratch,
                 const kernels::Strip& strip, const Table& codes, std::int64_t list, std::int64_t kv_head) {
  if (setup.buckets.count() == 1) {
    std::fill_n(codes.of(context, list, 0).begin() + strip.rows[0], strip.count, 0);
    return;
  }
  std::array<std::span<std::int32_t>, kColumnsAtOnce> out;  // a round has at least one column
  for (std::int64_t r = 0; r < codes.rounds; r += scratch.group) {
    const std::int64_t group = std::min(scratch.group, codes.rounds - r);
    for (std::int64_t g = 0; g < group; ++g) out[static_cast<std::size_t>(g)] = codes.of(context, list, r + g);
    const std::int64_t rotation = (kv_head * codes.rounds + r) * setup.buckets.columns() * strip.q.width;
    hash_strip(setup, context, scratch, strip, setup.rotations->data() + rotation,
               std::span(out).first(static_cast<std::size_t>(group)));
  }
}

// `matrix` gives the vectors of a list, `kv_head` the key/value head that its rotations belong to.
template <class MatrixOf, class KvHeadOf>
Stage hash_stage(ScratchLayout& layout, const Setup& setup, const Table& codes, std::int64_t lists,
                 std::int64_t choices_at, MatrixOf matrix, KvHeadOf kv_head) {
  const HashScratch scratch = declare_scratch(layout, setup);
  const std::int64_t chunks = ceil_div(codes.length, kTaskRows);
  return {"hash", lists * chunks, [=](const TaskContext& context, std::int64_t task) {
            const std::int64_t list = task / chunks;
            const std::int64_t begin = task % chunks * kTaskRows;
            const std::int64_t end = std::min(begin + kTaskRows, codes.length);
            std::array<std::int32_t, kernels::kMaxStrip> rows{};
            kernels::Strip strip{matrix(context, list), {}, {}, rows.data(), 0, false};
            for (std::int64_t at = begin; at < end; at += strip.count) {
              strip.count = static_cast<int>(std::min<std::int64_t>(kernels::strip_width(), end - at));
              std::iota(rows.begin(), rows.begin() + strip.count, static_cast<std::int32_t>(at));
              hash_rounds(setup, context, scratch, strip, codes, list, kv_head(list));
            }
            for (std::int64_t r = 0; r < codes.rounds && !context.choices.empty(); ++r) {
              const std::span<std::int32_t> out = codes.of(context, list, r);
              const std::int64_t to = choices_at + (list * codes.rounds + r) * codes.length;
              std::copy(out.begin() + begin, out.begin() + end, context.choices.begin() + to + begin);
            }
          }};
}

}  // namespace

Buckets bucket_counts(std::int64_t keys, std::int64_t bucket) {
  if (bucket >= keys) return {};
  const std::int64_t count = 2 * std::max<std::int64_t>(1, (keys + bucket) / (2 * bucket));
  if (count <= kMostUnfactorised) return {count, 1};
  const std::int64_t first = 2 * ceil_div(ceil_root(count, 2), 2);
  // The least even second count that gives at least as many buckets.
  return {first, 2 * ceil_div(count, 2 * first)};
}

Setup make_setup(const Problem& problem, const Params& params) {
  const Shape& s = problem.shape;
  Setup setup{problem,
              params.choice("qk") == "shared",
              std::min(params.integer("bucket"), s.keys),
              params.integer("rounds"),
              {},
              {}};
  setup.buckets = bucket_counts(s.keys, setup.bucket);
  if (setup.buckets.count() == 1) setup.rounds = 1;
  const std::int64_t per_round = setup.buckets.columns() * s.dim;
  std::vector<float> rotations(static_cast<std::size_t>(s.kv_heads * setup.rounds * per_round));
  for (std::int64_t h = 0; h < s.kv_heads; ++h) {
    for (std::int64_t r = 0; r < setup.rounds; ++r) {
      KeyedRandom random({problem.seed, problem.global_kv_head(KvHeadIndex{h}), r, Purpose::rotations});
      random.fill_gaussian(std::span(rotations).subspan(static_cast<std::size_t>((h * setup.rounds + r) * per_round),
                                                        static_cast<std::size_t>(per_round)));
    }
  }
  setup.rotations = std::make_shared<const std::vector<float>>(std::move(rotations));
  return setup;
}

Table declare_table(ScratchLayout& layout, std::int64_t lists, std::int64_t rounds, std::int64_t length) {
  return {layout.shared<std::int32_t>(lists * rounds * length), rounds, length};
}

Stage hash_queries(ScratchLayout& layout, const Setup& setup, const Table& codes) {
  const Shape s = setup.problem.shape;
  return hash_stage(
      layout, setup, codes, s.batch * s.heads, 0,
      [s](const TaskContext& context, std::int64_t list) {
        return context.in.q.matrix(BatchIndex{list / s.heads}, HeadIndex{list % s.heads});
      },
      [s](std::int64_t list) { return s.kv_head(HeadIndex{list % s.heads}).value; });
}

Stage hash_keys(ScratchLayout& layout, const Setup& setup, const Table& codes) {
  const Shape s = setup.problem.shape;
  return hash_stage(
      layout, setup, codes, s.batch * s.kv_heads, s.rows() * setup.rounds,
      [s](const TaskContext& context, std::int64_t list) {
        return context.in.k.matrix(BatchIndex{list / s.kv_heads}, KvHeadIndex{list % s.kv_heads});
      },
      [s](std::int64_t list) { return list % s.kv_heads; });
}

std::int64_t hash_flops(const Setup& setup) {
  const Shape& s = setup.problem.shape;
  const std::int64_t vectors = s.rows() + (setup.shared ? 0 : s.batch * s.kv_heads * s.keys);
  return 2 * s.dim * setup.buckets.columns() * setup.rounds * vectors;
}

}  // namespace attnscale::methods::lsh_parts
