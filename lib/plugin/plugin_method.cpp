#include "plugin/plugin_method.hpp"

#include <utility>

#include <fmt/format.h>

#include "methods/external.hpp"
#include "plugin/guard.hpp"

namespace attnscale {
namespace {

attnscale_problem asked_of(const Problem& problem) {
  const Shape& s = problem.shape;
  attnscale_problem asked{};
  asked.size = sizeof(asked);
  asked.causal = problem.causal() ? 1 : 0;
  asked.batch = s.batch;
  asked.heads = s.heads;
  asked.kv_heads = s.kv_heads;
  asked.queries = s.queries;
  asked.keys = s.keys;
  asked.dim = s.dim;
  asked.value_dim = s.value_dim;
  asked.first_head = problem.first_head;
  asked.seed = problem.seed;
  asked.scale = problem.score_scale();
  return asked;
}

template <class Tensor, class View>
Tensor tensor_of(const View& view) {
  return {view.data, view.extents.heads * view.head_stride, view.head_stride, view.row_stride};
}

attnscale_call call_of(const Qkv& in, const AttentionOutput& out, bool lse) {
  attnscale_call call{};
  call.size = sizeof(call);
  call.q = tensor_of<attnscale_input>(in.q);
  call.k = tensor_of<attnscale_input>(in.k);
  call.v = tensor_of<attnscale_input>(in.v);
  call.out = tensor_of<attnscale_output>(out.out);
  if (lse) call.lse = tensor_of<attnscale_output>(out.lse);
  return call;
}

std::string reason_of(const char* text) {
  const std::string reason = plain_text(text);
  return reason.empty() ? "it failed without saying why" : reason;
}

// A count in [0, highest]; beyond it sums of ours would overflow.
std::int64_t checked(std::int64_t count, double highest, const char* what) {
  if (count >= 0 && static_cast<double>(count) <= highest) return count;
  throw PluginError(fmt::format("it says {} {}, which cannot be: 0 to {:.0f} can", count, what, highest));
}

}  // namespace

std::vector<std::int64_t> PluginMethod::values_of(const Params& params) const {
  std::vector<std::int64_t> values;
  for (const std::string& name : params_) values.push_back(params.integer(name));
  return values;
}

std::optional<std::string> PluginMethod::unsupported(const Problem& problem, const Params& params) const {
  if (table_.unsupported == nullptr) return std::nullopt;
  const attnscale_problem asked = asked_of(problem);
  const std::vector<std::int64_t> values = values_of(params);
  return guarded([&]() -> std::optional<std::string> {
    const char* reason = table_.unsupported(&asked, values.data());
    if (reason == nullptr) return std::nullopt;
    const std::string text = plain_text(reason);
    return text.empty() ? "the plugin cannot do it and does not say why" : text;
  });
}

Cost PluginMethod::cost(const Problem& problem, const attnscale_problem& asked, const std::int64_t* values) const {
  constexpr double kMostTimesScored = 64;  // more often than that nobody scores a pair
  const std::int64_t all = all_pairs(problem);
  const auto most = static_cast<double>(all);
  Cost cost = external_cost(problem, table_.visible_pairs == nullptr
                                         ? all
                                         : checked(table_.visible_pairs(&asked, values), most, "visible pairs"));
  if (table_.scored_pairs != nullptr) {
    const auto scorable = static_cast<double>(problem.shape.rows()) * static_cast<double>(problem.shape.keys);
    cost.scored_pairs = checked(table_.scored_pairs(&asked, values), kMostTimesScored * scorable, "scored pairs");
  }
  return cost;
}

Plan PluginMethod::plan(const Problem& problem, const Params& params, int threads) const {
  constexpr double kMostBytes = 1e15;
  const attnscale_problem asked = asked_of(problem);
  const std::vector<std::int64_t> values = values_of(params);
  return guarded([&] {
    Cost cost = this->cost(problem, asked, values.data());
    const char* error = nullptr;
    void* made = table_.plan(&asked, values.data(), threads, &error);
    if (made == nullptr) throw PluginError(reason_of(error));
    const auto release = table_.release;
    const std::shared_ptr<void> held(made, [release](void* plan) {
      try {
        guarded([&] { release(plan); });
      } catch (const PluginError&) {
        // Nothing of the row depends on it any more, and a destructor cannot pass it on.
      }
    });
    if (table_.workspace_bytes != nullptr)
      cost.table_bytes = checked(table_.workspace_bytes(made), kMostBytes, "bytes of workspace");
    const bool lse = (table_.flags & ATTNSCALE_NO_LSE) == 0;
    return call_plan(cost, [run = table_.run, held, lse](const Qkv& in, const AttentionOutput& out) {
      const attnscale_call call = call_of(in, out, lse);
      guarded([&] {
        const char* failure = run(held.get(), &call);
        if (failure != nullptr) throw PluginError(reason_of(failure));
      });
    });
  });
}

KeyGroups PluginMethod::visible(const Problem& problem, const Params& params) const {
  return [visible = table_.visible, problem, asked = asked_of(problem), values = values_of(params)](
             RowRef row, std::span<std::int32_t> groups) {
    std::vector<std::uint8_t> seen(groups.size(), 0);
    guarded([&] { visible(&asked, values.data(), row.batch.value, row.head.value, row.query, seen.data()); });
    const std::int64_t allowed = problem.allowed(row.query);
    for (std::size_t j = 0; j < seen.size(); ++j) {
      const bool sees = static_cast<std::int64_t>(j) < allowed && seen[j] != 0;
      groups[j] = sees ? static_cast<std::int32_t>(j) : -1;
    }
  };
}

}  // namespace attnscale
