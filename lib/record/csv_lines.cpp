#include "record/csv_lines.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnscale {

CsvLines::CsvLines(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  if (text_.empty()) throw InputError(fmt::format("{} is empty: it should start with a line of column names", file_));
  if (text_.find('\0') != std::string_view::npos)
    throw InputError(fmt::format("{} holds NUL bytes: it is not a CSV file", file_));
  if (text_.back() != '\n') {
    std::size_t lines = 1;
    for (const char c : text_) lines += c == '\n' ? 1 : 0;
    throw InputError(
        fmt::format("{} line {} does not end with a line break: the file was cut off there", file_, lines));
  }
}

void CsvLines::refuse(const std::string& what) const {
  throw InputError(fmt::format("{} line {}: {}", file_, line_, what));
}

std::string CsvLines::quoted_field() {
  std::string field;
  const std::size_t start_line = line_;
  for (++at_; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '"') {
      if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') {
        ++at_;
        return field;
      }
      ++at_;
    }
    line_ += c == '\n' ? 1 : 0;
    field += c;
  }
  line_ = start_line;
  refuse("a quoted field is never closed");
}

std::string CsvLines::plain_field() {
  const std::size_t end = std::min(text_.find_first_of(",\r\n\"", at_), text_.size());
  if (end < text_.size() && text_[end] == '"') refuse("a quote inside a field that does not start with one");
  std::string field(text_.substr(at_, end - at_));
  at_ = end;
  return field;
}

/// Steps over what follows a field; true when that ended the row.
bool CsvLines::end_of_row() {
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c == ',') {
    ++at_;
    return false;
  }
  if (c == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
  if (at_ >= text_.size() || text_[at_] != '\n') refuse("a field is followed by neither a comma nor a line break");
  ++at_;
  ++line_;
  return true;
}

bool CsvLines::next(std::vector<std::string>& fields) {
  fields.clear();
  if (at_ >= text_.size()) return false;
  row_line_ = line_;
  do {
    fields.push_back(at_ < text_.size() && text_[at_] == '"' ? quoted_field() : plain_field());
  } while (!end_of_row());
  if (width_ == 0) width_ = fields.size();
  if (fields.size() != width_) {
    throw InputError(fmt::format("{} line {}: {} fields, but the first line names {} columns", file_, row_line_,
                                 fields.size(), width_));
  }
  return true;
}

void append_csv_text(std::string& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace attnscale
