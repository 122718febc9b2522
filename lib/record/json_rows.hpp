// Rows and run information as JSON values; private to this library, so that nlohmann-json stays behind it.
//
// An empty field is null. JSON has no infinities and no NaN: they are the strings "Inf", "-Inf" and "NaN".
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "record/record.hpp"
#include "record/run_info.hpp"

namespace attnscale {

using Json = nlohmann::ordered_json;

/// An object with every field, in column order. Row: Record, SampleRow or StageRow.
template <class Row>
Json json_object(const Row& row);

/// The inverse. Missing keys and null leave a field empty, unknown keys are ignored. `where` ("x.jsonl line 3") starts
/// every message. Throws InputError for wrong types and another schema version.
template <class Row>
Row row_of_json(const Json& object, const std::string& where);

/// The values alone, in column order: samples of a cell take a third of the space this way.
template <class Row>
Json json_array(const Row& row);
template <class Row>
Row row_of_json_array(const Json& array, const std::string& where);

Json json_of_run(const RunInfo& run);
RunInfo run_of_json(const Json& object, const std::string& where);

/// Parses one JSON text. Throws InputError starting with `where`.
Json parse_json(const std::string& text, const std::string& where);

/// One line, without a line break; bytes that are no UTF-8 become U+FFFD.
std::string dump_line(const Json& value);

}  // namespace attnscale
