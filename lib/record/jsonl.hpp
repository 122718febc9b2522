// JSON lines: one record per line, the same fields as summary.csv. An empty field is null; infinities and not-a-number,
// which JSON lacks, are the strings "Inf", "-Inf" and "NaN".
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "record/record.hpp"

namespace attnscale {

/// One record, with its line break.
std::string json_line(const Record& record);

std::string jsonl_text(std::span<const Record> records);

/// Reads a file of JSON lines. Throws InputError naming file, line and field.
std::vector<Record> read_jsonl(const std::filesystem::path& path);

}  // namespace attnscale
