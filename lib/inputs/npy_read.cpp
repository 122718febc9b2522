#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "core/error.hpp"
#include "inputs/npy.hpp"
#include "inputs/npy_header.hpp"

namespace attnscale {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read as they stand in the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kLongestHeader = std::int64_t{1} << 20;

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw InputError(fmt::format("{} {}", quoted_path(path), what));
}

std::int64_t regular_file_size(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) fail(path, "does not exist: check the path");
  if (fs::is_directory(status)) fail(path, "is a folder: give a .npy file");
  if (status.type() == fs::file_type::none)
    fail(path, fmt::format("cannot be read ({}): check the path and its permissions", error.message()));
  if (!fs::is_regular_file(status)) fail(path, "is not a regular file: copy the array to a .npy file");
  const auto size = fs::file_size(path, error);
  if (error) fail(path, fmt::format("cannot be read ({}): check the file", error.message()));
  return static_cast<std::int64_t>(size);
}

std::ifstream open(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, "cannot be opened for reading: check its permissions");
  return in;
}

/// Reads exactly `size` bytes; the file is known to be long enough, unless it changes meanwhile.
void read_bytes(std::ifstream& in, const std::string& path, void* to, std::int64_t size) {
  in.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
  if (in.gcount() != size) fail(path, "could not be read to its end: check the file and its disk");
}

struct Preamble {
  std::int64_t text_offset;
  std::int64_t text_bytes;
};

Preamble read_preamble(std::ifstream& in, const std::string& path, std::int64_t file_bytes) {
  std::array<unsigned char, 12> head{};
  const std::int64_t available = std::min<std::int64_t>(file_bytes, head.size());
  read_bytes(in, path, head.data(), available);
  const auto magic = std::min<std::int64_t>(available, kMagic.size());
  if (file_bytes == 0) fail(path, "is empty: save the array again with numpy.save");
  if (std::memcmp(head.data(), kMagic.data(), static_cast<std::size_t>(magic)) != 0) {
    fail(path, "is not a .npy file, since it does not begin with the bytes \\x93NUMPY: save the array with numpy.save");
  }
  const std::int64_t text_offset = head[6] == 1 ? 10 : 12;
  if (available < text_offset) fail(path, "ends inside its header: copy or save it again");
  if (head[6] < 1 || head[6] > 3 || head[7] != 0) {
    fail(path,
         fmt::format("has version {}.{} of the .npy format: save it in version 1.0, 2.0 or 3.0", head[6], head[7]));
  }
  std::int64_t text_bytes = head[8] | head[9] << 8;
  if (head[6] != 1) text_bytes |= std::int64_t{head[10]} << 16 | std::int64_t{head[11]} << 24;
  return {text_offset, text_bytes};
}

/// Checks that the sizes in the header make up what follows it in the file.
void check_sizes(const NpyHeader& header, const std::string& path, std::int64_t file_bytes) {
  const std::int64_t data_bytes = file_bytes - header.data_offset;
  if (std::ranges::count(header.shape, 0) > 0)
    fail(path, "holds no numbers, since a size in its shape is 0: save an array with at least one row");
  std::int64_t expected = header.element_bytes;
  for (const std::int64_t size : header.shape) {
    // Past the bytes of the file the product is wrong whatever follows, and it cannot overflow before.
    if (size > data_bytes / expected)
      fail(
          path,
          fmt::format(
              "is truncated or its header lies: {} bytes of data are fewer than the shape needs; copy or save it again",
              data_bytes));
    expected *= size;
  }
  if (expected != data_bytes) {
    fail(path, fmt::format("holds {} bytes of data where its header announces {}: copy or save it again", data_bytes,
                           expected));
  }
}

template <class Element>
std::vector<float> converted(const std::vector<char>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(Element));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Element element;
    std::memcpy(&element, bytes.data() + i * sizeof(Element), sizeof(Element));
    values[i] = static_cast<float>(element);
  }
  return values;
}

/// From Fortran order (first index fastest) to C order (last index fastest).
std::vector<float> transposed(const std::vector<float>& from, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> stride(shape.size(), 1);
  for (std::size_t axis = 1; axis < shape.size(); ++axis) stride[axis] = stride[axis - 1] * shape[axis - 1];
  std::vector<float> to(from.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t source = 0;
  for (float& value : to) {
    value = from[static_cast<std::size_t>(source)];
    // The next index in C order, and where it lies in Fortran order.
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      source += stride[axis];
      if (++index[axis] < shape[axis]) break;
      source -= stride[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return to;
}

}  // namespace

std::string quoted_path(const std::string& path) {
  constexpr std::size_t kLongest = 80;
  return quoted(path.size() <= kLongest ? path : "..." + path.substr(path.size() - (kLongest - 3)));
}

NpyHeader read_npy_header(const std::string& path) {
  const std::int64_t file_bytes = regular_file_size(path);
  std::ifstream in = open(path);
  const Preamble preamble = read_preamble(in, path, file_bytes);
  if (preamble.text_bytes > file_bytes - preamble.text_offset)
    fail(path, "ends inside its header: copy or save it again");
  if (preamble.text_bytes > kLongestHeader)
    fail(path, fmt::format("has a header of {} bytes, more than any tensor needs: save the array again with numpy.save",
                           preamble.text_bytes));
  std::string text(static_cast<std::size_t>(preamble.text_bytes), '\0');
  in.seekg(preamble.text_offset);
  read_bytes(in, path, text.data(), preamble.text_bytes);
  NpyHeader header = parse_npy_header(text, path);
  header.data_offset = preamble.text_offset + preamble.text_bytes;
  check_sizes(header, path, file_bytes);
  return header;
}

std::vector<float> read_npy(const std::string& path, const NpyHeader& header) {
  const std::int64_t file_bytes = regular_file_size(path);
  check_sizes(header, path, file_bytes);
  std::ifstream in = open(path);
  in.seekg(header.data_offset);
  std::vector<char> bytes(static_cast<std::size_t>(file_bytes - header.data_offset));
  read_bytes(in, path, bytes.data(), static_cast<std::int64_t>(bytes.size()));
  std::vector<float> values = header.element_bytes == 2   ? converted<Eigen::half>(bytes)
                              : header.element_bytes == 4 ? converted<float>(bytes)
                                                          : converted<double>(bytes);
  return header.fortran_order ? transposed(values, header.shape) : values;
}

}  // namespace attnscale
