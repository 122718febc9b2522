// The two decisions of a measurement that need no clock: who runs when in a round, and how many calls make a sample.
#pragma once

#include <cstdint>
#include <vector>

namespace attnscale {

/// Order of `count` callables in a round: a seeded permutation laid over a Williams design, that is, a Latin square in
/// which, over `count` rounds (2 * count when it is odd), each callable takes each place equally often and follows each
/// other one equally often. So neither a drift of the machine nor what the predecessor leaves in the caches favours
/// anyone. E. J. Williams, Experimental designs balanced for the estimation of residual effects of treatments, 1949.
std::vector<int> round_order(int count, int round, std::uint64_t seed);

/// Calls per sample so that one lasts floor_ns with a margin of a fifth; at least 1.
std::int64_t iterations_for(double call_ns, double floor_ns);

}  // namespace attnscale
