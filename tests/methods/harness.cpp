#include "harness.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

namespace attnscale::test {
namespace {

TestInputs make(const Problem& problem, const Padding& padding, const std::function<float()>& next) {
  TestInputs in{QueryTensor(problem.shape.query_extents(), padding), KeyTensor(problem.shape.key_extents(), padding),
                KeyTensor(problem.shape.value_extents(), padding)};
  const Fill any = [&next](auto...) { return next(); };
  fill(in.q, any);
  fill(in.k, any);
  fill(in.v, any);
  return in;
}

bool same_floats(const float* a, const float* b, std::int64_t count) {
  return std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(float)) == 0;
}

}  // namespace

TestInputs gaussian(const Problem& problem, const Padding& padding) {
  std::mt19937_64 bits(problem.seed + 12345);
  std::normal_distribution<float> normal;
  return make(problem, padding, [&] { return normal(bits); });
}

TestInputs eighths(const Problem& problem) {
  std::mt19937_64 bits(problem.seed + 54321);
  return make(problem, {}, [&] { return (static_cast<float>(bits() % 33) - 16.0f) / 8.0f; });
}

TestInputs zeros(const Problem& problem, const Padding& padding) {
  return make(problem, padding, [] { return 0.0f; });
}

Outcome run(const MethodSpec& spec, const Problem& problem, const Qkv& in, int threads, const Padding& padding) {
  const Plan plan = spec.method->plan(problem, spec.params);
  Padding unwritten = padding;
  unwritten.fill = kNaN;
  Outcome outcome{QueryTensor(problem.shape.output_extents(), unwritten),
                  QueryTensor(problem.shape.lse_extents(), unwritten),
                  std::vector<std::int32_t>(static_cast<std::size_t>(plan.choices), -7),
                  plan.cost,
                  {}};
  Workspace workspace(plan, threads, Workspace::kPoison);
  Executor executor(threads);
  const AttentionOutput out{outcome.out.view(), outcome.lse.view()};
  outcome.work = executor.run(plan, in, out, workspace, outcome.choices).work;
  return outcome;
}

bool same_bits(const Outcome& a, RowRef row_a, const Outcome& b, RowRef row_b) {
  const float lse_a = a.lse_of(row_a);
  const float lse_b = b.lse_of(row_b);
  return same_floats(a.row(row_a), b.row(row_b), a.out.extents().width) && same_floats(&lse_a, &lse_b, 1);
}

bool same_bits(const Outcome& a, const Outcome& b) {
  const Extents e = a.out.extents();
  for (std::int64_t bi = 0; bi < e.batch; ++bi) {
    for (std::int64_t h = 0; h < e.heads; ++h) {
      for (std::int64_t i = 0; i < e.rows; ++i) {
        const RowRef row{BatchIndex{bi}, HeadIndex{h}, i};
        if (!same_bits(a, row, b, row)) return false;
      }
    }
  }
  return true;
}

MethodSpec spec_of(const std::string& text) {
  return parse_method(text).at(0);
}

std::vector<RowRef> rows_of(const Problem& problem) {
  std::vector<RowRef> rows;
  for (std::int64_t b = 0; b < problem.shape.batch; ++b) {
    for (std::int64_t h = 0; h < problem.shape.heads; ++h) {
      for (std::int64_t i = 0; i < problem.shape.queries; ++i) rows.push_back({BatchIndex{b}, HeadIndex{h}, i});
    }
  }
  return rows;
}

std::vector<std::int32_t> groups_of(const MethodSpec& spec, const Problem& problem, const Outcome& outcome,
                                    RowRef row) {
  std::vector<std::int32_t> groups(static_cast<std::size_t>(problem.shape.keys), -7);
  spec.method->visible(problem, spec.params, outcome.choices)(row, groups);
  return groups;
}

double ratio_of(const ReferenceRow& reference, const Outcome& outcome, RowRef row) {
  const auto ratio = [](double error, double tolerance) {
    if (error == 0) return 0.0;
    return std::isnan(error) || tolerance == 0 ? kInfinity : error / tolerance;
  };
  const float* out = outcome.row(row);
  const double lse = outcome.lse_of(row);
  if (std::isnan(reference.lse)) {
    const bool all =
        std::isnan(lse) && std::all_of(out, out + reference.out.size(), [](float x) { return std::isnan(x); });
    return all ? 0 : kInfinity;
  }
  double square = 0;
  bool poisoned = false;
  for (std::size_t c = 0; c < reference.out.size(); ++c) {
    if (!std::isnan(reference.out[c])) continue;
    poisoned = true;
    if (!std::isnan(out[c])) return kInfinity;
  }
  for (std::size_t c = 0; c < reference.out.size(); ++c) {
    if (poisoned && std::isnan(out[c])) continue;
    square += std::pow(static_cast<double>(out[c]) - reference.out[c], 2);
  }
  // -inf is the right LSE of an empty row, and inf - inf would hide it.
  const double lse_error = lse == reference.lse ? 0 : std::abs(lse - reference.lse);
  return std::max(ratio(std::sqrt(square), reference.out_tolerance), ratio(lse_error, reference.lse_tolerance));
}

Comparison compare(const MethodSpec& spec, const Problem& problem, const Qkv& in, const Outcome& outcome) {
  const Reference oracle(problem, in, spec.shares_qk());
  const KeyGroups visible = spec.method->visible(problem, spec.params, outcome.choices);
  std::vector<std::int32_t> groups(static_cast<std::size_t>(problem.shape.keys));
  Comparison result;
  for (const RowRef row : rows_of(problem)) {
    std::fill(groups.begin(), groups.end(), -7);
    visible(row, groups);
    const ReferenceRow reference = oracle.row(row, groups);
    result.visible_pairs += reference.pseudo_keys;
    const double ratio = ratio_of(reference, outcome, row);
    if (ratio > result.worst) {
      result.worst = ratio;
      result.where = row;
    }
  }
  return result;
}

std::string describe(const MethodSpec& spec, const Problem& problem) {
  return spec.str() + " on " + problem.str();
}

bool same_partition(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  std::map<std::int32_t, std::int32_t> ab;
  std::map<std::int32_t, std::int32_t> ba;
  if (a.size() != b.size()) return false;
  for (std::size_t j = 0; j < a.size(); ++j) {
    if ((a[j] < 0) != (b[j] < 0)) return false;
    if (a[j] < 0) continue;
    if (ab.try_emplace(a[j], b[j]).first->second != b[j]) return false;
    if (ba.try_emplace(b[j], a[j]).first->second != a[j]) return false;
  }
  return true;
}

}  // namespace attnscale::test
