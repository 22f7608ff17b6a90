// What is made of times: pure functions, so that they can be held to simulated ones (docs/tuning.md explains them).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lanewise::tune {

/// Of an even number of values the mean of the two in the middle; 0 of none.
double median(std::vector<double> values);
/// The median of the distances from the median.
double deviation(const std::vector<double>& values);

/// One round: every contender was timed twice, in an order that reads the same from both ends, so that a steady drift
/// falls on all of them alike. Contender 0 is the default, 1 the default again (the A/A control), then the others.
struct Round {
  std::vector<double> us;  ///< of each contender, the sum of both times
  double speed = 0;        ///< the clock's beside it, any unit, more is faster; 0: unknown
};

/// The order in which a round times `contenders`: a permutation made of `seed`, there and back.
std::vector<std::size_t> order_of(std::size_t contenders, std::uint64_t seed);

struct Limits {
  /// Rounds whose control differs from 1 by more are rejected: on a GPU. 0: the bound comes from the spread of the
  /// run's own controls (control_bound).
  double control = 0;
  double least_control = 0.005;  ///< of such a bound
  double clock_drop = 0.02;      ///< rounds whose clock is slower than the run's median by more are rejected
  /// Where the clock can't be told, the default's own time stands for it: on a GPU.
  bool default_is_clock = false;
};

/// What a run's rounds are worth.
struct Sieve {
  std::vector<bool> kept;                                        ///< one a round
  std::uint32_t control = 0;                                     ///< rejected: the A/A control was out of bounds
  std::uint32_t clock = 0;                                       ///< rejected: the clock fell
  double control_median = 1, control_low = 1, control_high = 1;  ///< of all rounds
  double bound = 0;                                              ///< what the control was held to, as a distance from 1
  [[nodiscard]] std::uint32_t accepted() const;
};
Sieve sieve(std::span<const Round> rounds, const Limits& limits);

/// A contender against the default over a run's kept rounds.
struct Paired {
  double ratio = 1;  ///< the median of the rounds' own ratios
  double error = 0;  ///< the standard error of that median, from the deviation: 1.2533 * 1.4826 * deviation / sqrt(n)
  double us = 0;     ///< the median time
  std::uint32_t rounds = 0;
};
Paired compare(std::span<const Round> rounds, const Sieve& sieve, std::size_t contender);

/// A contender over several runs.
struct Decision {
  bool wins = false;
  double ratio = 1;  ///< the median of the runs' ratios
  double low = 1, high = 1;
  double us = 0;  ///< the least of the runs' median times
  std::uint32_t rounds = 0;
};
/// It wins where in every run the ratio is at most 1 - least_win and below 1 by two standard errors, over at least
/// `least_rounds` rounds.
Decision decide(std::span<const Paired> runs, double least_win, std::uint32_t least_rounds);

/// Those that go on: the better half (rounded up) of the ratios, by their places, best first; at least `least`.
std::vector<std::size_t> better_half(const std::vector<double>& ratios, std::size_t least);

}  // namespace lanewise::tune
