#include "inputs/npy_header.hpp"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnscale {
namespace {

constexpr std::size_t kMostDimensions = 32;  // NumPy's own limit

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : rest_(text), path_(path) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      entry();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_spaces();
    if (!rest_.empty()) fail("has text after its closing brace");
    for (std::size_t k = 0; k < kKeys.size(); ++k) {
      if (!seen_[k]) fail(fmt::format("lacks the key '{}'", kKeys[k]));
    }
    return header_;
  }

 private:
  static constexpr std::array<std::string_view, 3> kKeys = {"descr", "fortran_order", "shape"};

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(
        fmt::format("the .npy header of {} {}: save the array again with numpy.save", quoted_path(path_), what));
  }

  void skip_spaces() {
    const std::size_t count = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(count, rest_.size()));
  }

  bool accept(char wanted) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (accept(wanted)) return;
    const std::string found = rest_.empty() ? "the end" : quoted(std::string(rest_.substr(0, 12)));
    fail(fmt::format("has {} where '{}' is due", found, wanted));
  }

  void entry() {
    const std::string key(text_literal("a key"));
    expect(':');
    std::size_t index = 0;
    while (index < kKeys.size() && kKeys[index] != key) ++index;
    if (index == kKeys.size()) fail(fmt::format("has the unknown key {}", quoted(key)));
    if (seen_[index]) fail(fmt::format("has the key '{}' twice", key));
    seen_[index] = true;
    if (index == 0) descr();
    if (index == 1) header_.fortran_order = boolean();
    if (index == 2) shape();
  }

  std::string_view text_literal(const char* what) {
    skip_spaces();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '\'' && quote != '"') fail(fmt::format("has no quoted text where {} is due", what));
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("has a text without its closing quote");
    const std::string_view text = rest_.substr(1, end - 1);
    if (text.find('\\') != std::string_view::npos) fail("has a backslash inside a text");
    rest_.remove_prefix(end + 1);
    return text;
  }

  void descr() {
    skip_spaces();
    if (rest_.starts_with('[')) refuse_type("an array of records");
    const std::string type(text_literal("the element type"));
    if (type.starts_with('>')) refuse_type(fmt::format("big-endian elements ({})", quoted(type)));
    if (type != "<f2" && type != "<f4" && type != "<f8") refuse_type(fmt::format("elements of type {}", quoted(type)));
    header_.element_bytes = type[2] - '0';
  }

  [[noreturn]] void refuse_type(const std::string& found) const {
    throw InputError(
        fmt::format("{} holds {}, and only little-endian '<f2', '<f4' and '<f8' can be read: save "
                    "array.astype('<f4') instead",
                    quoted_path(path_), found));
  }

  bool boolean() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    fail("has neither True nor False for 'fortran_order'");
  }

  void shape() {
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) fail("has no comma between the sizes of its shape");
      if (header_.shape.size() == kMostDimensions) fail(fmt::format("has more than {} dimensions", kMostDimensions));
      header_.shape.push_back(size());
      comma = accept(',');
    }
    if (header_.shape.size() == 1 && !comma) fail("has a number in brackets for a shape, not a tuple");
  }

  std::int64_t size() {
    skip_spaces();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc::result_out_of_range) fail("has a size in its shape that exceeds 63 bits");
    if (error != std::errc() || value < 0) fail("has a size in its shape that is not a whole number");
    if (rest_.front() == '0' && end != rest_.data() + 1) fail("has a size in its shape with a leading zero");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    if (rest_.starts_with('L')) rest_.remove_prefix(1);  // Python 2 wrote its long integers so
    return value;
  }

  std::string_view rest_;
  const std::string& path_;
  NpyHeader header_;
  std::array<bool, 3> seen_{};
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& path) {
  return HeaderParser(text, path).parse();
}

}  // namespace attnscale
