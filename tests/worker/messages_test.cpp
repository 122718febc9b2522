#include "worker/messages.hpp"

#include <stdexcept>

#include "study/support.hpp"

namespace attnscale::test {
namespace {

template <class Call>
std::string complaint(const Call& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

std::string hello_complaint(const std::string& line) {
  return complaint([&] { worker::read_hello(line); });
}

std::string times_complaint(const std::string& line) {
  return complaint([&] { worker::read_times(line, 4, 2); });
}

}  // namespace

TEST_CASE("a hello is read") {
  const auto offers = worker::read_hello(
      R"({"type":"hello","protocol":1,"methods":[{"name":"a.b_2","like":"window","causal":true,"lse":false}]})");
  REQUIRE(offers.size() == 1);
  CHECK(offers[0].name == "a.b_2");
  CHECK(offers[0].like == "window");
  CHECK(offers[0].causal);
  CHECK_FALSE(offers[0].gqa);
  CHECK_FALSE(offers[0].lse);
}

TEST_CASE("a hello that is not in order says why") {
  CHECK(holds(hello_complaint("Welcome to \xff"), "no JSON object: 'Welcome to ?'"));
  CHECK(holds(hello_complaint(std::string(100000, '[')), "no JSON object"));
  CHECK(holds(hello_complaint("[]"), "no JSON object"));
  CHECK(holds(hello_complaint(R"({"type":"ready"})"), "no hello"));
  CHECK(holds(hello_complaint(R"({"type":"hello"})"), "no protocol version"));
  CHECK(holds(hello_complaint(R"({"type":"hello","protocol":"1"})"), "no protocol version"));
  CHECK(holds(hello_complaint(R"({"type":"hello","protocol":2})"), "version 2"));
  CHECK(holds(hello_complaint(R"({"type":"hello","protocol":1})"), "offers no method"));
  CHECK(holds(hello_complaint(R"({"type":"hello","protocol":1,"methods":[7]})"), "no JSON object"));
  CHECK(holds(hello_complaint(R"({"type":"hello","protocol":1,"methods":[{"name":7}]})"), "\"name\""));
  CHECK(holds(hello_complaint(R"({"type":"hello","protocol":1,"methods":[{"name":"a:b","like":"window"}]})"), "a:b"));
  CHECK(holds(hello_complaint(R"({"type":"hello","protocol":1,"methods":[{"name":"a"}]})"), "\"like\""));
  CHECK(holds(hello_complaint(R"({"type":"hello","protocol":1,"methods":[{"name":"a","like":"b","lse":1}]})"),
              "neither true nor false"));
}

TEST_CASE("times are believed only when they can be times") {
  CHECK(worker::read_times(R"({"type":"times","id":4,"ns":[10,20.5]})", 4, 2) == std::vector<double>{10, 20.5});
  CHECK(holds(times_complaint(R"({"type":"times","id":5,"ns":[1,2]})"), "belongs to no problem"));
  CHECK(holds(times_complaint(R"({"type":"times","ns":[1,2]})"), "belongs to no problem"));
  CHECK(holds(times_complaint(R"({"type":"ready","id":4})"), "'ready' instead of 'times'"));
  CHECK(holds(times_complaint(R"({"type":"unsupported","id":4,"reason":"x"})"), "instead of"));
  CHECK(holds(times_complaint(R"({"type":"error","id":4,"reason":"no room"})"), "the worker says: no room"));
  CHECK(holds(times_complaint(R"({"type":"times","id":4})"), "no list"));
  CHECK(holds(times_complaint(R"({"type":"times","id":4,"ns":[1]})"), "1 times for 2 calls"));
  CHECK(holds(times_complaint(R"({"type":"times","id":4,"ns":[1,-2]})"), "negative time: -2"));
  CHECK(holds(times_complaint(R"({"type":"times","id":4,"ns":[1,null]})"), "no number"));
  CHECK(holds(times_complaint(R"({"type":"times","id":4,"ns":[1,1e999]})"), "no"));
}

TEST_CASE("a worker must repeat the shape of its output, and may decline") {
  const auto ready = [](const std::string& line) {
    return complaint([&] { worker::read_ready(line, 1, {1, 2, 3, 4}); });
  };
  CHECK(ready(R"({"type":"ready","id":1,"output":[1,2,3,4]})").empty());
  CHECK(holds(ready(R"({"type":"ready","id":1,"output":[1,2,4,3]})"), "[1,2,4,3] instead of [1,2,3,4]"));
  CHECK(holds(ready(R"({"type":"ready","id":1})"), "(none) instead of"));
  CHECK_THROWS_AS(worker::read_ready(R"({"type":"unsupported","id":1,"reason":"d > 64"})", 1, {1, 2, 3, 4}),
                  Unsupported);
}

}  // namespace attnscale::test
