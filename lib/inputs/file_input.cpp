#include "inputs/file_input.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/suggest.hpp"

namespace attnscale {
namespace {

constexpr std::string_view kScheme = "npy:";
constexpr std::array<const char*, 3> kNames = {"q", "k", "v"};

std::string path_of(const std::string& prefix, const char* name) {
  return fmt::format("{}.{}.npy", prefix, name);
}

/// Prefixes of the sets that lie in the folder of `prefix`.
std::vector<std::string> neighbours(const std::string& prefix) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  const fs::path folder = fs::path(prefix).parent_path();
  std::error_code error;
  for (fs::directory_iterator at(folder.empty() ? fs::path(".") : folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.ends_with(".q.npy")) found.push_back((folder / name.substr(0, name.size() - 6)).string());
  }
  std::ranges::sort(found);
  return found;
}

/// Throws when not a single file of the set exists: then it is the prefix that is wrong.
void check_prefix(const std::string& prefix) {
  const std::string rule = "an input npy:PREFIX stands for PREFIX.q.npy, PREFIX.k.npy and PREFIX.v.npy";
  if (prefix.empty()) throw InputError("the input 'npy:' names no file: " + rule);
  std::error_code error;
  const auto exists = [&](const char* name) { return std::filesystem::exists(path_of(prefix, name), error); };
  if (std::ranges::any_of(kNames, exists)) return;
  std::string typed = prefix;
  for (const char* ending : {".npy", ".q", ".k", ".v"}) {
    if (typed.ends_with(ending)) typed.resize(typed.size() - std::string_view(ending).size());
  }
  const std::string nearest = nearest_name(typed, neighbours(prefix));
  throw InputError(fmt::format("the input {} does not exist: {}{}", quoted("npy:" + prefix), rule,
                               nearest.empty() ? "" : fmt::format("; did you mean 'npy:{}'?", nearest)));
}

Extents extents_of(const NpyHeader& header, const std::string& path) {
  const auto& sizes = header.shape;
  switch (sizes.size()) {
    case 2:
      return {1, 1, sizes[0], sizes[1]};
    case 3:
      return {1, sizes[0], sizes[1], sizes[2]};
    case 4:
      return {sizes[0], sizes[1], sizes[2], sizes[3]};
    default:
      throw InputError(
          fmt::format("{} has {} dimension{}: save it as (n, dim), (heads, n, dim) or (batch, heads, n, dim)",
                      quoted_path(path), sizes.size(), sizes.size() == 1 ? "" : "s"));
  }
}

/// Checks that the three tensors can attend to each other.
void check_set(const std::string& input, const std::array<Extents, 3>& extents) {
  const auto& [q, k, v] = extents;
  const auto fail = [&](const std::string& what) {
    throw InputError(fmt::format("the tensors of {} disagree: {}", quoted(file_input_label(input)), what));
  };
  const auto same = [&](std::int64_t a, std::int64_t b, const char* what, const char* names) {
    if (a != b) fail(fmt::format("{} of {} are {} and {}, and must be equal", what, names, a, b));
  };
  same(q.batch, k.batch, "the batch sizes", "q and k");
  same(k.batch, v.batch, "the batch sizes", "k and v");
  same(k.heads, v.heads, "the heads", "k and v");
  same(k.rows, v.rows, "the rows (n)", "k and v");
  same(q.width, k.width, "the dims", "q and k");
  if (q.heads % k.heads != 0) {
    fail(fmt::format("the {} heads of q are not a multiple of the {} heads of k and v", q.heads, k.heads));
  }
}

/// Checks that the files hold what the problem asks for; `n` is named when queries and keys go together.
void check_request(const Problem& problem, const Shape& file) {
  const Shape& asked = problem.shape;
  const std::string label = quoted(file_input_label(problem.input));
  const auto at_most = [&](std::int64_t value, std::int64_t largest, const char* name) {
    if (value <= largest) return;
    throw InputError(
        fmt::format("{} is {}, more than {} holds: the largest {} is {}", name, value, label, name, largest));
  };
  const auto equal = [&](std::int64_t value, std::int64_t needed, const char* name) {
    if (value == needed) return;
    throw InputError(fmt::format("{} is {}, but {} has {}: give --{} {}", name, value, label, needed, name, needed));
  };
  if (asked.queries == asked.keys) at_most(asked.queries, std::min(file.queries, file.keys), "n");
  at_most(asked.queries, file.queries, "queries");
  at_most(asked.keys, file.keys, "keys");
  at_most(asked.batch, file.batch, "batch");
  equal(asked.dim, file.dim, "dim");
  equal(asked.value_dim, file.value_dim, "value-dim");
  if (asked.group() != file.group()) {
    throw InputError(
        fmt::format("heads {} with kv-heads {} share keys in groups of {}, but those of {} in groups of {}: give "
                    "--heads {} --kv-heads {}, or fewer of both in this proportion",
                    asked.heads, asked.kv_heads, asked.group(), label, file.group(), file.heads, file.kv_heads));
  }
  if (problem.first_head == 0) at_most(asked.heads, file.heads, "heads");
  if (problem.first_head + asked.heads > file.heads) {
    throw InputError(fmt::format(
        "first-head {} with heads {} ends beyond the {} heads of {}: the largest first-head is {}", problem.first_head,
        asked.heads, file.heads, label, std::max<std::int64_t>(file.heads - asked.heads, 0)));
  }
}

template <class Head>
Tensor<Head> cut(const std::vector<float>& values, const Extents& file, const Extents& asked, std::int64_t first_head) {
  Tensor<Head> tensor(asked);
  for (std::int64_t b = 0; b < asked.batch; ++b) {
    for (std::int64_t h = 0; h < asked.heads; ++h) {
      const float* from = values.data() + (b * file.heads + first_head + h) * file.rows * file.width;
      // A new tensor has no padding, so a head is one run in both.
      std::copy_n(from, asked.rows * asked.width, tensor.view().matrix(BatchIndex{b}, Head{h}).data);
    }
  }
  return tensor;
}

template <class Head>
void warn_of_specials(const Tensor<Head>& tensor, const char* name, std::vector<std::string>& warnings) {
  const Extents& extents = tensor.extents();
  const float* first = tensor.view().data;
  const float* last = first + extents.batch * extents.heads * extents.rows * extents.width;
  const auto nans = std::count_if(first, last, [](float x) { return std::isnan(x); });
  const auto infinities = std::count_if(first, last, [](float x) { return std::isinf(x); });
  if (nans > 0) warnings.push_back(fmt::format("{} holds {} NaN", name, nans));
  if (infinities > 0)
    warnings.push_back(fmt::format("{} holds {} infinite value{}", name, infinities, infinities == 1 ? "" : "s"));
}

}  // namespace

bool is_file_input(std::string_view input) {
  return input.starts_with(kScheme);
}

std::string file_input_label(const std::string& input) {
  return std::string(kScheme) + std::filesystem::path(input.substr(kScheme.size())).filename().string();
}

FileInput open_file_input(const std::string& input) {
  const std::string prefix = input.substr(kScheme.size());
  check_prefix(prefix);
  FileInput set;
  for (std::size_t t = 0; t < kNames.size(); ++t) {
    set.paths[t] = path_of(prefix, kNames[t]);
    set.headers[t] = read_npy_header(set.paths[t]);
    set.extents[t] = extents_of(set.headers[t], set.paths[t]);
  }
  check_set(input, set.extents);
  const auto& [q, k, v] = set.extents;
  set.shape = {q.batch, q.heads, k.heads, q.rows, k.rows, q.width, v.width};
  return set;
}

Inputs load_file_input(const Problem& problem) {
  const FileInput set = open_file_input(problem.input);
  check_request(problem, set.shape);
  const Shape& shape = problem.shape;
  const std::int64_t first_kv_head = problem.global_kv_head(KvHeadIndex{0});
  const auto read = [&](std::size_t t) { return read_npy(set.paths[t], set.headers[t]); };
  Inputs inputs;
  inputs.q = cut<HeadIndex>(read(0), set.extents[0], shape.query_extents(), problem.first_head);
  inputs.k = cut<KvHeadIndex>(read(1), set.extents[1], shape.key_extents(), first_kv_head);
  inputs.v = cut<KvHeadIndex>(read(2), set.extents[2], shape.value_extents(), first_kv_head);
  warn_of_specials(inputs.q, "q", inputs.warnings);
  warn_of_specials(inputs.k, "k", inputs.warnings);
  warn_of_specials(inputs.v, "v", inputs.warnings);
  return inputs;
}

}  // namespace attnscale
