// Each family models what its summary says: where the softmax mass lies, measured in fp64.
#include <algorithm>
#include <cmath>
#include <functional>

#include "fixtures.hpp"
#include "inputs/families.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

struct Profile {
  double within_64 = 0;       ///< mass of the keys at most 64 positions away
  double in_64_largest = 0;   ///< mass of the 64 heaviest keys
  double effective_keys = 0;  ///< exp of the mean entropy
  double needle = 0;          ///< mass of the needle
  double deviation = 0;       ///< of the scores
};

/// Softmax weights of a query over the keys that its mask allows.
std::vector<double> weights_of(const Problem& problem, const Inputs& inputs, HeadIndex head, std::int64_t query,
                               double& squares) {
  const float* q = inputs.view().q.matrix(BatchIndex{0}, head).row(query);
  const MatrixView<const float> keys = inputs.view().k.matrix(BatchIndex{0}, problem.shape.kv_head(head));
  std::vector<double> weights(static_cast<std::size_t>(problem.allowed(query)));
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const float* k = keys.row(static_cast<std::int64_t>(j));
    for (std::int64_t c = 0; c < keys.width; ++c) weights[j] += static_cast<double>(q[c]) * k[c];
    weights[j] *= problem.score_scale();
    squares += weights[j] * weights[j] / static_cast<double>(weights.size());
  }
  const double largest = *std::ranges::max_element(weights);
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  for (double& weight : weights) weight /= sum;
  return weights;
}

Profile profile_of(const Problem& problem) {
  constexpr int kSample = 64;  // queries of the second half, over all heads
  const Inputs inputs = make_inputs(problem);
  const Shape& shape = problem.shape;
  Profile mean;
  double entropy = 0;
  double squares = 0;
  for (std::int64_t s = 0; s < kSample; ++s) {
    const HeadIndex head{s % shape.heads};
    const std::int64_t i = shape.queries / 2 + s * (shape.queries / 2) / kSample;
    const std::int64_t position = problem.position(i);
    std::vector<double> weights = weights_of(problem, inputs, head, i, squares);
    const std::int64_t global = problem.first_head + head.value;
    mean.needle += weights[static_cast<std::size_t>(needle_index({problem.seed, 0, global, 0, i, position}))] / kSample;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      if (std::abs(static_cast<std::int64_t>(j) - position) <= 64) mean.within_64 += weights[j] / kSample;
      if (weights[j] > 0) entropy -= weights[j] * std::log(weights[j]) / kSample;
    }
    std::ranges::sort(weights, std::greater<>());
    for (int j = 0; j < 64; ++j) mean.in_64_largest += weights[static_cast<std::size_t>(j)] / kSample;
  }
  mean.effective_keys = std::exp(entropy);
  mean.deviation = std::sqrt(squares / kSample);
  return mean;
}

Problem long_problem(const std::string& input, std::int64_t dim, Mask mask) {
  Problem problem = problem_of(input, {1, 4, 2, 4096, 4096, dim, dim});
  problem.mask = mask;
  problem.seed = 11;
  return problem;
}

}  // namespace

TEST_CASE("profiles of the families") {
  const auto [dim, mask] =
      GENERATE(table<std::int64_t, Mask>({{64, Mask::none}, {64, Mask::causal}, {32, Mask::causal}}));
  INFO("dim " << dim << " mask " << name_of(mask));
  const Profile gaussian = profile_of(long_problem("gaussian", dim, mask));
  const Profile clustered = profile_of(long_problem("clustered", dim, mask));
  const Profile local = profile_of(long_problem("local", dim, mask));
  const Profile needle = profile_of(long_problem("needle", dim, mask));

  // Scores of deviation 1: effective keys are n * e^(-1/2), and 64 of 2048..4096 keys hold little.
  CHECK(gaussian.deviation == Approx(1).epsilon(0.1));
  CHECK(gaussian.effective_keys > 1000);
  CHECK(gaussian.in_64_largest < 0.25);
  CHECK(gaussian.within_64 < 0.1);

  // A cluster of about sqrt(n) keys, which lie anywhere.
  CHECK(clustered.in_64_largest > 3 * gaussian.in_64_largest);
  CHECK(clustered.in_64_largest > 0.6);
  CHECK(clustered.effective_keys < gaussian.effective_keys / 8);
  CHECK(clustered.within_64 < 0.15);

  CHECK(local.within_64 > 0.9);
  CHECK(local.effective_keys < 32);
  CHECK(local.effective_keys > 3);

  CHECK(needle.needle > 0.95);
  CHECK(needle.within_64 < 0.02);
  CHECK(needle.effective_keys < 1.5);
}

TEST_CASE("local and needle follow the position when a few queries attend to many keys") {
  Problem problem = long_problem("local", 64, Mask::causal);
  problem.shape.queries = 128;
  CHECK(profile_of(problem).within_64 > 0.9);
  problem.input = "needle";
  CHECK(profile_of(problem).needle > 0.95);
  CHECK(profile_of(problem).within_64 < 0.02);
}

TEST_CASE("real heads show the character that studies/data/README.md states") {
  Problem problem = problem_of("npy:" ATTNSCALE_SOURCE_DIR "/studies/data/bytelm-l2", {1, 1, 1, 8192, 8192, 64, 64});
  problem.mask = Mask::causal;
  problem.first_head = 1;
  CHECK(profile_of(problem).within_64 > 0.85);  // README: 0.94
  problem.first_head = 2;
  const Profile far = profile_of(problem);
  CHECK(far.within_64 < 0.35);      // README: 0.18
  CHECK(far.in_64_largest > 0.65);  // README: 0.78
}
