// The micro-kernels do the work that they claim, on every SIMD target.
#include "kernels/probe.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "naive.hpp"

namespace kernels = attnscale::kernels;

namespace {

/// `blocks` blocks of 0, 1/8, 2/8, ...
class Buffer {
 public:
  explicit Buffer(std::int64_t blocks)
      : size_(static_cast<std::size_t>(blocks * kernels::kProbeBlock)),
        storage_({1, 1, 1, blocks * kernels::kProbeBlock}, {}) {
    for (std::size_t i = 0; i < size_; ++i) span()[i] = static_cast<float>(i % 100) / 8;
  }
  [[nodiscard]] std::span<float> span() { return {storage_.first(), size_}; }

 private:
  std::size_t size_;
  attnscale::Storage storage_;
};

}  // namespace

TEST_CASE("the multiply-add probe counts 2 FLOP per step, chain and lane") {
  kernel_test::for_each_target([] {
    const std::int64_t one = kernels::probe_multiply_add(1);
    CHECK(one >= 2 * 12);
    CHECK(one % 2 == 0);
    CHECK(kernels::probe_multiply_add(1000) == 1000 * one);
    CHECK(kernels::probe_multiply_add(0) == 0);
  });
}

TEST_CASE("the exp2 probe sums 2^x, and the read probe x") {
  kernel_test::for_each_target([] {
    for (const std::int64_t blocks : {0, 1, 3}) {
      Buffer x(blocks);
      double sum = 0, powers = 0;
      for (const float value : x.span()) {
        sum += double{value};
        powers += std::exp2(double{value});
      }
      CHECK(double{kernels::probe_read(x.span())} == Approx(sum).epsilon(1e-5));
      CHECK(double{kernels::probe_exp2(x.span())} == Approx(powers).epsilon(1e-5));
    }
  });
}

TEST_CASE("the triad probe writes b + factor c to every place") {
  kernel_test::for_each_target([] {
    Buffer a(2), b(2), c(2);
    std::reverse(c.span().begin(), c.span().end());
    kernels::probe_triad(a.span(), b.span(), c.span(), 0.5f);
    for (std::size_t i = 0; i < a.span().size(); ++i) {
      INFO(i);
      REQUIRE(a.span()[i] == b.span()[i] + 0.5f * c.span()[i]);  // all exact
    }
  });
}
