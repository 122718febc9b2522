// The noise floor: how far apart two measurements of the very same thing lie.
#pragma once

namespace attnscale {

struct NoiseFloor {
  double ratio = 1;   ///< median over rounds of the time of A over the time of A; 1 but for noise
  double spread = 0;  ///< half the range that holds the middle 90 % of the rounds' ratios
  int rounds = 0;
};

/// An A/A comparison: one kernel of about a millisecond twice in interleaved rounds, as a run compares two methods,
/// with samples of `sample_ns`. Differences below the spread mean nothing in a single round.
NoiseFloor measure_noise(int rounds, double sample_ns = 5e6);

}  // namespace attnscale
