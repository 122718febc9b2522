#include "stage_shares.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "analysis/stats.hpp"

namespace attnscale::cli {
namespace {

struct StageTimes {
  std::string stage;
  std::vector<double> times;
};

}  // namespace

std::string stage_shares_csv(std::span<const Record> records, std::span<const StageRow> stages) {
  std::map<std::string, std::vector<StageTimes>> cells;
  for (const StageRow& row : stages) {
    std::vector<StageTimes>& cell = cells[row.cell_id];
    auto at = std::find_if(cell.begin(), cell.end(), [&](const StageTimes& s) { return s.stage == row.stage; });
    if (at == cell.end()) at = cell.insert(cell.end(), {row.stage, {}});
    at->times.push_back(row.time_ns);
  }
  std::string csv = "label,input,queries,stage,share_begin,share_end\n";
  for (const Record& record : records) {
    const auto cell = cells.find(record.cell_id);
    if (cell == cells.end() || !record.queries) continue;
    double sum = 0;
    for (const StageTimes& stage : cell->second) sum += median(stage.times);
    if (!(sum > 0)) continue;
    double begin = 0;
    for (const StageTimes& stage : cell->second) {
      const double end = begin + median(stage.times) / sum;
      csv += fmt::format("{},{},{},{},{},{}\n", record.label, record.input, *record.queries, stage.stage, begin, end);
      begin = end;
    }
  }
  return csv;
}

}  // namespace attnscale::cli
