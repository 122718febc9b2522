// Growth laws of a run: its rows, split into series that differ in n alone, fitted by lib/analysis.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/record.hpp"

namespace attnscale {

/// One fit per series (method and everything else but n and seed) and quantity: time, visible and scored pairs, counted
/// workspace. Rows that are not `ok` are left out. `samples` give the spread of each time.
std::vector<FitRow> fit_records(std::span<const Record> records, std::span<const SampleRow> samples);

/// The rows that a person wants to see of a long run: of each series the one of largest n, and all that are neither ok
/// nor unsupported, in their order.
std::vector<Record> longest_rows(std::span<const Record> records);

/// A line per series: fitted class and exponent of time and of visible pairs, for people.
std::string fits_text(std::span<const FitRow> fits);

/// A line per series: from which n on it is faster than the baseline.
std::string crossovers_text(std::span<const Record> records);

}  // namespace attnscale
