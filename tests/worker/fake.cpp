// A worker with modes: one that is in order, and one for each way to be hostile. fake MODE [NAME]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using Json = nlohmann::json;

std::string g_mode;
Json g_problem;
char* g_memory = nullptr;

bool mode(const char* name) {
  return g_mode == name;
}

void say(const Json& message) {
  std::cout << message.dump() << std::endl;
}

[[noreturn]] void hang() {
  for (;;) pause();
}

[[noreturn]] void flood(FILE* file, const std::string& text) {
  for (;;) std::fwrite(text.data(), 1, text.size(), file);
}

float* tensor(const char* name) {
  return reinterpret_cast<float*>(g_memory + g_problem["tensors"][name]["offset"].get<std::int64_t>());
}

std::int64_t size(const char* name) {
  return g_problem[name].get<std::int64_t>();
}

bool sees(std::int64_t head, std::int64_t i, std::int64_t j) {
  if (g_problem["tensors"].contains("visible")) {
    const auto* bits = reinterpret_cast<const unsigned char*>(tensor("visible"));
    const std::int64_t row_bytes = (size("keys") + 7) / 8;
    return (bits[(head * size("queries") + i) * row_bytes + j / 8] >> (j % 8) & 1) != 0;
  }
  return g_problem["mask"] != "causal" || j <= i + size("keys") - size("queries");
}

// Exact attention in fp64, row by row; the last row is left out on request.
void attend() {
  const std::int64_t dim = size("dim"), width = size("value_dim"), keys = size("keys"), queries = size("queries");
  const std::int64_t group = size("heads") / size("kv_heads");
  for (std::int64_t row = 0; row < size("batch") * size("heads") * queries; ++row) {
    if (mode("leaves-out") && row == queries - 1) continue;
    const std::int64_t matrix = row / queries, i = row % queries, head = matrix % size("heads");
    const std::int64_t kv = matrix / size("heads") * size("kv_heads") + head / group;
    std::vector<double> scores;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < keys; ++j) {
      double dot = -std::numeric_limits<double>::infinity();
      if (sees(head, i, j)) {
        dot = 0;
        for (std::int64_t c = 0; c < dim; ++c)
          dot += static_cast<double>(tensor("q")[row * dim + c]) * tensor("k")[(kv * keys + j) * dim + c];
        dot *= g_problem["scale"].get<double>();
      }
      scores.push_back(dot);
      largest = std::max(largest, dot);
    }
    double total = 0;
    std::vector<double> out(static_cast<std::size_t>(width));
    for (std::int64_t j = 0; j < keys && std::isfinite(largest); ++j) {
      const double weight = std::exp(scores[static_cast<std::size_t>(j)] - largest);
      total += weight;
      for (std::int64_t c = 0; c < width; ++c)
        out[static_cast<std::size_t>(c)] += weight * tensor("v")[(kv * keys + j) * width + c];
    }
    for (std::int64_t c = 0; c < width; ++c)
      tensor("o")[row * width + c] = static_cast<float>(total > 0 ? out[static_cast<std::size_t>(c)] / total : 0);
    if (g_problem["tensors"].contains("lse")) tensor("lse")[row] = static_cast<float>(largest + std::log(total));
  }
}

void open_problem(const Json& message) {
  if (mode("hangs-on-problem")) hang();
  if (mode("declines")) return say({{"type", "unsupported"}, {"id", message["id"]}, {"reason", "n is odd here"}});
  if (mode("says-error")) return say({{"type", "error"}, {"id", message["id"]}, {"reason", "no \xc3\xa9nergy"}});
  g_problem = message;
  const std::string name = message["memory"]["name"];
  const int descriptor = shm_open(name.c_str(), O_RDWR, 0);
  g_memory = static_cast<char*>(
      mmap(nullptr, message["memory"]["bytes"].get<std::size_t>(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
  close(descriptor);
  Json shape = {size("batch"), size("heads"), size("queries"), size("value_dim")};
  if (mode("wrong-shape")) std::swap(shape[2], shape[3]);
  say({{"type", "ready"}, {"id", mode("wrong-id") ? Json(99) : message["id"]}, {"output", shape}});
}

void die_on_purpose() {
  if (mode("exits")) {
    std::fprintf(stderr, "line one\nthe licence has expired\n");
    std::exit(7);
  }
  if (mode("killed") || (mode("killed-at-32") && size("keys") == 32)) kill(getpid(), SIGKILL);
  if (mode("hangs")) hang();
  if (mode("closes")) {
    close(STDOUT_FILENO);
    hang();
  }
  if (mode("rubbish")) std::cout << "Traceback \x01\xff (most recent call last)" << std::endl;
  if (mode("two-gigabytes")) flood(stdout, std::string(1 << 16, 'x'));
  if (mode("endless-lines")) flood(stdout, "1\n");
  if (mode("endless-errors")) flood(stderr, std::string(1 << 16, 'e'));
  if (mode("deep")) std::cout << std::string(200000, '[') << std::endl;
}

// Time of one call in ns, as a JSON value.
Json time_of(double ns) {
  const std::map<std::string, Json> lies = {{"negative", -5}, {"too-long", 1e15},  {"nothing", 0},
                                            {"text", "fast"}, {"infinite", 1e308}, {"too-little", 1}};
  const auto lie = lies.find(g_mode);
  return lie == lies.end() ? Json(ns) : lie->second;
}

void run(const Json& message) {
  static int runs = 0;
  ++runs;
  die_on_purpose();
  Json times = Json::array();
  for (std::int64_t i = 0; i < message["iterations"]; ++i) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    if (mode("too-little")) std::this_thread::sleep_for(std::chrono::milliseconds(60));
    const float before = tensor("o")[0];
    attend();
    if (mode("writes-once") && runs > 1) tensor("o")[0] = before;
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    times.push_back(time_of(std::floor(ns)));
  }
  if (mode("nan")) tensor("o")[0] = std::numeric_limits<float>::quiet_NaN();
  if (mode("wrong")) tensor("o")[0] += 1;
  if (mode("drifts") && runs > 1) tensor("o")[0] += 1;
  if (mode("too-few")) times.erase(times.begin());
  say({{"type", "times"}, {"id", message["id"]}, {"ns", times}});
}

void hello(const std::string& name) {
  if (mode("hangs-at-once")) hang();
  if (mode("exits-at-once")) std::exit(3);
  if (mode("two-gigabytes-at-once")) flood(stdout, std::string(1 << 16, 'x'));
  if (mode("rubbish-at-once")) std::cout << "Welcome!" << std::endl;
  if (mode("no-methods")) return say({{"type", "hello"}, {"protocol", 1}, {"methods", Json::array()}});
  const bool window = mode("window");
  Json method = {{"name", name}, {"like", window ? "window" : "exact.streaming"}, {"summary", "a fake"}};
  if (mode("unknown-like")) method["like"] = "exact.streeming";
  if (mode("chooses-like")) method["like"] = "topk";
  method["causal"] = method["gqa"] = !mode("plain");
  method["lse"] = mode("lse");
  method["visible"] = window;
  const int version = mode("wrong-version") ? 2 : 1;
  say({{"type", "hello"}, {"protocol", version}, {"methods", {method}}});
}

}  // namespace

int main(int argc, char** argv) {
  g_mode = argc > 1 ? argv[1] : "good";
  hello(argc > 2 ? argv[2] : "fake");
  if (mode("has-child") && fork() == 0) hang();
  for (std::string line; std::getline(std::cin, line);) {
    const Json message = Json::parse(line);
    if (message["type"] == "quit") break;
    if (message["type"] == "problem") open_problem(message);
    if (message["type"] == "run") run(message);
    if (message["type"] == "release") say({{"type", "released"}, {"id", message["id"]}});
  }
  if (mode("will-not-go")) hang();
  return 0;
}
