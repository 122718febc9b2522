// Files that survive a crash: written whole, forced to disk, and put in place by a rename.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace attnscale {

/// The whole file. Throws InputError when it is missing, a folder, or cannot be read.
std::string read_file(const std::filesystem::path& path);

/// A file open for writing. Every function throws std::system_error; whoever knows what was saved makes the sentence.
class OutputFile {
 public:
  enum class Open {
    truncate,  ///< create, or empty what is there
    append,    ///< must exist
  };
  OutputFile() = default;
  OutputFile(const std::filesystem::path& path, Open how);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  void write(std::string_view bytes);
  /// Forces what was written to the disk.
  void sync();
  /// Cuts the file to `bytes`; the next write goes there.
  void cut(std::int64_t bytes);
  /// Reports an error that only closing shows (network file systems).
  void close();

 private:
  int descriptor_ = -1;
};

/// Forces the names in a folder to the disk, after a rename. Throws std::system_error.
void sync_folder(const std::filesystem::path& folder);

/// First half of a safe write: puts `bytes` on the disk in a temporary file beside `path`.
/// Throws WriteError saying that `path` was not written and why.
void stage_file(const std::filesystem::path& path, std::string_view bytes);

/// Second half: renames the temporary file to `path`, which so holds the old or the new content, never a part.
/// Throws WriteError.
void commit_file(const std::filesystem::path& path);

/// Both halves.
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace attnscale
