#include "inputs/inputs.hpp"

#include "core/error.hpp"
#include "core/suggest.hpp"
#include "inputs/families.hpp"
#include "inputs/file_input.hpp"
#include "inputs/hash.hpp"

namespace attnscale {
namespace {

const Family& family_of(const std::string& input) {
  if (const Family* family = find_family(input)) return *family;
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.about.name);
  names.emplace_back("npy:PREFIX");
  throw InputError(unknown_name("input", input, names));
}

/// Calls fill(batch item, head of this problem, row, values) for every row of a tensor.
template <class Head, class Fill>
void for_each_row(Tensor<Head>& tensor, const Fill& fill) {
  const TensorView<float, Head> view = tensor.view();
  for (std::int64_t b = 0; b < view.extents.batch; ++b) {
    for (std::int64_t h = 0; h < view.extents.heads; ++h) {
      const MatrixView<float> matrix = view.matrix(BatchIndex{b}, Head{h});
      for (std::int64_t r = 0; r < matrix.rows; ++r) {
        fill(b, Head{h}, r, std::span<float>(matrix.row(r), static_cast<std::size_t>(matrix.width)));
      }
    }
  }
}

Inputs generate(const Family& family, const Problem& problem) {
  const Shape& shape = problem.shape;
  Inputs inputs{
      QueryTensor(shape.query_extents()), KeyTensor(shape.key_extents()), KeyTensor(shape.value_extents()), "", {}};
  for_each_row(inputs.q, [&](std::int64_t batch, HeadIndex head, std::int64_t i, std::span<float> values) {
    const std::int64_t kv_head = problem.global_kv_head(shape.kv_head(head));
    family.query({problem.seed, batch, problem.first_head + head.value, kv_head, i, problem.position(i)}, values);
  });
  const auto key_row = [&](std::int64_t batch, KvHeadIndex head, std::int64_t j) {
    const std::int64_t kv_head = problem.global_kv_head(head);
    return Row{problem.seed, batch, kv_head, kv_head, j, j};
  };
  for_each_row(inputs.k, [&](std::int64_t batch, KvHeadIndex head, std::int64_t j, std::span<float> values) {
    family.key(key_row(batch, head, j), values);
  });
  for_each_row(inputs.v, [&](std::int64_t batch, KvHeadIndex head, std::int64_t j, std::span<float> values) {
    add_normal(key_row(batch, head, j).place(Stream::value), 1, values);
  });
  return inputs;
}

}  // namespace

void check_input(const std::string& input) {
  if (is_file_input(input)) {
    open_file_input(input);
  } else {
    family_of(input);
  }
}

std::optional<Shape> input_shape(const std::string& input) {
  if (is_file_input(input)) return open_file_input(input).shape;
  family_of(input);
  return std::nullopt;
}

std::string input_label(const std::string& input) {
  return is_file_input(input) ? file_input_label(input) : input;
}

Inputs make_inputs(const Problem& problem) {
  problem.validate();
  Inputs inputs = is_file_input(problem.input) ? load_file_input(problem) : generate(family_of(problem.input), problem);
  inputs.hash = hash_inputs(inputs.view());
  return inputs;
}

}  // namespace attnscale
