#include "core/params.hpp"

#include <array>

#include "message.hpp"
#include "support/catch.hpp"

using namespace attnscale;

namespace {
constexpr std::array kSpecs = {
    ParamSpec{"w", ParamKind::integer, "256", 0, 1000000, "", "keys on either side"},
    ParamSpec{"block", ParamKind::automatic, "auto", 1, 1000000, "", "keys per block"},
    ParamSpec{"edge", ParamKind::choice, "truncate", 0, 0, "truncate|shift", "what happens at the edges"},
    ParamSpec{"globals", ParamKind::first, "first:1", 0, 1000000, "", "leading keys that all see"},
};

std::vector<Params> parse(const std::string& text) {
  return Params::parse(text, kSpecs, "window");
}
std::string refused(const std::string& text) {
  return message_of([&] { parse(text); });
}
}  // namespace

TEST_CASE("defaults fill what the spec leaves out, and the canonical text names everything in declared order") {
  const std::vector<Params> all = parse("");
  REQUIRE(all.size() == 1);
  CHECK(all[0].str() == "w=256,block=auto,edge=truncate,globals=first:1");
  CHECK(all[0].integer("w") == 256);
  CHECK(all[0].is_auto("block"));
  CHECK(all[0].integer_or("block", 42) == 42);
  CHECK(all[0].choice("edge") == "truncate");
  CHECK(all[0].integer("globals") == 1);
}

TEST_CASE("values may come in any order and round-trip through the canonical text") {
  const Params params = parse("globals=first:0,edge=shift,block=16,w=4").at(0);
  CHECK(params.str() == "w=4,block=16,edge=shift,globals=first:0");
  CHECK(params.integer_or("block", 42) == 16);
  CHECK(params.choice("edge") == "shift");
  CHECK(parse(params.str()).at(0) == params);
  CHECK_FALSE(parse("w=5").at(0) == parse("w=4").at(0));
}

TEST_CASE("ranges expand to one combination each, the last parameter varying fastest") {
  const std::vector<Params> all = parse("w=1/2,block=8..16x2,edge=truncate/shift");
  REQUIRE(all.size() == 8);
  CHECK(all[0].str() == "w=1,block=8,edge=truncate,globals=first:1");
  CHECK(all[1].str() == "w=1,block=8,edge=shift,globals=first:1");
  CHECK(all[2].str() == "w=1,block=16,edge=truncate,globals=first:1");
  CHECK(all[7].str() == "w=2,block=16,edge=shift,globals=first:1");
  CHECK(parse("block=auto/8").size() == 2);
  CHECK(parse("globals=first:0/first:2").size() == 2);
  CHECK(parse("w=4/4,block=2/1..2+1").size() == 2);  // a value that comes twice counts once
}

TEST_CASE("bad parameters are refused by name") {
  CHECK(contains(refused("W=4"), "did you mean 'w'?"));
  CHECK(contains(refused("blok=4"), "did you mean 'block'?"));
  CHECK(contains(refused("w"), "write w=256"));
  CHECK(contains(refused("w="), "parameter w of window"));
  CHECK(contains(refused("w=-1"), "nearest valid value is 0"));
  CHECK(contains(refused("w=auto"), "not a whole number"));
  CHECK(contains(refused("w=1.5"), "not a whole number"));
  CHECK(contains(refused("block=0"), "nearest valid value is 1"));
  CHECK(contains(refused("edge=shft"), "did you mean 'shift'?"));
  CHECK(contains(refused("globals=1"), "write first:N"));
  CHECK(contains(refused("globals=first:-1"), "nearest valid value is 0"));
  CHECK(contains(refused("w=1,w=2"), "given twice"));
  CHECK_FALSE(refused("w=1,").empty());
  CHECK_FALSE(refused(",").empty());
  CHECK_FALSE(refused("=4").empty());
  CHECK(contains(refused("w=1..2000+1,block=1..2000+1"), "more than 4096"));
}

TEST_CASE("a method without parameters says so") {
  CHECK(contains(message_of([] { Params::parse("w=1", {}, "exact.streaming"); }), "takes no parameters"));
  CHECK(Params::parse("", {}, "exact.streaming").at(0).str().empty());
}
