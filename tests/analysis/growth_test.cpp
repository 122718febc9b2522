// What theory says, read from the expressions that methods carry.
#include "analysis/growth.hpp"

#include <cmath>
#include <vector>

#include "support/catch.hpp"

using namespace attnscale;

TEST_CASE("complexity expressions are read as growth in n") {
  struct Case {
    const char* text;
    Growth growth;
  };
  for (const Case& c : std::vector<Case>{{"O(1)", {0, 0}},
                                         {"O(n)", {1, 0}},
                                         {"O(n w)", {1, 0}},
                                         {"O(n*k)", {1, 0}},
                                         {"O(n (w + g))", {1, 0}},
                                         {"O(n log n)", {1, 1}},
                                         {"O(n lg(n))", {1, 1}},
                                         {"O(n sqrt n)", {1.5, 0}},
                                         {"O(n sqrt(n))", {1.5, 0}},
                                         {"O(n^1.5)", {1.5, 0}},
                                         {"O(n^(3/2))", {1.5, 0}},
                                         {"O(n^2)", {2, 0}},
                                         {"O(n^2 d + n w)", {2, 0}},
                                         {"O(n^2 / w)", {2, 0}},
                                         {"O(n^2 / n)", {1, 0}},
                                         {"n_q n_k", {2, 0}},
                                         {"O(n log w)", {1, 0}},
                                         {"O(n rounds bucket)", {1, 0}},
                                         {"O(n^2) time, O(n) memory", {2, 0}},
                                         {"O(n^2) time and memory", {2, 0}},
                                         {"O(n r^2)", {1, 0}},
                                         {"O(n b (window + global + random))", {1, 0}}}) {
    INFO(c.text);
    const auto growth = parse_growth(c.text);
    REQUIRE(growth);
    CHECK(growth->power == Approx(c.growth.power));
    CHECK(growth->log == c.growth.log);
  }
  for (const char* bad : {"", "O()", "O(n", "n ^", "n ^ x", "+", "O(n +)", "fast!", "sqrt", "n /"}) {
    INFO(bad);
    CHECK_FALSE(parse_growth(bad));
  }
  CHECK_FALSE(parse_growth("O(n^(1 + 1/levels))"));
  CHECK(parse_growth("O(n^(1 + 1/levels))", {{"levels", 2}}) == Growth{1.5, 0});
  CHECK(parse_growth("O(n^levels)", {{"levels", 3}}) == Growth{3, 0});
}

TEST_CASE("values and local exponents of a growth") {
  const Growth nlgn{1, 1};
  CHECK(nlgn.at(8) == Approx(24));
  CHECK(Growth{1.5, 0}.at(16) == Approx(64));
  CHECK(Growth{2, 0}.local_exponent(100) == 2);
  const double h = 1e-6;
  const double numeric = std::log(nlgn.at(1000 * (1 + h)) / nlgn.at(1000)) / std::log1p(h);
  CHECK(nlgn.local_exponent(1000) == Approx(numeric).epsilon(1e-4));
}

TEST_CASE("constants are the numbers of a spec") {
  CHECK(constants_of("exact").empty());
  CHECK(constants_of("hierarchical:block=auto,levels=2") == Constants{{"levels", 2}});
  CHECK(constants_of("longformer:w=256,globals=first:1,dilation=1") == Constants{{"w", 256}, {"dilation", 1}});
  CHECK(constants_of("x:,=3,a").size() == 1);
}
