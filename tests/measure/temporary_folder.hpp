// A folder of its own for a test that reads files by names that are strings.
#pragma once

#include <fstream>

#include "support/scratch_folder.hpp"

class TemporaryFolder {
 public:
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Writes root/name, making the folders between.
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

 private:
  attnscale::test::ScratchFolder folder_;
  std::string path_ = folder_.path().string();
};
