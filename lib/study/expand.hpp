// From axes to cells: a study expands to groups, one per problem and thread count, whose methods are measured together.
#pragma once

#include <cstddef>
#include <vector>

#include "core/problem.hpp"
#include "methods/method.hpp"
#include "study/study.hpp"

namespace attnscale {

/// All cells of one problem at one thread count. exact.streaming is always among the methods, first: it is the
/// baseline.
struct Group {
  Problem problem;
  int threads = 1;
  RunOptions options;
  std::vector<MethodSpec> methods;
};

/// Groups in the order of the runs and axes (n outside seed outside threads). Cells that two runs share (SIMD target,
/// cache and pinning included) occur once, with the options of the first. Throws InputError for combinations that no
/// problem could satisfy: heads that are no multiple of kv-heads, more rows or heads than a file holds, window2d
/// without any n of height x width.
std::vector<Group> expand(const Study& study);

/// Cells in all groups.
std::size_t count_cells(const std::vector<Group>& groups);

}  // namespace attnscale
