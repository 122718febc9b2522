#include "record/json_rows.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "core/error.hpp"
#include "record/visit.hpp"

namespace attnscale {
namespace {

Json to_json(const std::string& value) {
  return value.empty() ? Json() : Json(value);
}
Json to_json(std::int64_t value) {
  return value;
}
Json to_json(bool value) {
  return value;
}
Json to_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
  return value;
}
template <class T>
Json to_json(const std::optional<T>& value) {
  return value ? to_json(*value) : Json();
}

// Each from_json returns false when the value is of another type.
bool from_json(const Json& json, std::string& value) {
  if (json.is_null()) return true;
  if (!json.is_string()) return false;
  value = json.get<std::string>();
  return true;
}

bool from_json(const Json& json, std::int64_t& value) {
  const bool fits = json.is_number_integer() && !(json.is_number_unsigned() &&
                                                  json.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max());
  if (fits) value = json.get<std::int64_t>();
  return fits;
}

bool from_json(const Json& json, bool& value) {
  if (!json.is_boolean()) return false;
  value = json.get<bool>();
  return true;
}

bool from_json(const Json& json, double& value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (json.is_number()) {
    value = json.get<double>();
  } else if (json == "NaN") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (json == "Inf" || json == "-Inf") {
    value = json == "Inf" ? kInfinity : -kInfinity;
  } else {
    return false;
  }
  return true;
}

template <class T>
bool from_json(const Json& json, std::optional<T>& value) {
  if (json.is_null()) return true;
  return from_json(json, value.emplace());
}

/// Takes a value into a field, or says which one was wrong.
template <class T>
void take(const Json& json, T& value, const FieldInfo& field, const std::string& where) {
  if (from_json(json, value)) return;
  throw InputError(fmt::format("{}, field {}: {} is not of type {}", where, field.name, quoted(dump_line(json)),
                               name_of(field.type)));
}

InfoValue info_of_json(const Json& json, const std::string& where) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  throw InputError(fmt::format("{}: {} is not a text, number or truth value", where, quoted(dump_line(json))));
}

}  // namespace

template <class Row>
Json json_object(const Row& row) {
  Json object = Json::object();
  std::size_t i = 0;
  visit_fields(row, [&](const auto& value) { object[std::string(fields_of<Row>()[i++].name)] = to_json(value); });
  return object;
}

template <class Row>
Row row_of_json(const Json& object, const std::string& where) {
  if (!object.is_object()) throw InputError(fmt::format("{} is not a JSON object", where));
  if constexpr (std::is_same_v<Row, Record>) {
    const auto version = object.find("schema_version");
    if (version == object.end() || *version != kSchemaVersion) {
      throw InputError(
          fmt::format("{}: schema_version is {} where this program reads {}; use the program that wrote the file",
                      where, version == object.end() ? "missing" : dump_line(*version), kSchemaVersion));
    }
  }
  Row row;
  std::size_t i = 0;
  visit_fields(row, [&](auto& value) {
    const FieldInfo& field = fields_of<Row>()[i++];
    const auto found = object.find(std::string(field.name));
    if (found != object.end()) take(*found, value, field, where);
  });
  return row;
}

template <class Row>
Json json_array(const Row& row) {
  Json array = Json::array();
  visit_fields(row, [&](const auto& value) { array.push_back(to_json(value)); });
  return array;
}

template <class Row>
Row row_of_json_array(const Json& array, const std::string& where) {
  const auto fields = fields_of<Row>();
  if (!array.is_array() || array.size() != fields.size()) {
    throw InputError(fmt::format("{}: a row of {} values was expected", where, fields.size()));
  }
  Row row;
  std::size_t i = 0;
  visit_fields(row, [&](auto& value) {
    take(array[i], value, fields[i], where);
    ++i;
  });
  return row;
}

Json json_of_run(const RunInfo& run) {
  Json object = {{"schema_version", kSchemaVersion}};
  for (const InfoSection& section : run.sections) {
    Json& entries = object[section.name] = Json::object();
    for (const auto& [key, value] : section.entries) {
      entries[key] = std::visit([](const auto& plain) { return Json(plain); }, value);
    }
  }
  return object;
}

RunInfo run_of_json(const Json& object, const std::string& where) {
  if (!object.is_object()) throw InputError(fmt::format("{} is not a JSON object", where));
  if (object.value("schema_version", Json()) != kSchemaVersion) {
    throw InputError(fmt::format("{}: schema_version is {} where this program reads {}", where,
                                 dump_line(object.value("schema_version", Json())), kSchemaVersion));
  }
  RunInfo run;
  for (const auto& [name, entries] : object.items()) {
    if (name == "schema_version") continue;
    if (!entries.is_object()) throw InputError(fmt::format("{}: {} is not an object", where, quoted(name)));
    run.sections.push_back({name, {}});
    for (const auto& [key, value] : entries.items()) {
      run.sections.back().entries.emplace_back(key, info_of_json(value, where));
    }
  }
  return run;
}

Json parse_json(const std::string& text, const std::string& where) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("{} is not valid JSON", where));
  }
}

std::string dump_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

#define INSTANTIATE(Row)                                          \
  template Json json_object<Row>(const Row&);                     \
  template Row row_of_json<Row>(const Json&, const std::string&); \
  template Json json_array<Row>(const Row&);                      \
  template Row row_of_json_array<Row>(const Json&, const std::string&);
INSTANTIATE(Record)
INSTANTIATE(SampleRow)
INSTANTIATE(StageRow)
#undef INSTANTIATE

}  // namespace attnscale
