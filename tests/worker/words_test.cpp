#include "worker/words.hpp"

#include "study/support.hpp"

namespace attnscale::test {

using worker::split_words;
using Words = std::vector<std::string>;

TEST_CASE("a command is split as by a shell, without one") {
  CHECK(split_words("python3 x.py") == Words{"python3", "x.py"});
  CHECK(split_words("  a\tb\n c ") == Words{"a", "b", "c"});
  CHECK(split_words("'a b' \"c d\" e\\ f") == Words{"a b", "c d", "e f"});
  CHECK(split_words("a'b'\"c\"") == Words{"abc"});
  CHECK(split_words("a '' \"\"") == Words{"a", "", ""});
  CHECK(split_words(R"("a\"b\\c\d" 'e\f')") == Words{R"(a"b\c\d)", R"(e\f)"});
  CHECK(split_words("$HOME *.py; rm `x`") == Words{"$HOME", "*.py;", "rm", "`x`"});
}

TEST_CASE("a command that is no command is bad input") {
  CHECK(holds(input_error([] { split_words(""); }), "is empty"));
  CHECK(holds(input_error([] { split_words(" \t"); }), "is empty"));
  CHECK(holds(input_error([] { split_words("a 'b"); }), "open '"));
  CHECK(holds(input_error([] { split_words("a \"b"); }), "open \""));
  CHECK(holds(input_error([] { split_words("a \\"); }), "backslash"));
}

}  // namespace attnscale::test
