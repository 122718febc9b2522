#include "kernels/strip.hpp"

#include <algorithm>
#include <atomic>

#include "core/error.hpp"
#include "core/suggest.hpp"
#include "kernels/table.hpp"

namespace attnscale::kernels {
namespace {

const std::vector<Target>& targets() {
  static const std::vector<Target> all = compiled_targets();
  return all;
}

std::atomic<const Target*>& target_in_use() {
  static std::atomic<const Target*> target{&targets().front()};
  return target;
}

const KernelTable& table() {
  return *target_in_use().load(std::memory_order_relaxed)->table;
}

}  // namespace

const KernelTable& table_in_use() {
  return table();
}

std::int64_t attend_scratch(std::int64_t dim, std::int64_t value_dim) {
  return (dim + value_dim + tile_keys(dim, value_dim)) * strip_width();
}

std::int64_t attend(const Strip& strip, std::span<const Span> spans, double scale, std::span<float> scratch) {
  return table().attend(strip, spans, scale, scratch);
}

std::int64_t attend_block_scratch(std::int64_t dim, std::int64_t value_dim, std::int64_t strips) {
  return attend_scratch(dim, value_dim) + (strips - 1) * (dim + value_dim) * strip_width();
}

std::int64_t attend_block(std::span<const Strip> strips, std::span<const Span> spans, double scale,
                          std::span<float> scratch) {
  return table().attend_block(strips, spans, scale, scratch);
}

void score(const Strip& strip, const Span& span, double scale, std::span<float> scores, std::span<float> scratch) {
  table().score(strip, span, scale, scores, scratch);
}

void softmax(const Strip& strip, std::int64_t count, std::span<float> scores, std::span<float> sums) {
  table().softmax(strip, count, scores, sums);
}

void weigh(const Strip& strip, const Span& span, std::span<const float> scores, std::span<const float> sums,
           std::span<float> scratch) {
  table().weigh(strip, span, scores, sums, scratch);
}

std::int64_t topk_scratch(std::int64_t dim, std::int64_t k) {
  const std::int64_t tile = tile_keys(dim, 0);
  const std::int64_t hits = tile + 1;  // the last vector of them may be stored beyond the tile
  return (dim + tile + 2 * candidate_capacity(k) + hits) * strip_width();
}

std::int64_t select_topk(const Strip& strip, const Span& span, double scale, std::int64_t k, const TopkResult& result,
                         std::span<float> scratch) {
  return table().select_topk(strip, span, scale, k, result, scratch);
}

void attend_selected(const Strip& strip, const MatrixView<const float>& v, std::int64_t k, const TopkResult& selected) {
  table().attend_selected(strip, v, k, selected);
}

int strip_width() {
  return table().strip_width;
}

std::vector<std::string> available_targets() {
  std::vector<std::string> names;
  for (const Target& target : targets()) names.push_back(target.name);
  return names;
}

std::string current_target() {
  return target_in_use().load()->name;
}

void use_target(const std::string& name) {
  const auto found = std::find_if(targets().begin(), targets().end(), [&](const Target& t) { return t.name == name; });
  if (found == targets().end()) throw InputError(unknown_name("SIMD target", name, available_targets()));
  target_in_use().store(&*found);
}

}  // namespace attnscale::kernels
