// What run.json says about a run: machine, program, command.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "record/run_info.hpp"
#include "study/account.hpp"

namespace attnscale::cli {

/// Absolute paths on the command line are cut to their last part.
RunInfo describe_run(const std::string& study, const std::vector<std::string>& arguments);

/// What the run learnt: peaks under "limits", where the time went under "time" and "harness_...".
void add_account(RunInfo& info, const RunAccount& account);

/// The time of now; `split` is gmtime_r or localtime_r.
std::string time_text(const char* format, std::tm* (*split)(const std::time_t*, std::tm*));

/// "AMD EPYC 7B13, 2 cores; commit 0123456789ab": what a plot's caption says.
std::string caption_of(const RunInfo& info);

}  // namespace attnscale::cli
