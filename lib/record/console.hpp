// The short table that ends a run: what a person wants to see first. Everything else is in summary.csv.
#pragma once

#include <span>
#include <string>

#include "record/record.hpp"

namespace attnscale {

struct TableOptions {
  bool colour = false;            ///< ANSI colour for what is not ok
  std::size_t reason_width = 60;  ///< reasons are cut to this many characters
};

/// A line per record: method, n, time with its spread, ratio to exact.streaming, visible pairs, workspace, relative
/// error, mass recall and status. Columns that tell rows apart (input, mask, seed, threads) appear when they differ. An
/// empty field is a dash. Lines end with '\n' and hold no control characters but colour.
std::string table_text(std::span<const Record> records, const TableOptions& options = {});

}  // namespace attnscale
