#include "measure/timing.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <stdexcept>

#include "measure/sampler.hpp"
#include "support/catch.hpp"

using namespace attnscale;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Work whose result cannot be dropped.
std::function<void()> work(int steps) {
  return [steps] {
    volatile int sum = 0;
    for (int i = 0; i < steps; ++i) sum = sum + i;
  };
}

/// Lasts at least `time`, so that a lower bound can be relied on.
void spend(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

TimingOptions fast() {
  TimingOptions options;
  options.min_rounds = 3;
  options.max_time_s = 1e9;
  options.sample_floor_ns = 1000;
  return options;
}

/// A half width that gets below any precision at `count` values.
RelativeHalfWidth precise_at(std::size_t count) {
  return [count](const std::vector<double>& values) { return values.size() >= count ? 0.0 : kNever; };
}

}  // namespace

TEST_CASE("a sample calls exactly as often as asked and reports time per call") {
  int calls = 0;
  const Sample sample = take_sample({"count", [&] { ++calls; }, nullptr}, 17);
  CHECK(calls == 17);
  CHECK(sample.iterations == 17);
  CHECK(sample.time_ns >= 0);
  CHECK(sample.error.empty());
  CHECK(sample.stages.empty());
}

TEST_CASE("stages are read after each call and given per call, in order of first appearance") {
  std::int64_t calls = 0;
  Timed timed{"staged", [&] { ++calls; }, nullptr};
  timed.stages = [&] {
    return std::vector<std::pair<std::string, std::int64_t>>{{"sort", 10 * calls}, {"attend", 1}, {"sort", 2}};
  };
  const Sample sample = take_sample(timed, 3);
  REQUIRE(sample.stages.size() == 2);
  CHECK(sample.stages[0].first == "sort");
  CHECK(sample.stages[0].second == Approx((10 + 20 + 30) / 3.0 + 2));
  CHECK(sample.stages[1].first == "attend");
  CHECK(sample.stages[1].second == Approx(1));
}

TEST_CASE("rounds are interleaved, complete and in the seeded order") {
  std::vector<Timed> callables;
  std::vector<int> called;
  for (int i = 0; i < 4; ++i) {
    callables.push_back({std::to_string(i),
                         [&called, i] {
                           if (called.empty() || called.back() != i) called.push_back(i);
                           work(100)();
                         },
                         nullptr});
  }
  TimingOptions options = fast();
  options.seed = 5;
  const std::vector<Timing> timings = measure_interleaved(callables, options, precise_at(6), nullptr);
  REQUIRE(timings.size() == 4);
  std::vector<std::set<int>> places(4);
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(timings[i].samples.size() == 6);
    CHECK(timings[i].error.empty());
    std::int64_t before = -1;
    for (int round = 0; round < 6; ++round) {
      const TimeSample& sample = timings[i].samples[static_cast<std::size_t>(round)];
      CHECK(sample.round == round);
      CHECK(sample.start_ns > before);
      before = sample.start_ns;
      first = std::min(first, sample.start_ns);
      CHECK(sample.iterations >= 1);
      CHECK(sample.time_ns > 0);
      if (round < 4) places[i].insert(sample.order);
    }
    CHECK(places[i] == std::set<int>{0, 1, 2, 3});
  }
  CHECK(first == 0);
  // The order of the calls is that of the record, and another seed gives another one.
  std::vector<int> round0(4);
  for (std::size_t i = 0; i < 4; ++i) {
    round0[static_cast<std::size_t>(timings[i].samples[0].order)] = static_cast<int>(i);
  }
  std::vector<int> expected{0, 1, 2, 3};  // warm-up and calibration
  expected.insert(expected.end(), round0.begin() + (round0[0] == 3 ? 1 : 0), round0.end());
  CHECK(std::equal(expected.begin(), expected.end(), called.begin()));
}

TEST_CASE("iterations fill the floor of a sample; long calls run once") {
  TimingOptions options = fast();
  options.sample_floor_ns = 200e3;
  int calls = 0;
  const auto timings = measure_interleaved({{"short", work(300), nullptr},
                                            {"long",
                                             [&] {
                                               ++calls;
                                               spend(std::chrono::milliseconds(3));
                                             },
                                             nullptr}},
                                           options, precise_at(5), nullptr);
  for (const TimeSample& sample : timings[0].samples) CHECK(sample.iterations > 1);
  for (const TimeSample& sample : timings[1].samples) CHECK(sample.iterations == 1);
  CHECK(calls == 2 + 5);
}

TEST_CASE("min_rounds are always taken, and max_time ends what never gets precise") {
  TimingOptions options = fast();
  options.max_time_s = 0;
  options.min_rounds = 4;
  for (const int baseline : {-1, 0, 1}) {
    options.baseline = baseline;
    const auto timings = measure_interleaved(
        {{"a", work(10), nullptr}, {"b", work(10), nullptr}}, options, [](const auto&) { return kNever; }, nullptr);
    CHECK(timings[0].samples.size() == 4);
    CHECK(timings[1].samples.size() == 4);
  }
  options.baseline = -1;
  options.max_time_s = 0.02;
  const auto timings = measure_interleaved(
      {{"a", work(10), nullptr}}, options, [](const auto&) { return kNever; }, nullptr);
  CHECK(timings[0].samples.size() >= 4);
}

TEST_CASE("ratios to the baseline decide, and the baseline stays until the last has left") {
  TimingOptions options = fast();
  options.baseline = 1;
  options.sample_floor_ns = 50e3;
  std::vector<double> seen;
  const auto half_width = [&](const std::vector<double>& values) {
    seen.insert(seen.end(), values.begin(), values.end());
    // "fast" and "slow" get precise at 5 and 8 values. The median tells them apart even when some calls are
    // interrupted.
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return values.size() >= (sorted[sorted.size() / 2] < 1 ? 5U : 8U) ? 0.0 : kNever;
  };
  const auto spending = [](int microseconds) {
    return [microseconds] { spend(std::chrono::microseconds(microseconds)); };
  };
  const auto timings = measure_interleaved(
      {{"fast", spending(10), nullptr}, {"base", spending(500), nullptr}, {"slow", spending(8000), nullptr}}, options,
      half_width, nullptr);
  CHECK(timings[0].samples.size() == 5);
  CHECK(timings[1].samples.size() == 8);
  CHECK(timings[2].samples.size() == 8);
  REQUIRE_FALSE(seen.empty());
  for (const double value : seen) CHECK(value < 10000);  // ratios: as times in ns all would be larger
}

TEST_CASE("when the baseline's time is up all leave") {
  TimingOptions options = fast();
  options.baseline = 0;
  options.max_time_s = 1e-9;
  const auto timings = measure_interleaved(
      {{"base", work(10), nullptr}, {"other", work(10), nullptr}}, options, [](const auto&) { return kNever; },
      nullptr);
  CHECK(timings[0].samples.size() == 3);
  CHECK(timings[1].samples.size() == 3);
}

TEST_CASE("a lone baseline is judged by its own times") {
  TimingOptions options = fast();
  options.baseline = 0;
  const auto timings = measure_interleaved({{"base", work(10), nullptr}}, options, precise_at(9), nullptr);
  CHECK(timings[0].samples.size() == 9);
}

TEST_CASE("a callable that throws leaves with its error and the others go on") {
  TimingOptions options = fast();
  options.baseline = 0;
  int calls = 0;
  const Timed late{"late",
                   [&] {
                     spend(std::chrono::microseconds(20));  // far above the floor: one call per sample
                     if (++calls == 5) throw std::runtime_error("call 5");
                   },
                   nullptr};
  const Timed never{"never", [] { throw 3; }, nullptr};
  const Timed good{"good", work(100), nullptr};
  auto timings = measure_interleaved({good, late, never}, options, precise_at(6), nullptr);
  CHECK(timings[0].samples.size() == 6);
  CHECK(timings[0].error.empty());
  CHECK(timings[1].samples.size() == 2);  // the first two calls were warm-up and calibration, the fifth threw
  CHECK(timings[1].error == "call 5");
  CHECK(timings[2].samples.empty());
  CHECK(timings[2].error == "an unknown exception");

  // A baseline that throws leaves the others to their own times.
  timings = measure_interleaved({never, good}, options, precise_at(6), nullptr);
  CHECK(timings[0].samples.empty());
  CHECK(timings[1].samples.size() == 6);
}

TEST_CASE("stages are recorded by round") {
  Timed timed{"staged", work(100), [] {
                return std::vector<std::pair<std::string, std::int64_t>>{{"hash", 30}, {"sort", 70}};
              }};
  const auto timings = measure_interleaved({timed}, fast(), precise_at(3), nullptr);
  REQUIRE(timings[0].stages.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(timings[0].stages[i].round == static_cast<int>(i / 2));
    CHECK(timings[0].stages[i].stage == (i % 2 == 0 ? "hash" : "sort"));
    CHECK(timings[0].stages[i].time_ns == Approx(i % 2 == 0 ? 30 : 70));
  }
}

TEST_CASE("keep_going ends the measurement with what there is") {
  int calls = 0;
  const std::vector<Timed> callables{{"a", [&] { ++calls; }, nullptr}, {"b", [&] { ++calls; }, nullptr}};
  CHECK(measure_interleaved(callables, fast(), precise_at(9), [] { return false; }).size() == 2);
  CHECK(calls == 0);

  TimingOptions options = fast();
  options.sample_floor_ns = 0;  // no calibration beyond one call each
  int left = 4 + 5;             // two questions per callable before the rounds, then five samples
  const auto timings = measure_interleaved(callables, options, precise_at(9), [&] { return left-- > 0; });
  CHECK(timings[0].samples.size() + timings[1].samples.size() == 5);
}

TEST_CASE("nothing to measure is no measurement") {
  CHECK(measure_interleaved({}, fast(), precise_at(1), nullptr).empty());
}

TEST_CASE("before each sample the given function runs, outside its time; without a floor a sample is one call") {
  std::string order;
  TimingOptions options = fast();
  options.sample_floor_ns = 0;
  options.before_sample = [&] {
    order += 'b';
    spend(std::chrono::milliseconds(2));
  };
  const std::vector<Timing> timings =
      measure_interleaved({{"x", [&] { order += 'x'; }, nullptr}}, options, precise_at(5), nullptr);
  REQUIRE(timings[0].samples.size() == 5);
  std::string expected;
  for (std::size_t i = 0; i < order.size() / 2; ++i) expected += "bx";
  CHECK(order == expected);
  double sampled_ns = 0;
  for (const TimeSample& sample : timings[0].samples) {
    CHECK(sample.iterations == 1);
    sampled_ns += sample.time_ns;
  }
  CHECK(timings[0].before_ns >= 2e6 * static_cast<double>(order.size() / 2));
  CHECK(timings[0].calls_ns >= sampled_ns);
}

TEST_CASE("the time inside calls covers warm-up, calibration and samples") {
  const auto call = [] { spend(std::chrono::microseconds(500)); };
  const std::vector<Timing> timings = measure_interleaved({{"x", call, nullptr}}, fast(), precise_at(3), nullptr);
  double sampled_ns = 0;
  for (const TimeSample& sample : timings[0].samples)
    sampled_ns += sample.time_ns * static_cast<double>(sample.iterations);
  CHECK(timings[0].calls_ns >= sampled_ns + 500e3);
  CHECK(timings[0].before_ns == 0);
}
