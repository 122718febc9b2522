#include "inputs/hash.hpp"

#include <memory>
#include <new>

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace attnscale {
namespace {

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

template <class Head>
void update(XXH3_state_t* state, const TensorView<const float, Head>& tensor) {
  const Extents& extents = tensor.extents;
  const std::int64_t sizes[] = {extents.batch, extents.heads, extents.rows, extents.width};
  XXH3_64bits_update(state, sizes, sizeof sizes);
  for (std::int64_t b = 0; b < extents.batch; ++b) {
    for (std::int64_t h = 0; h < extents.heads; ++h) {
      const auto matrix = tensor.matrix(BatchIndex{b}, Head{h});
      for (std::int64_t r = 0; r < matrix.rows; ++r) {
        XXH3_64bits_update(state, matrix.row(r), static_cast<std::size_t>(matrix.width) * sizeof(float));
      }
    }
  }
}

}  // namespace

std::string hash_inputs(const Qkv& inputs) {
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  if (!state) throw std::bad_alloc();
  XXH3_64bits_reset(state.get());
  update(state.get(), inputs.q);
  update(state.get(), inputs.k);
  update(state.get(), inputs.v);
  return fmt::format("{:016x}", XXH3_64bits_digest(state.get()));
}

}  // namespace attnscale
