// The rows that a run writes. One struct per file, its members generated from fields.def, so that header, writer,
// reader and documentation cannot disagree.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscale {

/// Goes up when a required column of fields.def is renamed, removed or changes its meaning.
inline constexpr std::int64_t kSchemaVersion = 1;

/// How a cell ended. Every cell becomes a row, whatever happened.
enum class Outcome {
  ok,
  unsupported,  ///< the method cannot do this problem
  incorrect,    ///< the output is beyond its fp32 tolerance, or its bound is violated
  over_budget,  ///< predicted memory or time is beyond what was allowed; it was not tried
  timeout,      ///< it was tried and took too long
  failed,       ///< it was tried and ended in an error
};

const char* name_of(Outcome outcome);
/// Throws InputError with the nearest valid name.
Outcome parse_outcome(const std::string& text);

/// Types of a field, under the names that fields.def uses.
namespace field {
using text = std::string;  ///< empty text = empty field
using integer =
    std::optional<std::int64_t>;  ///< nothing = empty field: does not apply, or not measured; never 0 for unknown
using real = std::optional<double>;
using flag = std::optional<bool>;  ///< written true or false
using count = std::int64_t;        ///< never empty
using number = double;             ///< never empty
}  // namespace field

enum class FieldType { text, integer, real, flag, count, number };
const char* name_of(FieldType type);

struct FieldInfo {
  FieldType type;
  std::string_view name;
  std::string_view unit;  ///< empty: no unit
  std::string_view doc;
  std::string_view group;  ///< of summary.csv; empty in the other files
  bool required = true;    ///< a file without this column is refused
};

#define FIELD_MEMBER(type, name, unit, doc) field::type name{};

/// One row of summary.csv: everything about one cell.
struct Record {
#define FIELD FIELD_MEMBER
#include "record/fields.def"
  Record() : schema_version(kSchemaVersion) {}
  bool operator==(const Record&) const = default;
};

/// One row of samples.csv: one time sample of a cell.
struct SampleRow {
#define SAMPLE_FIELD FIELD_MEMBER
#include "record/fields.def"
  bool operator==(const SampleRow&) const = default;
};

/// One row of stages.csv: the time of one stage in one round.
struct StageRow {
#define STAGE_FIELD FIELD_MEMBER
#include "record/fields.def"
  bool operator==(const StageRow&) const = default;
};

/// One row of fits.csv: a fitted growth law.
struct FitRow {
#define FIT_FIELD(type, member, name, unit, doc) field::type member{};
#include "record/fields.def"
  bool operator==(const FitRow&) const = default;
};

#undef FIELD_MEMBER

/// A finished cell: its row and the raw data behind it.
struct Cell {
  Record record;
  std::vector<SampleRow> samples;
  std::vector<StageRow> stages;
};

/// The fields of Record, SampleRow, StageRow or FitRow, in column order.
template <class Row>
std::span<const FieldInfo> fields_of();

template <>
std::span<const FieldInfo> fields_of<Record>();
template <>
std::span<const FieldInfo> fields_of<SampleRow>();
template <>
std::span<const FieldInfo> fields_of<StageRow>();
template <>
std::span<const FieldInfo> fields_of<FitRow>();

}  // namespace attnscale
