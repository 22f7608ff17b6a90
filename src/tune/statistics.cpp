#include "tune/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lanewise::tune {
namespace {

// A deviation times this is a standard deviation, of normal noise.
constexpr double of_normal = 1.4826;
// The standard error of a median is that of a mean times this.
constexpr double of_median = 1.2533;
// Deviations that a control may be away: of normal noise one round in 400 is rejected for nothing.
constexpr double control_deviations = 3;

double control_of(const Round& round) { return round.us[1] / round.us[0]; }

std::uint64_t mixed(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double deviation(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double each : values) distances.push_back(std::abs(each - middle));
  return median(std::move(distances));
}

std::vector<std::size_t> order_of(std::size_t contenders, std::uint64_t seed) {
  std::vector<std::size_t> order(contenders);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = contenders; i > 1; --i) {
    seed = mixed(seed);
    std::swap(order[i - 1], order[seed % i]);
  }
  order.resize(2 * contenders);
  for (std::size_t i = 0; i < contenders; ++i) order[2 * contenders - 1 - i] = order[i];
  return order;
}

std::uint32_t Sieve::accepted() const { return static_cast<std::uint32_t>(std::ranges::count(kept, true)); }

Sieve sieve(std::span<const Round> rounds, const Limits& limits) {
  Sieve result;
  std::vector<double> controls;
  std::vector<double> speeds;
  const auto speed_of = [&](const Round& round) {
    return round.speed > 0 ? round.speed : limits.default_is_clock ? 1 / round.us[0] : 0;
  };
  for (const Round& round : rounds) {
    controls.push_back(control_of(round));
    if (speed_of(round) > 0) speeds.push_back(speed_of(round));
  }
  if (controls.empty()) return result;
  result.control_median = median(controls);
  const auto [low, high] = std::ranges::minmax(controls);
  result.control_low = low;
  result.control_high = high;
  result.bound = limits.control;
  double centre = 1;
  if (limits.control == 0) {
    result.bound = std::max(limits.least_control, control_deviations * of_normal * deviation(controls));
    centre = result.control_median;
  }
  const double usual_speed = median(speeds);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const double speed = speed_of(rounds[i]);
    const bool is_slow = speed > 0 && speed < (1 - limits.clock_drop) * usual_speed;
    const bool is_off = std::abs(controls[i] - centre) > result.bound;
    result.clock += is_slow ? 1 : 0;
    result.control += is_off && !is_slow ? 1 : 0;
    result.kept.push_back(!is_slow && !is_off);
  }
  return result;
}

Paired compare(std::span<const Round> rounds, const Sieve& sieve, std::size_t contender) {
  std::vector<double> ratios;
  std::vector<double> times;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    if (!sieve.kept[i]) continue;
    ratios.push_back(rounds[i].us[contender] / rounds[i].us[0]);
    times.push_back(rounds[i].us[contender] / 2);
  }
  Paired result;
  if (ratios.empty()) return result;
  result.rounds = static_cast<std::uint32_t>(ratios.size());
  result.ratio = median(ratios);
  result.error = of_median * of_normal * deviation(ratios) / std::sqrt(static_cast<double>(ratios.size()));
  result.us = median(std::move(times));
  return result;
}

Decision decide(std::span<const Paired> runs, double least_win, std::uint32_t least_rounds) {
  Decision result;
  if (runs.empty()) return result;
  std::vector<double> ratios;
  result.wins = true;
  result.us = std::numeric_limits<double>::infinity();
  for (const Paired& run : runs) {
    ratios.push_back(run.ratio);
    result.us = std::min(result.us, run.us);
    result.rounds += run.rounds;
    const bool is_clear = run.ratio <= 1 - least_win && run.ratio + 2 * run.error < 1;
    result.wins = result.wins && is_clear && run.rounds >= least_rounds;
  }
  result.ratio = median(ratios);
  const auto [low, high] = std::ranges::minmax(ratios);
  result.low = low;
  result.high = high;
  return result;
}

std::vector<std::size_t> better_half(const std::vector<double>& ratios, std::size_t least) {
  std::vector<std::size_t> places(ratios.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {}, [&](std::size_t place) { return ratios[place]; });
  places.resize(std::min(places.size(), std::max(least, (ratios.size() + 1) / 2)));
  return places;
}

}  // namespace lanewise::tune
