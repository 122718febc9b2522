#include "worker/messages.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace attnscale::worker {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& sentence) {
  throw std::runtime_error(sentence);
}

// What a worker wrote, for a reason: printable ASCII and not too long.
std::string plain(const std::string& text) {
  constexpr std::size_t kLongest = 200;
  std::string shown;
  for (const char c : text.substr(0, kLongest)) shown += c >= 0x20 && c < 0x7f ? c : '?';
  return shown + (text.size() > kLongest ? "..." : "");
}

Json parse(const std::string& line) {
  Json message = Json::parse(line, nullptr, false);
  if (!message.is_object()) refuse(fmt::format("the worker wrote no JSON object: '{}'", plain(line.substr(0, 80))));
  return message;
}

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_string()) refuse(fmt::format("the worker left out the text \"{}\"", key));
  return at->get<std::string>();
}

bool flag_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return false;
  if (!at->is_boolean()) refuse(fmt::format("the worker's \"{}\" is neither true nor false", key));
  return at->get<bool>();
}

// An answer to the question `id`, which must be of the type `wanted`.
Json answer(const std::string& line, std::int64_t id, const char* wanted) {
  Json message = parse(line);
  const std::string type = text_of(message, "type");
  if (type == "error") refuse(fmt::format("the worker says: {}", plain(text_of(message, "reason"))));
  if (type == "unsupported" && std::string_view(wanted) == "ready")
    throw Unsupported(fmt::format("the worker says: {}", plain(text_of(message, "reason"))));
  if (type != wanted) refuse(fmt::format("the worker answered '{}' instead of '{}'", plain(type), wanted));
  const auto at = message.find("id");
  if (at == message.end() || !at->is_number_integer() || at->get<std::int64_t>() != id)
    refuse(fmt::format("the worker's '{}' belongs to no problem that was asked for", wanted));
  return message;
}

bool valid_name(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_'; };
  return !name.empty() && name.size() <= kLongest && std::all_of(name.begin(), name.end(), allowed);
}

Offer read_offer(const Json& method) {
  if (!method.is_object()) refuse("the worker's hello lists a method that is no JSON object");
  Offer offer;
  offer.name = text_of(method, "name");
  if (!valid_name(offer.name)) {
    refuse(fmt::format("the worker offers a method '{}': a name has up to 64 of a-z, 0-9, '.' and '_'",
                       plain(offer.name.substr(0, 80))));
  }
  offer.like = text_of(method, "like");
  offer.summary = method.contains("summary") ? plain(text_of(method, "summary")) : "";
  offer.causal = flag_of(method, "causal");
  offer.gqa = flag_of(method, "gqa");
  offer.lse = flag_of(method, "lse");
  offer.visible = flag_of(method, "visible");
  return offer;
}

Json tensor_json(const Placed& tensor) {
  return {{"offset", tensor.offset}, {"shape", tensor.shape}};
}

}  // namespace

std::string problem_line(const ProblemMessage& message) {
  const Problem& problem = *message.problem;
  const Shape& s = problem.shape;
  Json params = Json::object();
  for (const auto& [name, value] : message.params) params[name] = value;
  Json tensors = Json::object();
  for (const Placed& tensor : message.tensors) tensors[std::string(tensor.name)] = tensor_json(tensor);
  return Json{{"type", "problem"},
              {"id", message.id},
              {"method", message.method},
              {"params", params},
              {"batch", s.batch},
              {"heads", s.heads},
              {"kv_heads", s.kv_heads},
              {"queries", s.queries},
              {"keys", s.keys},
              {"dim", s.dim},
              {"value_dim", s.value_dim},
              {"mask", name_of(problem.mask)},
              {"scale", problem.score_scale()},
              {"seed", problem.seed},
              {"threads", message.threads},
              {"memory", {{"name", message.memory}, {"bytes", message.memory_bytes}}},
              {"tensors", tensors}}
      .dump();
}

std::string run_line(std::int64_t id, std::int64_t iterations) {
  return Json{{"type", "run"}, {"id", id}, {"iterations", iterations}}.dump();
}

std::string release_line(std::int64_t id) {
  return Json{{"type", "release"}, {"id", id}}.dump();
}

std::string quit_line() {
  return Json{{"type", "quit"}}.dump();
}

std::vector<Offer> read_hello(const std::string& line) {
  const Json message = parse(line);
  if (text_of(message, "type") != "hello") refuse("the worker's first line is no hello");
  const auto version = message.find("protocol");
  if (version == message.end() || !version->is_number_integer()) refuse("the worker's hello names no protocol version");
  if (*version != kProtocol) {
    refuse(fmt::format("the worker speaks version {} of the protocol, and this program version {}", version->dump(),
                       kProtocol));
  }
  const auto methods = message.find("methods");
  if (methods == message.end() || !methods->is_array() || methods->empty()) refuse("the worker offers no method");
  std::vector<Offer> offers;
  for (const Json& method : *methods) offers.push_back(read_offer(method));
  return offers;
}

void read_ready(const std::string& line, std::int64_t id, const std::vector<std::int64_t>& output) {
  const Json message = answer(line, id, "ready");
  const auto shape = message.find("output");
  if (shape != message.end() && *shape == Json(output)) return;
  refuse(fmt::format("the worker's output has the shape {} instead of [{}]",
                     shape == message.end() ? "(none)" : plain(shape->dump()), fmt::join(output, ",")));
}

std::vector<double> read_times(const std::string& line, std::int64_t id, std::int64_t iterations) {
  const Json message = answer(line, id, "times");
  const auto times = message.find("ns");
  if (times == message.end() || !times->is_array()) refuse("the worker reports no list of times");
  if (static_cast<std::int64_t>(times->size()) != iterations)
    refuse(fmt::format("the worker reports {} times for {} calls", times->size(), iterations));
  std::vector<double> values;
  for (const Json& time : *times) {
    if (!time.is_number() || !std::isfinite(time.get<double>())) refuse("the worker reports a time that is no number");
    if (time.get<double>() < 0) refuse(fmt::format("the worker reports a negative time: {} ns", time.dump()));
    values.push_back(time.get<double>());
  }
  return values;
}

void read_released(const std::string& line, std::int64_t id) {
  static_cast<void>(answer(line, id, "released"));
}

}  // namespace attnscale::worker
