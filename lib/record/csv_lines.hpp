// A strict RFC 4180 tokenizer: text in, rows of fields out. It knows nothing of columns.
//
// Accepted: comma separators, fields in double quotes with quotes doubled, line breaks inside quotes, LF or CRLF, a
// UTF-8 byte order mark. Refused, with file and line: a quote inside an unquoted field, text behind a closing quote, a
// lone CR, NUL bytes, a row of another length than the header, and a file that does not end with a line break, since it
// was cut off and its last value may be a part of the real one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnscale {

class CsvLines {
 public:
  /// `file` names the text in messages. Throws InputError when the text is empty or cut off.
  CsvLines(std::string_view text, std::string file);

  /// Reads the next row, false at the end. The first row sets the length of all. Throws InputError.
  bool next(std::vector<std::string>& fields);

  /// Line on which the latest row starts, from 1.
  [[nodiscard]] std::size_t line() const { return row_line_; }
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  std::string quoted_field();
  std::string plain_field();
  bool end_of_row();
  [[noreturn]] void refuse(const std::string& what) const;

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t row_line_ = 1;
  std::size_t width_ = 0;
};

/// One field, quoted when it must be.
void append_csv_text(std::string& out, std::string_view text);

}  // namespace attnscale
