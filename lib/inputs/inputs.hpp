// Q, K and V of a problem: seeded families, or real tensors from .npy files.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.hpp"
#include "core/tensor.hpp"

namespace attnscale {

/// A generated family, for `attnscale list inputs`.
struct InputFamily {
  std::string_view name;
  std::string_view summary;  ///< what it models, in one line
};
std::span<const InputFamily> input_families();

struct Inputs {
  QueryTensor q;
  KeyTensor k;
  KeyTensor v;
  std::string hash;                   ///< 16 hex digits over the values and extents of Q, K and V (xxHash)
  std::vector<std::string> warnings;  ///< "k holds 3 NaN", ...; a NaN in a file is no error

  [[nodiscard]] Qkv view() const { return {q.view(), k.view(), v.view()}; }
};

/// Throws InputError for an unknown family or a file set that cannot be read, before any work is done.
void check_input(const std::string& input);

/// The sizes that a file input holds (queries, keys, heads, kv_heads, dim, value_dim, batch); empty for generated
/// families.
std::optional<Shape> input_shape(const std::string& input);

/// "npy:whisper-l2" for a file input (base name only), the family's name otherwise: what records show.
std::string input_label(const std::string& input);

/// Makes the inputs of a problem. Generated values depend on (seed, tensor, batch item, head, row, column) alone: the
/// same bytes for any thread count, order or slice. A file input is cut to the first rows and, from first_head on, the
/// first heads. Throws InputError when a file holds less than the problem asks for.
Inputs make_inputs(const Problem& problem);

}  // namespace attnscale
