// What a run was: the machine, the program, what was asked for. run.json holds it, and the first line of the journal,
// so that a run can be resumed, repeated and captioned. Callers fill it in; this library knows no machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace attnscale {

using InfoValue = std::variant<std::string, std::int64_t, double, bool>;

/// "machine": {"cpu": ..., "cores": ...}
struct InfoSection {
  std::string name;
  std::vector<std::pair<std::string, InfoValue>> entries;
  bool operator==(const InfoSection&) const = default;
};

struct RunInfo {
  std::vector<InfoSection> sections;
  bool operator==(const RunInfo&) const = default;

  /// Sets an entry, replacing one of that name.
  void set(const std::string& section, const std::string& key, InfoValue value);
  /// Null when there is none.
  [[nodiscard]] const InfoValue* find(const std::string& section, const std::string& key) const;
  /// The entry as a text ("" when there is none): what captions and comparisons need.
  [[nodiscard]] std::string text(const std::string& section, const std::string& key) const;
};

/// The text of run.json: one object per section, and schema_version.
std::string run_json(const RunInfo& run);

/// Parses run.json; `file` names it in messages. Throws InputError.
RunInfo parse_run_json(const std::string& text, const std::string& file);

}  // namespace attnscale
