#include "record/record.hpp"

#include <array>

#include "core/error.hpp"
#include "core/suggest.hpp"

namespace attnscale {
namespace {

constexpr std::array kOutcomes = {"ok", "unsupported", "incorrect", "over_budget", "timeout", "failed"};
constexpr std::array kTypes = {"text", "integer", "real", "flag", "count", "number"};

std::vector<FieldInfo> make_record_fields() {
  std::vector<FieldInfo> fields;
  std::string_view group;
  bool group_required = true;
#define FIELD_GROUP(title, required) \
  group = title;                     \
  group_required = required;
#define FIELD(type, name, unit, doc) fields.push_back({FieldType::type, #name, unit, doc, group, group_required});
#include "record/fields.def"
  return fields;
}

constexpr FieldInfo kSampleFields[] = {
#define SAMPLE_FIELD(type, name, unit, doc) {FieldType::type, #name, unit, doc, "", true},
#include "record/fields.def"
};

constexpr FieldInfo kStageFields[] = {
#define STAGE_FIELD(type, name, unit, doc) {FieldType::type, #name, unit, doc, "", true},
#include "record/fields.def"
};

constexpr FieldInfo kFitFields[] = {
#define FIT_FIELD(type, member, name, unit, doc) {FieldType::type, name, unit, doc, "", true},
#include "record/fields.def"
};

}  // namespace

const char* name_of(Outcome outcome) {
  return kOutcomes.at(static_cast<std::size_t>(outcome));
}

Outcome parse_outcome(const std::string& text) {
  for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
    if (text == kOutcomes[i]) return static_cast<Outcome>(i);
  }
  const std::vector<std::string> names(kOutcomes.begin(), kOutcomes.end());
  throw InputError(unknown_name("status", text, names));
}

const char* name_of(FieldType type) {
  return kTypes.at(static_cast<std::size_t>(type));
}

template <>
std::span<const FieldInfo> fields_of<Record>() {
  static const std::vector<FieldInfo> fields = make_record_fields();
  return fields;
}

template <>
std::span<const FieldInfo> fields_of<SampleRow>() {
  return kSampleFields;
}

template <>
std::span<const FieldInfo> fields_of<StageRow>() {
  return kStageFields;
}

template <>
std::span<const FieldInfo> fields_of<FitRow>() {
  return kFitFields;
}

}  // namespace attnscale
