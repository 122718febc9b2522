// The .npy reader: what it reads, and that it refuses everything else in one sentence.
#include <cmath>
#include <limits>

#include "fixtures.hpp"
#include "inputs/npy.hpp"
#include "support/catch.hpp"

using namespace attnscale;
using namespace attnscale::test;

namespace {

std::vector<float> read(const std::string& path) {
  return read_npy(path, read_npy_header(path));
}

std::string with_text(const std::string& text, std::size_t data_bytes = 24, int version = 1) {
  return npy_preamble(version, text) + std::string(data_bytes, '\0');
}

}  // namespace

TEST_CASE("npy: half, single and double precision in versions 1, 2 and 3") {
  const Folder folder;
  const std::vector<float> expected = {0, 1, -2, 0.5F, 65504, -0.25F};
  const std::string half = raw_bytes<std::uint16_t>({0x0000, 0x3c00, 0xc000, 0x3800, 0x7bff, 0xb400});
  const std::string single = raw_bytes<float>({0, 1, -2, 0.5F, 65504, -0.25F});
  const std::string twice = raw_bytes<double>({0, 1, -2, 0.5, 65504, -0.25});
  for (const int version : {1, 2, 3}) {
    for (const auto& [type, data] :
         std::vector<std::pair<std::string, std::string>>{{"<f2", half}, {"<f4", single}, {"<f8", twice}}) {
      INFO(type << " version " << version);
      const std::string path = folder.put("a.npy", npy_preamble(version, npy_text(type, "(2, 3)")) + data);
      const NpyHeader header = read_npy_header(path);
      CHECK(header.shape == std::vector<std::int64_t>{2, 3});
      CHECK(header.element_bytes == type[2] - '0');
      CHECK_FALSE(header.fortran_order);
      CHECK(read_npy(path, header) == expected);
    }
  }
}

TEST_CASE("npy: every half") {
  const Folder folder;
  std::vector<std::uint16_t> bits(65536);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  const std::vector<float> values =
      read(folder.put("a.npy", npy_preamble(1, npy_text("<f2", "(256, 256)")) + raw_bytes(bits)));
  REQUIRE(values.size() == bits.size());
  int wrong = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    // IEEE 754 binary16: sign, 5 bits of exponent with bias 15, 10 bits of fraction.
    const int exponent = static_cast<int>(i >> 10 & 31);
    const double fraction = static_cast<double>(i & 1023);
    double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
    if (i >= 32768) value = -value;
    const bool same = std::isnan(value) ? std::isnan(values[i])
                                        : values[i] == value && std::signbit(values[i]) == std::signbit(value);
    wrong += same ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("npy: a double beyond fp32 becomes infinite, a NaN stays one") {
  const Folder folder;
  const double huge = 1e300;
  const std::vector<float> values = read(folder.put(
      "a.npy", npy_preamble(1, npy_text("<f8", "(2, 2)")) + raw_bytes<double>({huge, -huge, std::nan(""), 1e-300})));
  CHECK(values[0] == std::numeric_limits<float>::infinity());
  CHECK(values[1] == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(values[2]));
  CHECK(values[3] == 0);
}

TEST_CASE("npy: Fortran order") {
  const Folder folder;
  // Element (b, h, i, c) has the value 1000 b + 100 h + 10 i + c; the first index is the fastest in the file.
  std::vector<float> fortran;
  for (int c = 0; c < 5; ++c) {
    for (int i = 0; i < 4; ++i) {
      for (int h = 0; h < 3; ++h) {
        for (int b = 0; b < 2; ++b) fortran.push_back(static_cast<float>(1000 * b + 100 * h + 10 * i + c));
      }
    }
  }
  std::vector<float> expected;
  for (int b = 0; b < 2; ++b) {
    for (int h = 0; h < 3; ++h) {
      for (int i = 0; i < 4; ++i) {
        for (int c = 0; c < 5; ++c) expected.push_back(static_cast<float>(1000 * b + 100 * h + 10 * i + c));
      }
    }
  }
  const std::string path =
      folder.put("a.npy", npy_preamble(1, npy_text("<f4", "(2, 3, 4, 5)", true)) + raw_bytes(fortran));
  CHECK(read_npy_header(path).fortran_order);
  CHECK(read(path) == expected);
}

TEST_CASE("npy: headers as Python may write them") {
  const Folder folder;
  const std::vector<std::string> texts = {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
      "{'shape':(2,3),'fortran_order':False,'descr':'<f4'}",
      "{ \"fortran_order\" : False , \"descr\" : \"<f4\" , \"shape\" : ( 2 , 3 , ) , } ",
      "  {'descr': '<f4',\n 'fortran_order': False,\t'shape': (2L, 3L)}\n",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" + std::string(60000, ' ') + "\n",
  };
  for (const std::string& text : texts) {
    INFO(text.substr(0, 100));
    CHECK(read_npy_header(folder.put("a.npy", with_text(text))).shape == std::vector<std::int64_t>{2, 3});
  }
  const std::string longer = texts[0].substr(0, texts[0].size() - 1) + std::string(200000, ' ') + "\n";
  CHECK(read_npy_header(folder.put("a.npy", with_text(longer, 24, 2))).data_offset ==
        12 + static_cast<std::int64_t>(longer.size()));
  CHECK(read_npy_header(folder.put("a.npy", with_text(npy_text("<f4", "()"), 4))).shape.empty());
  CHECK(read_npy_header(folder.put("a.npy", with_text(npy_text("<f4", "(6,)")))).shape == std::vector<std::int64_t>{6});
}

TEST_CASE("npy: hostile files are refused in one sentence that names the file") {
  const Folder folder;
  const std::string good = counting_npy("(2, 3)", 6);
  const auto header = [](const std::string& text) { return with_text(text); };
  const auto shape = [](const std::string& text) { return with_text(npy_text("<f4", text)); };
  const auto type = [](const std::string& text) { return with_text(npy_text(text, "(2, 3)")); };
  std::string version = good;
  version[6] = 4;
  std::string minor = good;
  minor[7] = 1;
  std::string lying_length = good;
  lying_length[9] = 0x7f;
  std::string huge_header =
      npy_preamble(2, npy_text("<f4", "(2, 3)") + std::string((1 << 20) + 1, ' ')) + std::string(24, '\0');
  const std::string many_digits = std::string("(").append(500, '9').append(", 3)");
  std::string deep = "(";
  for (int i = 0; i < 33; ++i) deep += "1, ";

  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "is empty"},
      {"\x93NUM", "ends inside its header"},
      {"PK\x03\x04 and more bytes than a preamble", "is not a .npy file"},
      {"hello", "is not a .npy file"},
      {good.substr(0, 9), "ends inside its header"},
      {good.substr(0, 40), "ends inside its header"},
      {good.substr(0, good.size() - 1), "truncated"},
      {good + "x", "holds 25 bytes of data where its header announces 24"},
      {version, "has version 4.0"},
      {minor, "has version 1.1"},
      {lying_length, "ends inside its header"},
      {npy_preamble(2, "").substr(0, 8) + "\xff\xff\xff\xff" + std::string(100, ' '), "ends inside its header"},
      {huge_header, "has a header of"},
      {header(""), "has the end where '{' is due"},
      {header("{}"), "lacks the key 'descr'"},
      {header("{'descr': '<f4', 'fortran_order': False}"), "lacks the key 'shape'"},
      {header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}"), "twice"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}"), "unknown key 'x'"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)"), "has the end where '}' is due"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x"), "text after its closing brace"},
      {header("{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}"), "is due"},
      {header("{'descr: '<f4', 'fortran_order': False, 'shape': (2, 3)}"), "is due"},
      {header("{'descr': '<f4"), "closing quote"},
      {header("{'descr': '<\\x664', 'fortran_order': False, 'shape': (2, 3)}"), "backslash"},
      {header("{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}"), "neither True nor False"},
      {header("{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (2, 3)}"), "is due"},
      {header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}"), "an array of records"},
      {header(std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}") + '\0'), "text after"},
      {type(">f4"), "big-endian"},
      {type("<i8"), "'<i8'"},
      {type("|f4"), "'|f4'"},
      {type("=f4"), "'=f4'"},
      {type("<f16"), "'<f16'"},
      {type("<f"), "'<f'"},
      {type(""), "''"},
      {shape("2, 3"), "where '(' is due"},
      {shape("(6)"), "not a tuple"},
      {shape("(2 3)"), "no comma"},
      {shape("(,)"), "not a whole number"},
      {shape("(2,,3)"), "not a whole number"},
      {shape("(-2, 3)"), "not a whole number"},
      {shape("(+2, 3)"), "not a whole number"},
      {shape("(0x2, 3)"), "no comma"},
      {shape("(2.0, 3)"), "no comma"},
      {shape("(02, 3)"), "leading zero"},
      {shape("(1_0, 3)"), "no comma"},
      {shape("(0, 3)"), "a size in its shape is 0"},
      {shape("(4294967296, 4294967296)"), "truncated or its header lies"},
      {shape("(9223372036854775807, 9223372036854775807, 3)"), "truncated or its header lies"},
      {shape("(9223372036854775808, 3)"), "exceeds 63 bits"},
      {shape(many_digits), "exceeds 63 bits"},
      {shape("(0, 9223372036854775807, 9223372036854775807)"), "is 0"},
      {shape(deep + ")"), "more than 32 dimensions"},
      {shape("(2, 4)"), "truncated or its header lies"},
      {shape("(2, 2)"), "announces 16"},
  };
  for (const auto& [bytes, part] : cases) {
    const std::string path = folder.put("hostile.npy", bytes);
    const std::string sentence = refusal([&] { read_npy_header(path); });
    INFO(part << "\n" << sentence);
    CHECK(is_one_sentence(sentence));
    CHECK(contains(sentence, part));
    CHECK(contains(sentence, "hostile.npy"));
  }
}

TEST_CASE("npy: what is no file is refused") {
  const Folder folder;
  const std::string file = folder.put("file", "x");
  for (const auto& [path, part] :
       std::vector<std::pair<std::string, std::string>>{{folder.file("missing.npy"), "does not exist"},
                                                        {folder.file(""), "is a folder"},
                                                        {"/dev/null", "is not a regular file"},
                                                        {file + "/below.npy", "file"},
                                                        {std::string(5000, 'x'), "xxx"},
                                                        {std::string("a\nb.npy"), "a\\x0ab.npy"}}) {
    const std::string sentence = refusal([&, &name = path] { read_npy_header(name); });
    INFO(sentence);
    CHECK(is_one_sentence(sentence));
    CHECK(contains(sentence, part));
  }
}

TEST_CASE("npy: a file that shrinks after its header was read is refused") {
  const Folder folder;
  const std::string path = folder.put("a.npy", counting_npy("(2, 3)", 6));
  const NpyHeader header = read_npy_header(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);
  CHECK(contains(refusal([&] { read_npy(path, header); }), "truncated"));
  std::filesystem::resize_file(path, 5);
  CHECK(contains(refusal([&] { read_npy(path, header); }), "truncated"));
}
