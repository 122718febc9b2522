#include "record/run_info.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "record/json_rows.hpp"

namespace attnscale {

void RunInfo::set(const std::string& section, const std::string& key, InfoValue value) {
  auto at = std::find_if(sections.begin(), sections.end(), [&](const InfoSection& s) { return s.name == section; });
  if (at == sections.end()) at = sections.insert(sections.end(), InfoSection{section, {}});
  const auto entry =
      std::find_if(at->entries.begin(), at->entries.end(), [&](const auto& e) { return e.first == key; });
  if (entry == at->entries.end()) {
    at->entries.emplace_back(key, std::move(value));
  } else {
    entry->second = std::move(value);
  }
}

const InfoValue* RunInfo::find(const std::string& section, const std::string& key) const {
  for (const InfoSection& candidate : sections) {
    if (candidate.name != section) continue;
    for (const auto& [name, value] : candidate.entries) {
      if (name == key) return &value;
    }
  }
  return nullptr;
}

std::string RunInfo::text(const std::string& section, const std::string& key) const {
  const InfoValue* value = find(section, key);
  return value == nullptr ? "" : std::visit([](const auto& plain) { return fmt::format("{}", plain); }, *value);
}

std::string run_json(const RunInfo& run) {
  return json_of_run(run).dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

RunInfo parse_run_json(const std::string& text, const std::string& file) {
  return run_of_json(parse_json(text, file), file);
}

}  // namespace attnscale
