#include "core/tensor.hpp"

#include <algorithm>
#include <new>

namespace attnscale {
namespace {
constexpr std::align_val_t kAlignment{64};
}

void Storage::Free::operator()(float* data) const {
  ::operator delete[](data, kAlignment);
}

Storage::Storage(const Extents& extents, const Padding& padding)
    : offset_(padding.offset),
      size_(padding.offset + extents.batch * extents.heads * extents.rows * (extents.width + padding.row)) {
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(size_, 1)) * sizeof(float);
  data_.reset(static_cast<float*>(::operator new[](bytes, kAlignment)));
  std::fill_n(data_.get(), size_, padding.fill);  // also touches every page, so that no timed call faults it in
}

}  // namespace attnscale
