#include "record/files.hpp"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.hpp"

namespace attnscale {
namespace {

[[noreturn]] void fail() {
  throw std::system_error(errno, std::generic_category());
}

/// Some special files cannot be synced (EINVAL); what was written to them is as safe as it gets.
void sync_descriptor(int descriptor) {
  if (::fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP) fail();
}

std::filesystem::path temporary_of(std::filesystem::path path) {
  return path += ".tmp";
}

[[noreturn]] void give_up(const std::filesystem::path& path, const std::system_error& error) {
  std::error_code ignored;
  std::filesystem::remove(temporary_of(path), ignored);
  throw WriteError(fmt::format("could not write {} ({})", path.string(), error.code().message()));
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw InputError(fmt::format("{} is a folder, not a file", path.string()));
  if (!std::filesystem::exists(path, error)) throw InputError(fmt::format("{} does not exist", path.string()));
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  if (stream && stream.peek() != std::ifstream::traits_type::eof()) bytes << stream.rdbuf();
  if (!stream.is_open() || stream.bad() || bytes.fail())
    throw InputError(fmt::format("{} cannot be read", path.string()));
  return std::move(bytes).str();
}

OutputFile::OutputFile(const std::filesystem::path& path, Open how) {
  const int flags = how == Open::truncate ? O_CREAT | O_TRUNC : O_APPEND;
  constexpr mode_t kReadableByAll = 0644;
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, kReadableByAll);
  if (descriptor_ < 0) fail();
}

OutputFile::OutputFile(OutputFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) fail();
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OutputFile::sync() {
  sync_descriptor(descriptor_);
}

void OutputFile::cut(std::int64_t bytes) {
  if (::ftruncate(descriptor_, bytes) != 0 || ::lseek(descriptor_, bytes, SEEK_SET) < 0) fail();
}

void OutputFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail();
  const int result = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  if (result != 0 && error != EINVAL && error != ENOTSUP) throw std::system_error(error, std::generic_category());
}

void stage_file(const std::filesystem::path& path, std::string_view bytes) {
  try {
    OutputFile file(temporary_of(path), OutputFile::Open::truncate);
    file.write(bytes);
    file.sync();
    file.close();
  } catch (const std::system_error& error) {
    give_up(path, error);
  }
}

void commit_file(const std::filesystem::path& path) {
  try {
    std::filesystem::rename(temporary_of(path), path);
    sync_folder(path.parent_path());
  } catch (const std::system_error& error) {
    give_up(path, error);
  }
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  stage_file(path, bytes);
  commit_file(path);
}

}  // namespace attnscale
