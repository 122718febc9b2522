#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.hpp"
#include "inputs/npy.hpp"

namespace attnscale {
namespace {

/// A file under a temporary name, removed unless it is kept.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path)
      : path_(path), temporary_(fmt::format("{}.{}.tmp", path, getpid())), file_(std::fopen(temporary_.c_str(), "wb")) {
    if (file_ == nullptr) fail();
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (file_ != nullptr) std::fclose(file_);
    if (!kept_) std::remove(temporary_.c_str());
  }

  void write(const void* data, std::size_t bytes) {
    if (std::fwrite(data, 1, bytes, file_) != bytes) fail();
  }

  void keep() {
    std::FILE* file = file_;
    file_ = nullptr;
    if (std::fclose(file) != 0) fail();
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
    kept_ = true;
  }

 private:
  [[noreturn]] void fail() const {
    throw WriteError(
        fmt::format("cannot write {} ({}): free some space or choose another folder; nothing was left there",
                    quoted_path(path_), std::strerror(errno)));
  }

  std::string path_;
  std::string temporary_;
  std::FILE* file_;
  bool kept_ = false;
};

std::string npy_preamble(const Extents& extents, bool squeeze_width) {
  const std::string width = squeeze_width ? "" : fmt::format(", {}", extents.width);
  std::string text = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}, {}{}), }}", extents.batch,
                                 extents.heads, extents.rows, width);
  constexpr std::size_t kPreamble = 10;
  constexpr std::size_t kAlignment = 64;  // so that the data of a mapped file are aligned
  text.append(kAlignment - 1 - (kPreamble + text.size()) % kAlignment, ' ');
  text += '\n';
  std::string preamble = "\x93NUMPY";
  preamble += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return preamble + text;
}

}  // namespace

void write_npy(const std::string& path, const TensorView<const float, HeadIndex>& tensor, bool squeeze_width) {
  const Extents& extents = tensor.extents;
  assert(!squeeze_width || extents.width == 1);
  TemporaryFile file(path);
  const std::string preamble = npy_preamble(extents, squeeze_width);
  file.write(preamble.data(), preamble.size());
  for (std::int64_t b = 0; b < extents.batch; ++b) {
    for (std::int64_t h = 0; h < extents.heads; ++h) {
      const MatrixView<const float> matrix = tensor.matrix(BatchIndex{b}, HeadIndex{h});
      for (std::int64_t r = 0; r < matrix.rows; ++r) {
        file.write(matrix.row(r), static_cast<std::size_t>(matrix.width) * sizeof(float));
      }
    }
  }
  file.keep();
}

}  // namespace attnscale
