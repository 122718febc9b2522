#include "core/suggest.hpp"

#include "support/catch.hpp"

using namespace attnscale;

TEST_CASE("the nearest name is the one with the fewest edits, ties to the first") {
  const std::vector<std::string> names = {"window", "window2d", "topk", "lsh"};
  CHECK(nearest_name("windw", names) == "window");
  CHECK(nearest_name("window2", names) == "window");  // one edit to either neighbour: the first
  CHECK(nearest_name("window3d", names) == "window2d");
  CHECK(nearest_name("tpok", names) == "topk");
  CHECK(nearest_name("", names) == "lsh");
  CHECK(nearest_name("x", {}).empty());
}

TEST_CASE("the sentence for an unknown name") {
  const std::vector<std::string> names = {"window", "topk"};
  CHECK(unknown_name("method", "windw", names) == "unknown method 'windw'; did you mean 'window'?");
  CHECK(unknown_name("method", "x", {}) == "unknown method 'x'; there is none to choose from");
  // Megabytes of text give a short sentence in no time.
  CHECK(unknown_name("method", std::string(1 << 20, 'w'), names).size() < 200);
}
