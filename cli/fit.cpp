// `attnscale fit RUN`: growth laws and crossovers of a finished run, and fits.csv beside it.
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "core/error.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "study/fits.hpp"

namespace attnscale::cli {
namespace {

namespace fs = std::filesystem;

int fit(const fs::path& run) {
  const std::vector<Record> records = read_csv<Record>(run / "summary.csv");
  std::vector<SampleRow> samples;
  // A thinned copy of a run may lack its raw samples; then every size has the same weight.
  if (std::error_code error; fs::exists(run / "samples.csv", error)) samples = read_csv<SampleRow>(run / "samples.csv");
  const std::vector<FitRow> fits = fit_records(records, samples);
  write_file(run / "fits.csv", csv_text<FitRow>(fits));
  const std::string growth = fits_text(fits);
  if (growth.empty()) {
    const std::string why = fits.empty() ? "no row is ok" : fits.front().verdict;
    fmt::print("nothing could be fitted ({})\n", why);
    return static_cast<int>(ExitCode::unmeasured);
  }
  fmt::print("{}\n", growth);
  for (const FitRow& row : fits) {
    const std::string series = row.series.empty() ? "" : fmt::format(" [{}]", row.series);
    // Of some quantities theory says nothing.
    const std::string& says = row.verdict.empty() ? row.growth_class : row.verdict;
    fmt::print("{}{}, {}: {}\n", row.method, series, row.quantity, says);
  }
  if (const std::string crossings = crossovers_text(records); !crossings.empty()) {
    fmt::print("\nagainst exact.streaming:\n{}", crossings);
  }
  return 0;
}

}  // namespace

Command add_fit(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("fit", "Growth laws of a run: classes, exponents, crossovers; writes fits.csv");
  const auto run = std::make_shared<std::string>();
  command->add_option("run", *run, "folder of a run")->required();
  return {command, [run] { return fit(*run); }};
}

}  // namespace attnscale::cli
