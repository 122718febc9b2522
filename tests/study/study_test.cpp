#include "study/study.hpp"

#include "study/keys.hpp"
#include "support.hpp"

namespace attnscale::test {

TEST_CASE("a run without any key has the documented defaults") {
  const Run run = parse_run({});
  REQUIRE(run.methods.size() == 1);
  CHECK(run.methods[0].str() == "exact.streaming");
  CHECK(run.lengths.size() == 1);
  CHECK(run.lengths[0].keys == 0);
  CHECK(run.inputs == std::vector<std::string>{"gaussian"});
  CHECK(run.seeds == std::vector<std::uint64_t>{0});
  CHECK(run.threads == std::vector<int>{1});
  CHECK_FALSE(run.causal);
  CHECK(run.options == RunOptions{0.01, 2, 7, 60, ""});
}

TEST_CASE("methods come from several texts, expand their ranges and count once") {
  const Run run = parse_run({{"methods", {"window:w=16/32 topk", "window:w=16"}}});
  REQUIRE(run.methods.size() == 3);
  CHECK(run.methods[0].str() == "window:w=16,dilation=1,edge=truncate");
  CHECK(run.methods[1].str() == "window:w=32,dilation=1,edge=truncate");
  CHECK(run.methods[2].method->name == "topk");
  CHECK(parse_run({{"methods", {"all"}}}).methods.size() == catalog().size());
}

TEST_CASE("seeds count up from seed") {
  CHECK(parse_run({{"seeds", {"3"}}, {"seed", {"7"}}}).seeds == std::vector<std::uint64_t>{7, 8, 9});
  CHECK(parse_run({{"seeds", {"2"}}, {"seed", {"0,1"}}}).seeds == std::vector<std::uint64_t>{0, 1, 2});
}

TEST_CASE("rounds fixes their number") {
  const Run run = parse_run({{"rounds", {"3"}}});
  CHECK(run.options.min_rounds == 3);
  CHECK(run.options.max_time_s == 0);
}

TEST_CASE("times are seconds, s or ms") {
  CHECK(parse_seconds("2", "max-time") == 2);
  CHECK(parse_seconds("2.5s", "max-time") == 2.5);
  CHECK(parse_seconds("250ms", "max-time") == 0.25);
  for (const char* bad : {"", "s", "ms", "-1", "2m", "1e99", "nan"}) {
    INFO(bad);
    CHECK(holds(input_error([&] { (void)parse_seconds(bad, "max-time"); }), "max-time"));
  }
}

TEST_CASE("queries and keys together give their products") {
  const Run run = parse_run({{"queries", {"1,2"}}, {"keys", {"8"}}});
  REQUIRE(run.lengths.size() == 2);
  CHECK(run.lengths[1].queries == 2);
  CHECK(run.lengths[1].keys == 8);
}

TEST_CASE("bad values are one sentence that names the key") {
  struct Case {
    const char* key;
    const char* value;
    const char* says;
  };
  const Case cases[] = {
      {"n", "0", "nearest valid value is 1"},
      {"n", "-5", "nearest valid value is 1"},
      {"n", "2147483649", "nearest valid value"},
      {"n", "99999999999999999999", "out of range"},
      {"n", "many", "not a whole number"},
      {"n", "8..4x2", "8..4"},
      {"n", "8..4", "8..4"},
      {"n", "", "n"},
      {"dim", "0", "nearest valid value is 1"},
      {"heads", "x", "heads"},
      {"threads", "0", "threads"},
      {"temperature", "0", "temperature"},
      {"temperature", "hot", "temperature"},
      {"seed", "-1", "seed"},
      {"seeds", "0", "seeds"},
      {"input", "gausian", "gaussian"},
      {"simd", "avx9", "SIMD"},
      {"causal", "maybe", "true or false"},
      {"precision", "-1", "precision"},
      {"max-time", "long", "max-time"},
      {"min-rounds", "0", "min-rounds"},
      {"cell-budget", "-1", "cell-budget"},
      {"methods", "windw", "did you mean 'window'"},
      {"methods", "window:v=3", "'w'"},
      {"methods", "window:w=-1", "w"},
      {"methods", "topk:k=0", "k"},
      {"methods", "bigbird:block=0", "block"},
      {"methods", " ", "methods"},
  };
  for (const Case& c : cases) {
    INFO(c.key << " = " << c.value);
    const std::string sentence = input_error([&] { parse_run({{c.key, {c.value}}}); });
    CHECK(holds(sentence, c.says));
    CHECK(sentence.find('\n') == std::string::npos);
  }
}

TEST_CASE("contradictions are refused") {
  CHECK(holds(input_error([] { parse_run({{"n", {"8"}}, {"keys", {"8"}}}); }), "n is given together"));
  CHECK(holds(input_error([] { parse_run({{"queries", {"8"}}}); }), "without keys"));
  CHECK(holds(input_error([] { parse_run({{"keys", {"8"}}}); }), "without queries"));
  CHECK(holds(input_error([] { parse_run({{"rounds", {"8"}}, {"min-rounds", {"8"}}}); }), "rounds"));
}

TEST_CASE("what is laid over a run replaces it, key by key") {
  const Settings file = {{"n", {"64"}}, {"heads", {"2"}}, {"min-rounds", {"9"}}};
  const Settings merged = overlay(file, {{"heads", {"4"}}, {"rounds", {"1"}}});
  CHECK(merged.at("heads") == std::vector<std::string>{"4"});
  CHECK(merged.at("n") == std::vector<std::string>{"64"});
  CHECK_FALSE(merged.contains("min-rounds"));
  const Settings apart = overlay(file, {{"queries", {"8"}}});
  CHECK_FALSE(apart.contains("n"));
  CHECK(apart.at("keys") == std::vector<std::string>{"64"});
  const Settings joined = overlay({{"queries", {"8"}}, {"keys", {"9"}}}, {{"n", {"64"}}});
  CHECK_FALSE(joined.contains("queries"));
  CHECK_FALSE(joined.contains("keys"));
}

TEST_CASE("the environment sets keys") {
  setenv("ATTNSCALE_MAX_TIME", "3s", 1);
  setenv("ATTNSCALE_KV_HEADS", "2", 1);
  const Settings settings = settings_of_environment();
  unsetenv("ATTNSCALE_MAX_TIME");
  unsetenv("ATTNSCALE_KV_HEADS");
  CHECK(settings.at("max-time") == std::vector<std::string>{"3s"});
  CHECK(settings.at("kv-heads") == std::vector<std::string>{"2"});
}

}  // namespace attnscale::test
