// JSON lines and run.json.
#include <limits>

#include <nlohmann/json.hpp>

#include "record/jsonl.hpp"
#include "record/run_info.hpp"
#include "record/support.hpp"

using namespace attnscale;
using namespace attnscale::test;

TEST_CASE("records read back from JSON lines, specials included") {
  const Scratch scratch;
  Record special = full_row<Record>(1);
  special.rel_fro = std::numeric_limits<double>::infinity();
  special.max_abs = -std::numeric_limits<double>::infinity();
  const std::vector<Record> records = {full_row<Record>(), Record{}, special};
  const std::string text = jsonl_text(records);
  write(scratch / "a.jsonl", text);
  CHECK(read_jsonl(scratch / "a.jsonl") == records);
  CHECK(contains(text, "\"rel_fro\":\"Inf\""));
  CHECK(contains(text, "\"max_abs\":\"-Inf\""));
  special.rel_fro = std::nan("");
  write(scratch / "nan.jsonl", json_line(special));
  CHECK(std::isnan(read_jsonl(scratch / "nan.jsonl").at(0).rel_fro.value()));
}

TEST_CASE("every line is valid JSON with every field in order, empty ones null") {
  const auto json = nlohmann::ordered_json::parse(json_line(Record{}));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  REQUIRE(keys.size() == fields_of<Record>().size());
  for (std::size_t i = 0; i < keys.size(); ++i) CHECK(keys[i] == fields_of<Record>()[i].name);
  CHECK(json["rel_fro"].is_null());
  CHECK(json["method"].is_null());
  Record broken;
  broken.reason = "not \xff UTF-8";
  CHECK(nlohmann::json::accept(json_line(broken)));
}

TEST_CASE("bad JSON lines are named") {
  const Scratch scratch;
  const auto error = [&](const std::string& text) {
    write(scratch / "x.jsonl", text);
    const std::string message = message_of<InputError>([&] { read_jsonl(scratch / "x.jsonl"); });
    return message.substr(message.find("x.jsonl"));
  };
  const std::string good = json_line(Record{});
  CHECK(error(good + "{\n") == "x.jsonl line 2 is not valid JSON");
  CHECK(error("[1]\n") == "x.jsonl line 1 is not a JSON object");
  CHECK(error("{}\n") ==
        "x.jsonl line 1: schema_version is missing where this program reads 1; use the program that wrote the file");
  CHECK(contains(error("{\"schema_version\":2}\n"), "schema_version is 2"));
  CHECK(error("{\"schema_version\":1,\"queries\":\"x\"}\n") ==
        "x.jsonl line 1, field queries: '\"x\"' is not of type integer");
  CHECK(contains(error("{\"schema_version\":1,\"queries\":18446744073709551615}\n"), "is not of type integer"));
  CHECK(contains(error("{\"schema_version\":1,\"dirty\":1}\n"), "field dirty"));
  CHECK(contains(error("{\"schema_version\":1,\"method\":7}\n"), "field method"));
}

TEST_CASE("run information keeps sections, order and types") {
  RunInfo run;
  run.set("machine", "cpu", std::string("A \"CPU\""));
  run.set("machine", "cores", std::int64_t{2});
  run.set("run", "precision", 0.01);
  run.set("run", "dirty", true);
  run.set("machine", "cores", std::int64_t{4});
  CHECK(parse_run_json(run_json(run), "run.json") == run);
  CHECK(run.text("machine", "cores") == "4");
  CHECK(run.text("run", "dirty") == "true");
  CHECK(run.text("run", "none").empty());
  CHECK(run.find("none", "cpu") == nullptr);
  CHECK(message_of<InputError>([] { parse_run_json("{", "run.json"); }) == "run.json is not valid JSON");
  CHECK(message_of<InputError>([] { parse_run_json("[]", "run.json"); }) == "run.json is not a JSON object");
  CHECK(contains(message_of<InputError>([] { parse_run_json("{\"schema_version\":3}", "run.json"); }),
                 "schema_version is 3"));
  CHECK(contains(message_of<InputError>([] { parse_run_json("{\"schema_version\":1,\"a\":2}", "run.json"); }),
                 "'a' is not an object"));
  CHECK(contains(message_of<InputError>([] { parse_run_json("{\"schema_version\":1,\"a\":{\"b\":[]}}", "r"); }),
                 "'[]' is not"));
}
