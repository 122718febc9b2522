// Generated inputs are a pure function of (seed, tensor, batch item, head, row, column): cutting a problem out of a
// larger one changes no bit.
#include "inputs/families.hpp"

#include <set>

#include "core/numbers.hpp"
#include "fixtures.hpp"
#include "inputs/hash.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

template <class Head>
bool same_row(const TensorView<const float, Head>& a, Head head_a, const TensorView<const float, Head>& b, Head head_b,
              BatchIndex batch, std::int64_t row) {
  const float* left = a.matrix(batch, head_a).row(row);
  const float* right = b.matrix(batch, head_b).row(row);
  return std::memcmp(left, right, static_cast<std::size_t>(a.extents.width) * sizeof(float)) == 0;
}

/// The rows, heads (from first_head on) and batch items of `part` are those of `whole`, bit for bit.
template <class Head>
bool is_cut_of(const TensorView<const float, Head>& part, const TensorView<const float, Head>& whole,
               std::int64_t first_head) {
  for (std::int64_t b = 0; b < part.extents.batch; ++b) {
    for (std::int64_t h = 0; h < part.extents.heads; ++h) {
      for (std::int64_t r = 0; r < part.extents.rows; ++r) {
        if (!same_row(part, Head{h}, whole, Head{h + first_head}, BatchIndex{b}, r)) return false;
      }
    }
  }
  return true;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const InputFamily& family : input_families()) names.emplace_back(family.name);
  return names;
}

}  // namespace

TEST_CASE("a cut of generated inputs holds the same bytes") {
  const Shape whole_shape{3, 8, 4, 90, 90, 33, 18};
  for (const std::string& name : family_names()) {
    INFO(name);
    Problem problem = problem_of(name, whole_shape);
    problem.seed = 0x123456789abcdefULL;
    const Inputs whole = make_inputs(problem);
    problem.shape = {2, 4, 2, 65, 65, 33, 18};  // fewer batch items, heads and rows
    problem.first_head = 4;                     // query heads 4..7, key/value heads 2..3
    const Inputs part = make_inputs(problem);
    CHECK(is_cut_of(part.view().q, whole.view().q, 4));
    CHECK(is_cut_of(part.view().k, whole.view().k, 2));
    CHECK(is_cut_of(part.view().v, whole.view().v, 2));
    CHECK_FALSE(is_cut_of(part.view().q, whole.view().q, 0));
  }
}

TEST_CASE("the mask and the temperature leave generated inputs alone, the seed does not") {
  for (const std::string& name : family_names()) {
    INFO(name);
    Problem problem = problem_of(name, {1, 2, 1, 40, 40, 16, 16});
    const std::string hash = make_inputs(problem).hash;
    CHECK(make_inputs(problem).hash == hash);
    problem.mask = Mask::causal;
    problem.temperature = 0.5;
    CHECK(make_inputs(problem).hash == hash);
    for (const std::uint64_t seed : {1ULL, 1ULL << 32, ~0ULL}) {
      problem.seed = seed;
      CHECK(make_inputs(problem).hash != hash);
    }
  }
}

TEST_CASE("no row of generated inputs repeats across tensors, batch items, heads and rows") {
  for (const std::string& name : family_names()) {
    INFO(name);
    const Inputs inputs = make_inputs(problem_of(name, {2, 4, 2, 64, 64, 8, 8}));
    std::set<std::string> rows;
    std::size_t count = 0;
    const auto collect = [&](const auto& tensor, auto head) {
      for (std::int64_t b = 0; b < tensor.extents.batch; ++b) {
        for (head.value = 0; head.value < tensor.extents.heads; ++head.value) {
          for (std::int64_t r = 0; r < tensor.extents.rows; ++r, ++count) {
            rows.insert(raw_bytes(std::vector<float>(tensor.matrix(BatchIndex{b}, head).row(r),
                                                     tensor.matrix(BatchIndex{b}, head).row(r) + 8)));
          }
        }
      }
    };
    collect(inputs.view().q, HeadIndex{});
    collect(inputs.view().k, KvHeadIndex{});
    collect(inputs.view().v, KvHeadIndex{});
    CHECK(rows.size() == count);
  }
}

TEST_CASE("a narrower tensor holds the first columns of a wider one") {
  const Place place{7, Stream::value, 1, 2, 3};
  std::vector<float> wide(35, 0);
  add_normal(place, 1, wide);
  for (const std::size_t width : {1U, 2U, 3U, 4U, 5U, 17U}) {
    std::vector<float> narrow(width, 0);
    add_normal(place, 1, narrow);
    CHECK(std::equal(narrow.begin(), narrow.end(), wide.begin()));
  }
}

TEST_CASE("gaussian values have the moments of a standard normal") {
  const Inputs inputs = make_inputs(problem_of("gaussian", {1, 1, 1, 4096, 4096, 64, 64}));
  for (const float* first : {inputs.view().q.data, inputs.view().k.data, inputs.view().v.data}) {
    double sum = 0;
    double squares = 0;
    double fourths = 0;
    const std::int64_t count = 4096 * 64;
    for (std::int64_t i = 0; i < count; ++i) {
      const double x = first[i];
      sum += x;
      squares += x * x;
      fourths += x * x * x * x;
    }
    // Five standard errors: of the mean 1/sqrt(N), of the second moment sqrt(2/N), of the fourth sqrt(96/N).
    const double root = std::sqrt(static_cast<double>(count));
    CHECK(std::abs(sum / count) < 5 / root);
    CHECK(std::abs(squares / count - 1) < 5 * std::sqrt(2.0) / root);
    CHECK(std::abs(fourths / count - 3) < 5 * std::sqrt(96.0) / root);
  }
}

TEST_CASE("every family takes every size") {
  for (const std::string& name : family_names()) {
    for (const std::int64_t dim : {1, 2, 3, 8, 63}) {
      for (const auto& [queries, keys] :
           std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {1, 50}, {50, 1}, {17, 16}}) {
        INFO(name << " dim " << dim << " queries " << queries << " keys " << keys);
        const Inputs inputs = make_inputs(problem_of(name, {1, 2, 2, queries, keys, dim, 5}));
        CHECK(inputs.q.extents() == Extents{1, 2, queries, dim});
        CHECK(inputs.k.extents() == Extents{1, 2, keys, dim});
        CHECK(inputs.v.extents() == Extents{1, 2, keys, 5});
        const float* q = inputs.view().q.data;
        CHECK(std::all_of(q, q + 2 * queries * dim, [](float x) { return std::isfinite(x); }));
        CHECK(inputs.warnings.empty());
      }
    }
  }
}

TEST_CASE("the needle lies in the first half of the past of its query") {
  for (std::int64_t position = -3; position < 5000; ++position) {
    const std::int64_t needle = needle_index({1, 0, 0, 0, position + 3, position});
    REQUIRE(needle >= 0);
    REQUIRE(needle <= std::max<std::int64_t>(position, 0) / 2);
  }
}

TEST_CASE("the hash sees values and extents but not padding") {
  const auto hash_of = [](const Extents& extents, const Padding& padding, float last) {
    QueryTensor q(extents, padding);
    const KeyTensor k(Extents{1, 1, 1, 1});
    float value = 0;
    for (std::int64_t r = 0; r < extents.rows; ++r) {
      for (std::int64_t c = 0; c < extents.width; ++c) q.view().matrix(BatchIndex{0}, HeadIndex{0}).row(r)[c] = ++value;
    }
    q.view().matrix(BatchIndex{0}, HeadIndex{0}).row(extents.rows - 1)[extents.width - 1] = last;
    const QueryTensor& constant = q;
    return hash_inputs({constant.view(), k.view(), k.view()});
  };
  const std::string hash = hash_of({1, 1, 4, 6}, {}, 1);
  CHECK(hash.size() == 16);
  CHECK(hash.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(hash_of({1, 1, 4, 6}, {3, 5, 77}, 1) == hash);
  CHECK(hash_of({1, 1, 4, 6}, {}, 2) != hash);
  CHECK(hash_of({1, 1, 6, 4}, {}, 1) != hash);
}

TEST_CASE("an unknown family is refused with the nearest name") {
  for (const auto& [typed, nearest] : std::vector<std::pair<std::string, std::string>>{
           {"gausian", "gaussian"}, {"cluster", "clustered"}, {"lokal", "local"}, {"", "local"}}) {
    const std::string sentence = refusal([&, &input = typed] { check_input(input); });
    INFO(sentence);
    CHECK(is_one_sentence(sentence));
    CHECK(contains(sentence, "'" + nearest + "'"));
    CHECK(refusal([&, &input = typed] { make_inputs(problem_of(input, {1, 1, 1, 4, 4, 4, 4})); }) == sentence);
  }
  check_input("needle");
  CHECK_FALSE(input_shape("needle").has_value());
  CHECK(input_label("needle") == "needle");
}
