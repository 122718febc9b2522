#include "study/fits.hpp"

#include "core/numbers.hpp"
#include "study/budget.hpp"
#include "support.hpp"

namespace attnscale::test {
namespace {

Record row(const char* method, std::int64_t n, double time_ns, std::int64_t pairs, const char* input = "gaussian") {
  Record r;
  r.method = method;
  r.status = "ok";
  r.input = input;
  r.mask = "none";
  r.queries = r.keys = n;
  r.time_ns_median = time_ns;
  r.visible_pairs = pairs;
  r.complexity = "O(n^2)";
  r.baseline = "exact.streaming";
  return r;
}

std::vector<Record> quadratic(const char* input) {
  std::vector<Record> records;
  for (std::int64_t n = 64; n <= 2048; n *= 2)
    records.push_back(row("m", n, 2.0 * static_cast<double>(n * n), n * n, input));
  return records;
}

const FitRow& find(const std::vector<FitRow>& fits, const std::string& quantity) {
  for (const FitRow& fit : fits) {
    if (fit.quantity == quantity) return fit;
  }
  FAIL("no fit of " << quantity);
  return fits.front();
}

}  // namespace

TEST_CASE("counted pairs of a quadratic method fit n^2") {
  const std::vector<FitRow> fits = fit_records(quadratic("gaussian"), {});
  const FitRow pairs = find(fits, "visible_pairs");
  CHECK(pairs.method == "m");
  CHECK(pairs.series.empty());
  CHECK(*pairs.exponent == Approx(2).margin(0.01));
  CHECK(pairs.sizes == 6);
  CHECK(pairs.n_min == 64);
  CHECK(pairs.n_max == 2048);
  CHECK(pairs.verdict == "agrees");
  CHECK(*find(fits, "time_ns_median").exponent == Approx(2).margin(0.05));
  CHECK(holds(fits_text(fits), "n^2.00"));
}

TEST_CASE("series that differ in more than n are fitted apart and named") {
  std::vector<Record> records = quadratic("gaussian");
  for (const Record& r : quadratic("local")) records.push_back(r);
  const std::vector<FitRow> fits = fit_records(records, {});
  CHECK(fits.front().series == "input=gaussian");
  CHECK(fits.back().series == "input=local");
  CHECK(holds(fits_text(fits), "m [input=local]"));
}

TEST_CASE("rows that are not ok are no points, and too few points are refused") {
  std::vector<Record> records = quadratic("gaussian");
  for (std::size_t i = 0; i < 3; ++i) records[i].status = name_of(Outcome::failed);
  const std::vector<FitRow> fits = fit_records(records, {});
  CHECK(find(fits, "visible_pairs").sizes == 3);
  CHECK_FALSE(find(fits, "visible_pairs").exponent);
  CHECK(holds(find(fits, "visible_pairs").verdict, "refused"));
  CHECK(fits_text(fits).empty());
}

TEST_CASE("a long run is shown by its longest rows and all that went wrong") {
  std::vector<Record> records = quadratic("gaussian");
  for (const Record& r : quadratic("local")) records.push_back(r);
  records[1].status = name_of(Outcome::incorrect);
  const std::vector<Record> shown = longest_rows(records);
  REQUIRE(shown.size() == 3);
  CHECK(shown[0].keys == 128);
  CHECK(shown[1].keys == 2048);
  CHECK(shown[2].input == "local");
}

TEST_CASE("a crossover is named for every method but the baseline") {
  std::vector<Record> records = quadratic("gaussian");
  double ratio = 4;
  for (Record& r : records) {
    r.ratio_to_exact = ratio;
    ratio /= 2;
  }
  CHECK(holds(crossovers_text(records), "m: faster from"));
  for (Record& r : records) r.baseline = r.method;
  CHECK(crossovers_text(records).empty());
}

TEST_CASE("the time model starts from the calibration and learns") {
  Problem problem;
  problem.shape.queries = problem.shape.keys = 100;
  const MethodSpec exact = parse_method("exact.streaming").front();
  const Cost cost = exact.method->plan(problem, exact.params).cost;
  TimeModel model(0.5);
  const double flops = 2.0 * (64 + 64) * 100 * 100;
  CHECK(model.predict_ns(exact, problem, cost, 1) == Approx(0.5 * flops));
  CHECK(model.predict_ns(exact, problem, cost, 2) == Approx(0.25 * flops));
  model.learn(exact, problem, cost, {10000, 10000}, 1, 3 * flops);
  CHECK(model.predict_ns(exact, problem, cost, 1) == Approx(3 * flops));
}

TEST_CASE("pairs that only a run can count are taken to grow with the keys") {
  Problem problem;
  problem.shape.queries = problem.shape.keys = 4000;
  const MethodSpec lsh = parse_method("lsh").front();
  const Cost unknown;
  TimeModel model(1);
  const double before = model.predict_ns(lsh, problem, unknown, 1);
  CHECK(before == Approx(2 * 2.0 * (64 + 64) * 4000 * 1024));  // 1024 per row, and twice as slow as exact attention
  Problem seen = problem;
  seen.shape.queries = seen.shape.keys = 1000;
  const double flops = 2.0 * (64 + 64) * 1000 * 50;
  model.learn(lsh, seen, unknown, {1000 * 50, 1000 * 50}, 1, flops);
  CHECK(model.predict_ns(lsh, problem, unknown, 1) == Approx(2.0 * (64 + 64) * 4000 * 50 * 4));
  seen.shape.keys = 500;  // fewer keys: not fewer pairs
  CHECK(model.predict_ns(lsh, seen, unknown, 1) == Approx(flops));
}

TEST_CASE("memory is predicted in closed form") {
  const Shape shape{2, 4, 2, 10, 20, 8, 6};
  CHECK(input_bytes(shape) == 4 * (2 * 4 * 10 * 8 + 2 * 2 * 20 * (8 + 6)));
  CHECK(output_bytes(shape) == 4 * 2 * 4 * 10 * (6 + 1));
  Problem huge;
  huge.shape = {65536, 65536, 65536, kLongestSequence, kLongestSequence, 65536, 65536};
  CHECK(problem_bytes(huge, 2) > std::int64_t{1} << 60);  // saturates, never wraps
}

}  // namespace attnscale::test
