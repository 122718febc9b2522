#include "kernels/probe.hpp"

#include "kernels/table.hpp"

namespace attnscale::kernels {

std::int64_t probe_multiply_add(std::int64_t steps) {
  return table_in_use().probe_multiply_add(steps);
}

float probe_exp2(std::span<const float> x) {
  return table_in_use().probe_exp2(x);
}

float probe_read(std::span<const float> x) {
  return table_in_use().probe_read(x);
}

void probe_triad(std::span<float> a, std::span<const float> b, std::span<const float> c, float factor) {
  table_in_use().probe_triad(a, b, c, factor);
}

}  // namespace attnscale::kernels
