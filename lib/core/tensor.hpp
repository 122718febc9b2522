// Tensors as the kernels see them. Heads are indexed by types of their own, so that a head and a position, or a query
// head and a key/value head, cannot be swapped: such a call does not compile.
#pragma once

#include <cassert>
#include <compare>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace attnscale {

template <class Tag>
struct Index {
  std::int64_t value = 0;
  constexpr Index() = default;
  constexpr explicit Index(std::int64_t v) : value(v) {}
  constexpr auto operator<=>(const Index&) const = default;
};

using BatchIndex = Index<struct BatchTag>;
using HeadIndex = Index<struct HeadTag>;      ///< a query head
using KvHeadIndex = Index<struct KvHeadTag>;  ///< a key/value head

/// A row-major matrix whose rows may be further apart than their width.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::int64_t row_stride = 0;  ///< elements between the starts of neighbouring rows

  [[nodiscard]] T* row(std::int64_t i) const {
    assert(i >= 0 && i < rows);
    return data + i * row_stride;
  }
  operator MatrixView<const T>() const { return {data, rows, width, row_stride}; }
};

/// Sizes of a (batch, heads, rows, width) tensor, by name.
struct Extents {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  bool operator==(const Extents&) const = default;
};

/// A (batch, heads, rows, width) tensor of fp32; `Head` is HeadIndex or KvHeadIndex.
template <class T, class Head>
struct TensorView {
  T* data = nullptr;
  Extents extents;
  std::int64_t row_stride = 0;
  std::int64_t head_stride = 0;

  [[nodiscard]] MatrixView<T> matrix(BatchIndex batch, Head head) const {
    assert(batch.value >= 0 && batch.value < extents.batch && head.value >= 0 && head.value < extents.heads);
    return {data + (batch.value * extents.heads + head.value) * head_stride, extents.rows, extents.width, row_stride};
  }
  operator TensorView<const T, Head>() const requires(!std::is_const_v<T>) {
    return {data, extents, row_stride, head_stride};
  }
};

using QueryView = TensorView<const float, HeadIndex>;  ///< (batch, heads, queries, dim)
using KeyView = TensorView<const float, KvHeadIndex>;  ///< keys (.., keys, dim) or values (.., keys, value_dim)
using OutputView = TensorView<float, HeadIndex>;       ///< (batch, heads, queries, value_dim), or width 1 for the LSE

/// How the rows of an owned tensor lie in memory; anything but the defaults serves tests.
struct Padding {
  std::int64_t row = 0;     ///< elements between the end of a row and the next row
  std::int64_t offset = 0;  ///< elements before the first row, to misalign it
  float fill = 0;           ///< value of everything outside the rows
};

/// Storage of a tensor, 64-byte aligned (before `offset`); movable, not copyable.
class Storage {
 public:
  Storage() = default;
  Storage(const Extents& extents, const Padding& padding);
  [[nodiscard]] float* first() const { return data_.get() + offset_; }
  [[nodiscard]] std::int64_t bytes() const { return size_ * static_cast<std::int64_t>(sizeof(float)); }

 private:
  struct Free {
    void operator()(float* data) const;
  };
  std::unique_ptr<float[], Free> data_;
  std::int64_t offset_ = 0;
  std::int64_t size_ = 0;
};

template <class Head>
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(const Extents& extents, const Padding& padding = {})
      : storage_(extents, padding), extents_(extents), row_stride_(extents.width + padding.row) {}

  [[nodiscard]] TensorView<float, Head> view() {
    return {storage_.first(), extents_, row_stride_, row_stride_ * extents_.rows};
  }
  [[nodiscard]] TensorView<const float, Head> view() const {
    return {storage_.first(), extents_, row_stride_, row_stride_ * extents_.rows};
  }
  [[nodiscard]] const Extents& extents() const { return extents_; }
  [[nodiscard]] std::int64_t bytes() const { return storage_.bytes(); }

 private:
  Storage storage_;
  Extents extents_;
  std::int64_t row_stride_ = 0;
};

using QueryTensor = Tensor<HeadIndex>;
using KeyTensor = Tensor<KvHeadIndex>;

/// What attention reads.
struct Qkv {
  QueryView q;
  KeyView k;
  KeyView v;
};

/// What attention writes: the output and the log-sum-exp (natural log) of each query row, in the original row order.
struct AttentionOutput {
  OutputView out;  ///< (batch, heads, queries, value_dim); a row with no visible key is 0
  OutputView lse;  ///< (batch, heads, queries, 1); a row with no visible key is -inf
};

}  // namespace attnscale
