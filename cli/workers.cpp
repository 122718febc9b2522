#include "workers.hpp"

#include <cstdio>
#include <set>
#include <string>

#include <fmt/format.h>

#include "core/error.hpp"
#include "worker/worker.hpp"

namespace attnscale::cli {
namespace {

std::vector<std::string> texts_of(const Settings& settings, const char* key) {
  const auto at = settings.find(key);
  return at == settings.end() ? std::vector<std::string>{} : at->second;
}

double timeout_of(const Settings& settings) {
  constexpr const char* kKey = "worker-timeout";
  const std::vector<std::string> typed = texts_of(settings, kKey);
  const double seconds = parse_seconds(typed.empty() ? std::string(find_key(kKey)->fallback) : typed.back(), kKey);
  if (seconds > 0) return seconds;
  throw InputError(fmt::format("{} is 0: give a time above 0, as in {}", kKey, find_key(kKey)->fallback));
}

}  // namespace

void load_workers(const Settings& settings) {
  static std::set<std::string> loaded;  // several runs of a study name the same ones
  const double timeout_s = timeout_of(settings);
  for (const std::string& command : texts_of(settings, "worker")) {
    if (loaded.insert(command).second) add_worker(command, timeout_s);
  }
  for (const std::string& command : texts_of(settings, "peer")) {
    if (!loaded.insert(command).second) continue;
    try {
      add_worker(command, timeout_s);
    } catch (const InputError& reason) {
      fmt::print(stderr, "attnscale: a peer is left out: {}\n", reason.what());
    }
  }
}

}  // namespace attnscale::cli
