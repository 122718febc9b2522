// Random numbers as a pure function of where they are used: Philox4x32-10 (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011) with the seed as key and (stream, batch item, head, row, column) as counter. Nothing is
// carried from one value to the next, so order, threads, batch and slices cannot change a bit. The Gaussians pass
// through the logf and sincosf of the C library: another libm may round a last bit otherwise, and the input hash of a
// record shows it.
#pragma once

#include <cstdint>
#include <span>

namespace attnscale {

/// What a number is for; numbers of different streams are independent.
enum class Stream : std::uint32_t { query, key, value, query_choice, key_choice, centre, frequency };

/// A row of random numbers: batch item and head below 2^32, row below 2^32.
struct Place {
  std::uint64_t seed = 0;
  Stream stream = Stream::query;
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
};

/// row[c] += deviation * z_c with z_c standard normal (Box-Muller), for every column c; at most 2^26 columns.
void add_normal(const Place& place, float deviation, std::span<float> row);

/// A whole number in [0, count), for 1 <= count <= 2^32; its bias is below count / 2^32.
std::int64_t random_index(const Place& place, std::int64_t count);

/// Uniform in (0, 1), one per column.
double random_fraction(const Place& place, std::int64_t column);

}  // namespace attnscale
