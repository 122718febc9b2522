// Rows with every field set, a scratch folder, and messages of expected errors.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "core/error.hpp"
#include "record/visit.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace attnscale::test {

/// A row in which every field differs from every other, texts hostile to CSV and JSON included.
template <class Row>
Row full_row(int salt = 0) {
  Row row;
  int i = salt * 1000;
  const auto set = [&i](auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    ++i;
    if constexpr (std::is_same_v<Value, field::text>) {
      value = std::to_string(i) + (i % 3 == 0 ? ",\"a\" b\n\xC3\xA9" : i % 3 == 1 ? ":w=256,d=1" : " t");
    } else if constexpr (std::is_same_v<Value, field::integer>) {
      value = std::int64_t{1} << (i % 62);
    } else if constexpr (std::is_same_v<Value, field::count>) {
      value = i;
    } else if constexpr (std::is_same_v<Value, field::flag>) {
      value = i % 2 == 0;
    } else {
      value = std::exp(i % 50 - 25) / 3;
    }
  };
  visit_fields(row, set);
  if constexpr (std::is_same_v<Row, Record>) row.schema_version = kSchemaVersion;
  return row;
}

class Scratch : public ScratchFolder {
 public:
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path() / name; }
};

inline void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The message of the Error of type E that `action` throws; fails the test when it throws none.
template <class E, class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  FAIL("nothing was thrown");
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace attnscale::test
