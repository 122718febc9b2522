// Which methods and problems the tests cross. A method that is new in catalog.def takes part with its defaults; a line
// in cases.cpp adds parameters that deserve a test.
#pragma once

#include <vector>

#include "core/problem.hpp"
#include "methods/method.hpp"

namespace attnscale::test {

/// Defaults and special parameters of every method in the catalogue.
std::vector<MethodSpec> all_specs();
/// The same for one method.
std::vector<MethodSpec> specs_of(const Method& method);
/// Two per method: its defaults and one whose pattern shows at a few dozen keys.
std::vector<MethodSpec> few_specs();

/// Odd sizes crossed with masks, head counts, batches and widths.
std::vector<Problem> odd_problems();
/// A handful of the same kind, for tests that run each of them several times.
std::vector<Problem> few_problems();

Problem problem_of(const std::string& text);
Problem square(std::int64_t n, Mask mask = Mask::none, std::int64_t dim = 8);

}  // namespace attnscale::test
