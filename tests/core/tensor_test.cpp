#include "core/tensor.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/problem.hpp"
#include "support/catch.hpp"

using namespace attnscale;

// A head is no position and a query head is no key/value head: swapping them does not compile.
static_assert(!std::is_convertible_v<std::int64_t, HeadIndex>);
static_assert(!std::is_convertible_v<HeadIndex, KvHeadIndex>);
static_assert(!std::is_convertible_v<BatchIndex, HeadIndex>);
static_assert(!std::is_convertible_v<QueryView, KeyView>);
static_assert(!std::is_invocable_v<decltype(&QueryView::matrix), QueryView, HeadIndex, BatchIndex>);
static_assert(!std::is_invocable_v<decltype(&QueryView::matrix), QueryView, BatchIndex, KvHeadIndex>);
static_assert(!std::is_invocable_v<decltype(&QueryView::matrix), QueryView, BatchIndex, std::int64_t>);
static_assert(std::is_convertible_v<OutputView, QueryView>);
static_assert(!std::is_convertible_v<QueryView, OutputView>);

TEST_CASE("every element of a tensor has a place of its own inside its storage") {
  for (const Padding& padding : {Padding{}, Padding{3, 5, std::numeric_limits<float>::quiet_NaN()}}) {
    const Extents extents{2, 3, 4, 5};
    QueryTensor tensor(extents, padding);
    float next = 1;
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t h = 0; h < 3; ++h) {
        for (std::int64_t i = 0; i < 4; ++i) {
          float* row = tensor.view().matrix(BatchIndex{b}, HeadIndex{h}).row(i);
          for (std::int64_t c = 0; c < 5; ++c) row[c] = next++;
        }
      }
    }
    next = 1;
    const QueryTensor& constant = tensor;
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t h = 0; h < 3; ++h) {
        const MatrixView<const float> m = constant.view().matrix(BatchIndex{b}, HeadIndex{h});
        for (std::int64_t i = 0; i < 4; ++i) {
          for (std::int64_t c = 0; c < 5; ++c) REQUIRE(m.row(i)[c] == next++);
        }
      }
    }
  }
}

TEST_CASE("padding fills what lies outside the rows, and rows start where it says") {
  QueryTensor tensor({1, 2, 3, 4}, {2, 1, 7.0f});
  const TensorView<float, HeadIndex> view = tensor.view();
  CHECK(view.row_stride == 6);
  CHECK(view.head_stride == 18);
  CHECK(reinterpret_cast<std::uintptr_t>(view.data) % 64 == sizeof(float));
  CHECK(view.data[-1] == 7.0f);
  CHECK(view.data[4] == 7.0f);
  CHECK(view.data[5] == 7.0f);
  CHECK(tensor.bytes() == (1 + 2 * 3 * 6) * static_cast<std::int64_t>(sizeof(float)));
}

TEST_CASE("tensors are aligned to 64 bytes, zero by default, movable, and may be empty") {
  QueryTensor tensor({1, 1, 3, 4});
  CHECK(reinterpret_cast<std::uintptr_t>(tensor.view().data) % 64 == 0);
  CHECK(tensor.view().matrix(BatchIndex{0}, HeadIndex{0}).row(2)[3] == 0.0f);
  const float* data = tensor.view().data;
  const QueryTensor moved = std::move(tensor);
  CHECK(moved.view().data == data);
  const QueryTensor empty({1, 1, 0, 4});
  CHECK(empty.bytes() == 0);
}

TEST_CASE("the extents of a shape name each size once") {
  const Shape s{2, 6, 3, 5, 7, 11, 13};
  CHECK(s.query_extents() == Extents{2, 6, 5, 11});
  CHECK(s.key_extents() == Extents{2, 3, 7, 11});
  CHECK(s.value_extents() == Extents{2, 3, 7, 13});
  CHECK(s.output_extents() == Extents{2, 6, 5, 13});
  CHECK(s.lse_extents() == Extents{2, 6, 5, 1});
  CHECK(s.rows() == 60);
}
