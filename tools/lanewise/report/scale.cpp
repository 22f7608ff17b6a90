#include "report/scale.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace lanewise::program::report {
namespace {

// 1, 2 or 5 times a power of ten.
std::vector<double> round_steps(double low, double high, double step) {
  std::vector<double> list;
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i < 1000; ++i) {
    const double value = (first + i) * step;
    if (value > high + step * 1e-9) break;
    list.push_back(std::fabs(value) < step * 1e-9 ? 0 : value);
  }
  return list;
}

Range of_values(std::span<const double> values, double least) {
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const double value : values) {
    if (!std::isfinite(value) || value <= least) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range;
}

}  // namespace

Range Range::linear(std::span<const double> values) {
  Range range = of_values(values, -std::numeric_limits<double>::infinity());
  if (range.low > range.high) return {0, 1};
  if (range.low == range.high) {
    const double around = range.low == 0 ? 1 : std::fabs(range.low) / 2;
    return {range.low - around, range.high + around};
  }
  return range;
}

Range Range::logarithmic(std::span<const double> values) {
  const Range range = of_values(values, 0);
  if (range.low > range.high) return {1, 10};
  if (range.low == range.high) return {range.low / 2, range.high * 2};
  return range;
}

Range Range::grown(double part, bool is_log) const {
  if (is_log) {
    const double factor = std::pow(high / low, part);
    return {low / factor, high * factor};
  }
  const double more = (high - low) * part;
  return {low - more, high + more};
}

double Scale::operator()(double value) const {
  double part;
  if (base_ == 0) {
    part = (value - range_.low) / (range_.high - range_.low);
  } else {
    part = value > 0 ? std::log(value / range_.low) / std::log(range_.high / range_.low) : 0;
  }
  if (std::isnan(part)) part = 0;
  return from_ + (to_ - from_) * std::clamp(part, 0.0, 1.0);
}

std::vector<std::vector<double>> Scale::candidates() const {
  std::vector<std::vector<double>> sets;
  const double low = range_.low;
  const double high = range_.high;
  if (base_ == 2) {
    for (const int every : {1, 2, 3, 4, 8, 16}) {
      std::vector<double> set;
      const int first = static_cast<int>(std::ceil(std::log2(low) / every - 1e-9));
      const int last = static_cast<int>(std::floor(std::log2(high) / every + 1e-9));
      for (int n = first; n <= last; ++n) set.push_back(std::exp2(n * every));
      sets.push_back(std::move(set));
    }
    return sets;
  }
  if (base_ == 10) {
    const int first = static_cast<int>(std::floor(std::log10(low)));
    const int last = static_cast<int>(std::ceil(std::log10(high)));
    const auto with = [&](std::initializer_list<double> digits, int every) {
      std::vector<double> set;
      for (int n = first; n <= last; ++n) {
        if (n % every != 0) continue;
        for (const double digit : digits) {
          // Through text, so that it is the number that a person writes.
          const double value =
              std::strtod((std::to_string(static_cast<int>(digit)) + "e" + std::to_string(n)).c_str(), nullptr);
          if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) set.push_back(value);
        }
      }
      sets.push_back(std::move(set));
    };
    if (high / low < 10) {
      const double decade = std::pow(10, std::floor(std::log10(high - low)));
      for (const double factor : {0.1, 0.2, 0.5, 1.0, 2.0, 5.0}) {
        sets.push_back(round_steps(low, high, decade * factor));
      }
      return sets;
    }
    with({1, 2, 5}, 1);
    with({1, 3}, 1);
    for (int every = 1; every <= 32; ++every) with({1}, every);
    return sets;
  }
  const double decade = std::pow(10, std::floor(std::log10(high - low)));
  for (const double factor : {0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0}) {
    sets.push_back(round_steps(low, high, decade * factor));
  }
  return sets;
}

std::vector<Tick> Scale::ticks(const std::function<std::string(double)>& label,
                               const std::function<double(const std::string&)>& room) const {
  std::vector<Tick> last;
  for (const std::vector<double>& set : candidates()) {
    std::vector<Tick> list;
    bool fits = true;
    for (const double value : set) {
      Tick tick{value, label(value)};
      if (!list.empty()) {
        const Tick& before = list.back();
        const double apart = std::fabs((*this)(value) - (*this)(before.value));
        fits = fits && apart >= (room(before.label) + room(tick.label)) / 2 && before.label != tick.label;
      }
      list.push_back(std::move(tick));
    }
    if (fits && !list.empty()) return list;
    if (!list.empty()) last.assign(1, list.front());
  }
  return last;
}

std::vector<double> spread_labels(const std::vector<double>& wanted, double gap, double low, double high) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return wanted[i]; });
  if (wanted.size() > 1) gap = std::min(gap, (high - low) / static_cast<double>(wanted.size() - 1));
  // Runs of labels that touch, each centred on where its members are wanted, joined until none touch.
  struct Run {
    double begin;
    std::vector<std::size_t> members;
  };
  std::vector<Run> runs;
  const auto place = [&](Run& run) {
    double sum = 0;
    for (std::size_t i = 0; i < run.members.size(); ++i) sum += wanted[run.members[i]] - gap * static_cast<double>(i);
    const double length = gap * static_cast<double>(run.members.size() - 1);
    run.begin = std::clamp(sum / static_cast<double>(run.members.size()), low, std::max(low, high - length));
  };
  for (const std::size_t i : order) {
    runs.push_back({0, {i}});
    place(runs.back());
    while (runs.size() > 1) {
      Run& before = runs[runs.size() - 2];
      if (before.begin + gap * static_cast<double>(before.members.size()) <= runs.back().begin + 1e-9) break;
      before.members.insert(before.members.end(), runs.back().members.begin(), runs.back().members.end());
      runs.pop_back();
      place(runs.back());
    }
  }
  std::vector<double> placed(wanted.size());
  for (const Run& run : runs) {
    for (std::size_t i = 0; i < run.members.size(); ++i) {
      placed[run.members[i]] = run.begin + gap * static_cast<double>(i);
    }
  }
  return placed;
}

}  // namespace lanewise::program::report
