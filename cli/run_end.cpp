#include "run_end.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "core/error.hpp"
#include "record/console.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/scaled.hpp"
#include "study/fits.hpp"

namespace attnscale::cli {
namespace {

bool any_with(const std::vector<Record>& records, Outcome outcome) {
  return std::any_of(records.begin(), records.end(), [&](const Record& r) { return r.status == name_of(outcome); });
}

// Where several apply, the first of measurement.md's order: interrupted, (write failure, which is thrown,) incorrect,
// unmeasured.
ExitCode code_of(const std::vector<Record>& records, bool whole) {
  if (!whole) return ExitCode::interrupted;
  if (any_with(records, Outcome::incorrect)) return ExitCode::incorrect;
  if (any_with(records, Outcome::failed) || any_with(records, Outcome::timeout)) return ExitCode::unmeasured;
  return ExitCode::ok;
}

std::string account_text(const TimeAccount& t) {
  const double all = t.wall_s > 0 ? t.wall_s : 1;
  const auto share = [all](double seconds) { return fmt::format("{:.1f} %", 100 * seconds / all); };
  std::string text =
      fmt::format("{:.1f} s: timed calls {}, oracle {}, inputs {}, child processes {}, machine limits {}", t.wall_s,
                  share(t.calls_s), share(t.oracle_s), share(t.inputs_s), share(t.children_s), share(t.limits_s));
  if (t.eviction_s > 0) text += fmt::format(", emptying caches {}", share(t.eviction_s));
  return text + fmt::format(", harness {} ({} per cell)\n", share(t.harness_s()),
                            scaled_time(1e9 * t.harness_s() / static_cast<double>(t.cells)));
}

}  // namespace

int end_run(const RunFolder& folder, const RunAccount& account, const EndOptions& options) {
  const std::vector<Record> records = folder.records();
  std::vector<SampleRow> samples;
  for (const Cell& cell : folder.cells()) samples.insert(samples.end(), cell.samples.begin(), cell.samples.end());
  const std::vector<FitRow> fits = fit_records(records, samples);
  write_file(folder.path() / "fits.csv", csv_text<FitRow>(fits));

  TableOptions table;
  table.colour = options.colour;
  constexpr std::size_t kShortRun = 40;
  const std::vector<Record> shown = records.size() <= kShortRun ? records : longest_rows(records);
  fmt::print("{}", table_text(shown, table));
  if (shown.size() < records.size())
    fmt::print("(the largest n of each method; all {} rows are in summary.csv)\n", records.size());
  if (const std::string growth = fits_text(fits); !growth.empty()) fmt::print("\n{}", growth);
  if (account.whole.cells > 0) fmt::print("\n{}", account_text(account.whole));
  const std::string path = folder.path().string();
  if (!options.whole) fmt::print("\ninterrupted: {} rows are in {}\n", records.size(), path);
  fmt::print("\n{} rows in {}/summary.csv; next: attnscale plot {}\n", records.size(), path, path);
  std::fflush(stdout);
  return static_cast<int>(code_of(records, options.whole));
}

void print_predictions(const std::vector<Prediction>& predictions) {
  std::size_t width = 6;
  for (const Prediction& p : predictions) width = std::max(width, p.spec.str().size());
  fmt::print("{:<{}}  {:>8}  {:>8}  {:>7}  {:>12}  {:>12}  {}\n", "method", width, "queries", "keys", "threads", "call",
             "memory", "status");
  for (const Prediction& p : predictions) {
    const bool known = p.call_ns > 0;
    fmt::print("{:<{}}  {:>8}  {:>8}  {:>7}  {:>12}  {:>12}  {}{}{}\n", p.spec.str(), width,
               p.group->problem.shape.queries, p.group->problem.shape.keys, p.group->threads,
               known ? scaled_time(p.call_ns) : "-", scaled_bytes(static_cast<double>(p.memory_bytes)),
               name_of(p.outcome), p.reason.empty() ? "" : ": ", p.reason);
  }
  fmt::print("{} cells; call: predicted time of one call\n", predictions.size());
}

}  // namespace attnscale::cli
