// A scratch folder, .npy files made byte by byte (so that the reader is not tested by our own writer), and the sentence
// of a refusal.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/problem.hpp"
#include "support/scratch_folder.hpp"

namespace attnscale::test {

class Folder : public ScratchFolder {
 public:
  [[nodiscard]] std::string file(const std::string& name) const { return (path() / name).string(); }

  /// Writes a file and returns its path.
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
};

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Magic, version and length as the format says, then the header text as it is.
inline std::string npy_preamble(int version, const std::string& text) {
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), '\0'};
  for (int b = 0; b < (version == 1 ? 2 : 4); ++b) bytes += static_cast<char>(text.size() >> (8 * b) & 0xff);
  return bytes + text;
}

inline std::string npy_text(const std::string& type, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape +
         ", }   \n";
}

template <class Element>
std::string raw_bytes(const std::vector<Element>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(Element)};
}

/// fp32 values 0, 1, 2, ... plus `first`.
inline std::string counting_npy(const std::string& shape, std::int64_t count, float first = 0) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  return npy_preamble(1, npy_text("<f4", shape)) + raw_bytes(values);
}

/// The sentence of the InputError that `act` throws, or "" when it throws none.
template <class Act>
std::string refusal(const Act& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// One sentence: not empty, one line, no full stop inside or at the end.
inline bool is_one_sentence(const std::string& text) {
  return !text.empty() && text.find('\n') == std::string::npos && text.find(". ") == std::string::npos &&
         text.back() != '.';
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline Problem problem_of(const std::string& input, const Shape& shape) {
  Problem problem;
  problem.input = input;
  problem.shape = shape;
  return problem;
}

}  // namespace attnscale::test
