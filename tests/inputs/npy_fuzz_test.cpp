// Mutated .npy files: each is read or refused with one sentence, and nothing else happens (meant for the sanitizer
// build).
#include <random>

#include "fixtures.hpp"
#include "inputs/npy.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

std::string mutated(std::string bytes, std::mt19937& random) {
  static const std::vector<std::string> tokens = {"(",
                                                  ")",
                                                  ",",
                                                  "{",
                                                  "}",
                                                  "'",
                                                  "\"",
                                                  ":",
                                                  "True",
                                                  "0",
                                                  "9999999999",
                                                  "18446744073709551616",
                                                  "-1",
                                                  "<f8",
                                                  ">f4",
                                                  "'shape'",
                                                  "L",
                                                  "\\",
                                                  std::string(1, '\0'),
                                                  "\xff"};
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  for (std::size_t change = 0, changes = 1 + below(4); change < changes; ++change) {
    const std::size_t at = below(std::min<std::size_t>(bytes.size(), 100) + 1);  // mostly the header
    switch (below(5)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(std::min(at, bytes.size()), 1 + below(8));
        break;
      case 2:
        bytes.insert(at, tokens[below(tokens.size())]);
        break;
      case 3:
        bytes.resize(below(bytes.size() + 1));
        break;
      default:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("npy: mutated files are read or refused") {
  const Folder folder;
  const std::vector<std::string> seeds = {
      counting_npy("(2, 3)", 6),
      npy_preamble(2, npy_text("<f2", "(2, 2, 3)", true)) + std::string(24, '\x3c'),
      npy_preamble(3, "{'shape':(1,3,),'descr':'<f8','fortran_order':True}") + std::string(24, '\0'),
  };
  std::mt19937 random(20261201);
  int accepted = 0;
  int refused = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    const std::string path =
        folder.put("fuzz.npy", mutated(seeds[static_cast<std::size_t>(trial) % seeds.size()], random));
    std::size_t count = 1;
    const std::string sentence = refusal([&] {
      const NpyHeader header = read_npy_header(path);
      for (const std::int64_t size : header.shape) count *= static_cast<std::size_t>(size);
      if (read_npy(path, header).size() != count) throw std::logic_error("values do not match the shape");
    });
    ++(sentence.empty() ? accepted : refused);
    if (!sentence.empty() && !contains(sentence, "fuzz.npy")) FAIL(sentence);
  }
  CHECK(accepted > 100);
  CHECK(refused > 3000);
}
