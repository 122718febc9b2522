// Shared by the tests of lib/study: messages of errors, folders that vanish, runs without a disk.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "core/error.hpp"
#include "record/record.hpp"
#include "study/expand.hpp"
#include "study/runner.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace attnscale::test {

/// The sentence of the InputError that `call` throws; "" when it throws nothing.
template <class Call>
std::string input_error(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class TemporaryFolder : public ScratchFolder {
 public:
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path() / name) << text;
    return (path() / name).string();
  }
};

inline std::vector<Group> groups_of(const Settings& settings) {
  return expand({"test", {parse_run(settings)}});
}

/// All finished cells of a run with one short round, so that a test takes no longer than it must.
inline std::vector<Cell> run_cells(Settings settings, const RunnerOptions& options = {}) {
  if (!settings.contains("rounds")) settings["rounds"] = {"1"};
  std::vector<Cell> cells;
  RunnerHooks hooks;
  hooks.finished = [&](Cell cell) { cells.push_back(std::move(cell)); };
  run_groups(groups_of(settings), options, hooks);
  return cells;
}

inline const Record& row_of(const std::vector<Cell>& cells, const std::string& label) {
  for (const Cell& cell : cells) {
    if (cell.record.label == label) return cell.record;
  }
  FAIL("no row " << label);
  return cells.front().record;
}

}  // namespace attnscale::test
