#include "record/schema.hpp"

#include <fmt/format.h>

#include "record/record.hpp"

namespace attnscale {
namespace {

constexpr const char* kIntroduction = R"(# Files of a run: schema version {}

This page is made from `lib/record/fields.def` (`attnscale list fields` prints it); a test keeps the two equal.

A run folder holds `summary.csv` (one row per cell: a method at a problem), `samples.csv` (raw time samples), `stages.csv`
(raw stage times), `run.json` (machine, program, what was asked for) and `journal.jsonl` (the same rows, written as they
finish). `attnscale fit` adds `fits.csv`; `--format csv,jsonl` adds `summary.jsonl`.

- RFC 4180 with LF line ends, UTF-8, one header line. `pandas.read_csv(f)` and R's `read.csv(f)` need no options.
- An empty field means "does not apply" or "not measured" (`reason` says which); 0 is never written for unknown.
- Numbers are the shortest that read back to the same value. Infinities are `Inf` and `-Inf`, not-a-number is `NaN`;
  flags are `true` and `false`. In JSON an empty field is `null`, and `"Inf"`, `"-Inf"`, `"NaN"` are strings.
- Base units, named in the column: times in ns, sizes in bytes. Only display scales them.
- Readers go by column name. Columns of the group "Further" may be missing in older files; every other one must be there.
  `schema_version` goes up when a column is renamed, removed or changes its meaning.
- Journal: the first line is what `run.json` holds; every further line is `{{"record": {{...}}, "samples": [[...]],
  "stages": [[...]]}}`, arrays in the column order below. A last line that is cut off is dropped.

Types: text, integer, real and flag may be empty; count (a whole number) and number (a real one) may not.
)";

constexpr const char* kTableHead = "\n| column | type | unit | meaning |\n|---|---|---|---|\n";

/// A bar would end the table cell.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string table(std::span<const FieldInfo> fields) {
  std::string text;
  std::string_view group;
  for (const FieldInfo& field : fields) {
    if (field.group != group) text += fmt::format("\n### {}\n", field.group);
    if (text.empty() || field.group != group) text += kTableHead;
    group = field.group;
    text += fmt::format("| `{}` | {} | {} | {} |\n", field.name, name_of(field.type), field.unit, escaped(field.doc));
  }
  return text;
}

}  // namespace

std::string schema_markdown() {
  std::string text = fmt::format(kIntroduction, kSchemaVersion);
  text += "\n## summary.csv\n" + table(fields_of<Record>());
  text += "\n## samples.csv\n" + table(fields_of<SampleRow>());
  text += "\n## stages.csv\n" + table(fields_of<StageRow>());
  text += "\n## fits.csv\n" + table(fields_of<FitRow>());
  return text;
}

}  // namespace attnscale
