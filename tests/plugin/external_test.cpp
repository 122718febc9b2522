// The seam for methods from outside, with outsiders that are closures of this file. They stay in the catalogue of this
// test program, so each test brings names of its own.
#include "methods/external.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "study/support.hpp"

namespace attnscale::test {
namespace {

// Exact attention of one row, naively in fp64.
void attend_row(const Problem& problem, const Qkv& in, const AttentionOutput& out, RowRef row) {
  const KvHeadIndex kv = problem.shape.kv_head(row.head);
  const MatrixView<const float> k = in.k.matrix(row.batch, kv);
  const MatrixView<const float> v = in.v.matrix(row.batch, kv);
  const float* q = in.q.matrix(row.batch, row.head).row(row.query);
  float* o = out.out.matrix(row.batch, row.head).row(row.query);
  std::vector<double> sums(static_cast<std::size_t>(v.width), 0);
  double total = 0;
  for (std::int64_t j = 0; j < problem.allowed(row.query); ++j) {
    double score = 0;
    for (std::int64_t c = 0; c < k.width; ++c) score += static_cast<double>(q[c]) * k.row(j)[c];
    const double weight = std::exp(problem.score_scale() * score);
    total += weight;
    for (std::int64_t c = 0; c < v.width; ++c) sums[static_cast<std::size_t>(c)] += weight * v.row(j)[c];
  }
  for (std::int64_t c = 0; c < v.width; ++c) o[c] = static_cast<float>(sums[static_cast<std::size_t>(c)] / total);
  out.lse.matrix(row.batch, row.head).row(row.query)[0] = static_cast<float>(std::log(total));
}

void attend(const Problem& problem, const Qkv& in, const AttentionOutput& out) {
  const Shape& s = problem.shape;
  for (BatchIndex b{0}; b.value < s.batch; ++b.value) {
    for (HeadIndex h{0}; h.value < s.heads; ++h.value) {
      for (std::int64_t i = 0; i < s.queries; ++i) attend_row(problem, in, out, {b, h, i});
    }
  }
}

Plan right_plan(const Problem& problem, const Params&, int) {
  return call_plan(external_cost(problem, all_pairs(problem)),
                   [problem](const Qkv& in, const AttentionOutput& out) { attend(problem, in, out); });
}

Method outsider(const char* name) {
  Method method;
  method.name = name;
  method.summary = "an outsider";
  method.complexity = "O(n^2)";
  method.origin = "--outside";
  method.plan_with_threads = right_plan;
  return method;
}

Record only_row(const char* name, const Settings& more = {}) {
  Settings settings = {{"methods", {name}}, {"n", {"24"}}, {"dim", {"4"}}};
  for (const auto& [key, values] : more) settings[key] = values;
  return row_of(run_cells(settings), name);
}

// A method whose own clock says `own_ns` for calls of about half a millisecond.
Method with_clock(const char* name, std::int64_t own_ns) {
  Method method = outsider(name);
  method.plan_with_threads = [own_ns](const Problem& problem, const Params& params, int threads) {
    Plan plan = right_plan(problem, params, threads);
    plan.own_time_ns = [own_ns] { return own_ns; };
    return plan;
  };
  return method;
}

}  // namespace

TEST_CASE("a method from outside is found, listed, verified and measured like ours") {
  const std::size_t before = catalog().size();
  {
    std::string name = "outside.right";
    add_method(outsider(name.c_str()));
    name.assign(name.size(), 'x');  // the catalogue keeps copies
  }
  REQUIRE(catalog().size() == before + 1);
  REQUIRE(find_method("outside.right") == catalog().back());
  CHECK(catalog()[0]->name == "exact.materialized");
  CHECK(holds(input_error([] { parse_method("outside.rigth"); }), "did you mean 'outside.right'"));
  const Record row = only_row("outside.right", {{"causal", {"true"}}, {"heads", {"4"}}, {"kv-heads", {"2"}}});
  INFO(row.reason);
  CHECK(row.status == "ok");
  CHECK(row.visible_pairs == 4 * 24 * 25 / 2);
  CHECK(*row.impl_ratio < 1);
  CHECK(row.lse_error);
  CHECK(row.time_ns_median);
  CHECK(row.ratio_to_exact);
  CHECK(row.repro.ends_with(" --outside"));
}

TEST_CASE("a plan from outside is told the number of threads") {
  Method method = outsider("outside.threads");
  int told = 0;
  method.plan_with_threads = [&told](const Problem& problem, const Params& params, int threads) {
    told = threads;
    return right_plan(problem, params, threads);
  };
  add_method(method);
  CHECK(only_row("outside.threads", {{"threads", {"2"}}}).status == "ok");
  CHECK(told == 2);
}

TEST_CASE("names that are taken or cannot be typed, and parameters that cannot be, are refused") {
  const auto refusal = [](const Method& method) { return input_error([&] { add_method(method); }); };
  const std::size_t before = catalog().size();
  CHECK(holds(refusal(outsider("window")), "--outside brings a method named 'window', which the program has"));
  for (const char* name : {"", "all", "a b", "a:b", "a,b", "a=b", "a/b", "\xc3\xa9"})
    CHECK(holds(refusal(outsider(name)), "a name has 1 to 64"));
  CHECK(holds(refusal(outsider(std::string(65, 'a').c_str())), "a name has 1 to 64"));

  Method method = outsider("outside.refused");
  method.plan_with_threads = nullptr;
  CHECK(holds(refusal(method), "without a plan"));
  method = outsider("outside.refused");
  method.contract = Contract::pruned;
  CHECK(holds(refusal(method), "could not be verified"));
  const ParamSpec good{"w", ParamKind::integer, "4", 1, 9, "", ""};
  ParamSpec nameless = good, low = good;
  nameless.name = "";
  low.fallback = "0";
  method = outsider("outside.refused");
  method.params = {&nameless, 1};
  CHECK(holds(refusal(method), "needs a name of its own"));
  method.params = {&low, 1};
  CHECK(holds(refusal(method), "nearest valid value is 1"));
  const std::array twice = {good, good};
  method.params = twice;
  CHECK(holds(refusal(method), "needs a name of its own"));
  CHECK(catalog().size() == before);
}

TEST_CASE("what a method from outside throws is the reason of a row failed, wherever it throws") {
  Method method = outsider("outside.plan");
  method.plan_with_threads = [](const Problem&, const Params&, int) -> Plan { throw std::runtime_error("no plan"); };
  add_method(method);
  CHECK(only_row("outside.plan").status == "failed");
  CHECK(only_row("outside.plan").reason == "no plan");
  const std::vector<Prediction> predictions = predict(groups_of({{"methods", {"outside.plan window"}}, {"n", {"8"}}}));
  REQUIRE(predictions.size() == 3);
  CHECK(predictions[1].outcome == Outcome::failed);
  CHECK(predictions[2].outcome == Outcome::ok);

  method = outsider("outside.asked");
  method.unsupported = [](const Problem&, const Params&) -> std::optional<std::string> {
    throw std::runtime_error("no answer");
  };
  add_method(method);
  CHECK(only_row("outside.asked").reason == "no answer");

  method = outsider("outside.third");
  method.plan_with_threads = [](const Problem& problem, const Params&, int) {
    auto calls = std::make_shared<int>(0);
    return call_plan(external_cost(problem, all_pairs(problem)),
                     [problem, calls](const Qkv& in, const AttentionOutput& out) {
                       if (++*calls == 3) throw std::runtime_error("no third call");
                       attend(problem, in, out);
                     });
  };
  add_method(method);
  const std::vector<Cell> cells = run_cells({{"methods", {"outside.third window"}}, {"n", {"16"}}});
  CHECK(row_of(cells, "outside.third").status == "failed");
  CHECK(row_of(cells, "outside.third").reason == "no third call");
  CHECK(row_of(cells, "window:w=256").status == "ok");
}

TEST_CASE("without a log-sum-exp the output alone is verified, and the row says so") {
  Method method = outsider("outside.bare");
  method.gives_lse = false;
  method.plan_with_threads = [](const Problem& problem, const Params&, int) {
    return call_plan(external_cost(problem, all_pairs(problem)), [problem](const Qkv& in, const AttentionOutput& out) {
      attend(problem, in, out);
      for (std::int64_t i = 0; i < problem.shape.queries; ++i)
        out.lse.matrix(BatchIndex{0}, HeadIndex{0}).row(i)[0] = std::numeric_limits<float>::quiet_NaN();
    });
  };
  add_method(method);
  const Record row = only_row("outside.bare");
  CHECK(row.status == "ok");
  CHECK(holds(row.reason, "no log-sum-exp"));
  CHECK_FALSE(row.lse_error);
  CHECK(row.impl_error);
  method.name = "outside.claims";
  method.gives_lse = true;
  add_method(method);
  CHECK(only_row("outside.claims").status == "incorrect");
}

TEST_CASE("a method's own clock gives the times, unless it says more than ours") {
  add_method(with_clock("outside.clock", 1));
  const Record row = only_row("outside.clock");
  INFO(row.reason);
  CHECK(row.status == "ok");
  CHECK(row.time_ns_median == Approx(1));
  add_method(with_clock("outside.slow", std::int64_t{3600} * 1'000'000'000));
  CHECK(only_row("outside.slow").status == "failed");
  CHECK(holds(only_row("outside.slow").reason, "its own clock says 3600000000000 ns"));
  add_method(with_clock("outside.still", 0));
  CHECK(only_row("outside.still").status == "failed");
}

TEST_CASE("a stranger's text is cut and made printable") {
  CHECK(plain_text(nullptr).empty());
  CHECK(plain_text("a\n\"b\"\t\xff") == "a \"b\" ?");
  const std::string longer(301, 'x');
  CHECK(plain_text(longer.c_str()) == longer.substr(1) + "...");
  CHECK(plain_text(longer.c_str() + 1) == longer.substr(1));
}

}  // namespace attnscale::test
