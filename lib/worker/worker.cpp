// A worker's method follows the definition of one of ours: `like` gives it contract, parameters, visible keys and
// counts, so that a stranger cannot be wrong about what it computes without being found out.
#include "worker/worker.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/ranges.hpp"
#include "core/suggest.hpp"
#include "methods/external.hpp"
#include "worker/pool.hpp"
#include "worker/session.hpp"
#include "worker/words.hpp"

namespace attnscale {
namespace {

using worker::Offer;
using worker::Pool;
using worker::Session;

const Method& definition_of(const Offer& offer, const std::string& origin) {
  const Method* like = find_method(offer.like);
  std::vector<std::string> names;
  for (const Method* method : catalog()) {
    if (method->origin.empty() && method->judge == nullptr) names.emplace_back(method->name);
  }
  if (like == nullptr) {
    throw InputError(fmt::format("{} brings the method {} like an {}", origin, offer.name,
                                 unknown_name("method", offer.like, names)));
  }
  if (!like->origin.empty() || like->judge != nullptr) {
    throw InputError(
        fmt::format("{} brings the method {} like {}, whose keys depend on the data or which is not the program's own: "
                    "one like {} can be verified",
                    origin, offer.name, like->name, names.front()));
  }
  return *like;
}

/// "--worker 'CMD'" for messages and `repro`: words by their base names where they are absolute paths.
std::string origin_of(const std::string& command) {
  std::string shown;
  for (const std::string& word : worker::split_words(command)) {
    const std::filesystem::path path(word);
    const std::string text = path.is_absolute() ? path.filename().string() : word;
    const bool plain = text.find_first_of(" \t\n\"'\\") == std::string::npos && !text.empty();
    shown += (shown.empty() ? "" : " ") + (plain ? text : "\"" + text + "\"");
  }
  return fmt::format("--worker '{}'", plain_text(shown.c_str()));
}

std::vector<std::pair<std::string, std::string>> named_values(const Params& params) {
  std::vector<std::pair<std::string, std::string>> values;
  if (params.str().empty()) return values;
  for (const std::string& part : split(params.str(), ',')) {
    const std::size_t equals = part.find('=');
    values.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return values;
}

std::optional<std::string> unsupported(const Offer& offer, const Method& like, const Problem& problem,
                                       const Params& params) {
  if (problem.causal() && !offer.causal) return "the worker offers this method without a causal mask only";
  if (problem.shape.kv_heads != problem.shape.heads && !offer.gqa)
    return "the worker offers this method for as many key/value heads as query heads only";
  return like.unsupported == nullptr ? std::nullopt : like.unsupported(problem, params);
}

/// Time of one call on a machine of 1 GFLOP/s: far more than any sensible kernel takes.
double generous_seconds(const Problem& problem, const Cost& cost) {
  const Shape& s = problem.shape;
  return 1e-9 * (2 * static_cast<double>(s.dim) * static_cast<double>(*cost.scored_pairs) +
                 2 * static_cast<double>(s.value_dim) * static_cast<double>(*cost.visible_pairs));
}

Plan make_plan(const std::shared_ptr<Pool>& pool, const Offer& offer, const Method& like, const Problem& problem,
               const Params& params, int threads) {
  Cost cost = like.plan(problem, params).cost;
  worker::Task task{&offer, problem, named_values(params), threads, nullptr, generous_seconds(problem, cost)};
  if (offer.visible) task.visible = like.visible(problem, params, {});
  const auto session = std::make_shared<Session>(pool, std::move(task));
  cost.table_bytes = session->memory_bytes();
  Plan plan = call_plan(cost, [session](const Qkv& in, const AttentionOutput& out) {
    session->call(in);
    session->copy_output(out);
  });
  plan.own_time_ns = [session] { return session->own_time_ns(); };
  plan.expect_calls = [session](std::int64_t calls) { session->expect(calls); };
  return plan;
}

Method make_method(const std::shared_ptr<Pool>& pool, const Offer& offer, const Method& like,
                   const std::string& origin) {
  Method method;
  method.name = offer.name;
  method.summary = offer.summary;
  method.complexity = like.complexity;
  method.contract = like.contract;
  method.params = like.params;
  method.invalid = like.invalid;
  method.visible = like.visible;
  method.shared_qk = like.shared_qk;
  method.origin = origin;
  method.gives_lse = offer.lse;
  // The pool outlives every plan, since the catalogue holds this closure.
  method.unsupported = [&offer, &like](const Problem& problem, const Params& params) {
    return unsupported(offer, like, problem, params);
  };
  method.plan_with_threads = [pool, &offer, &like](const Problem& problem, const Params& params, int threads) {
    return make_plan(pool, offer, like, problem, params, threads);
  };
  return method;
}

}  // namespace

std::vector<std::string> add_worker(const std::string& command, double timeout_s) {
  const auto pool = std::make_shared<Pool>(command, timeout_s);
  const std::string origin = origin_of(command);
  std::vector<std::string> names;
  for (const Offer& offer : pool->offers()) {
    const Method& like = definition_of(offer, origin);
    const std::string follows = fmt::format("the definition of {}, run by {}", like.name, origin);
    Method method = make_method(pool, offer, like, origin);
    method.paper = follows;
    add_method(method);
    names.push_back(offer.name);
  }
  return names;
}

}  // namespace attnscale
