// Data for plots/stages.gp: which share of a call each stage takes.
#pragma once

#include <span>
#include <string>

#include "record/record.hpp"

namespace attnscale::cli {

/// CSV: label,input,queries,stage,share_begin,share_end. Shares are of the sum of the stages' medians, laid end to end
/// in the order in which the stages run.
std::string stage_shares_csv(std::span<const Record> records, std::span<const StageRow> stages);

}  // namespace attnscale::cli
