// From values to places on a plot, and where its ticks stand.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lanewise::program::report {

struct Tick {
  double value;
  std::string label;
};

/// A range that holds finite values, never empty: of none, of one value, or (logarithmic) of none above zero, something
/// around them.
struct Range {
  double low = 0;
  double high = 0;

  static Range linear(std::span<const double> values);
  /// Values that aren't above zero have no part.
  static Range logarithmic(std::span<const double> values);
  /// Grown on both sides by a part of its length, as the scale counts it.
  [[nodiscard]] Range grown(double part, bool is_log) const;
};

class Scale {
 public:
  /// `low` at place `from`, `high` at `to` (pixels; `from` may lie beyond `to`, as on an axis that points up).
  static Scale linear(Range range, double from, double to) { return {range, from, to, 0}; }
  static Scale logarithmic(Range range, double from, double to) { return {range, from, to, 10}; }
  /// Ticks at powers of two.
  static Scale binary(Range range, double from, double to) { return {range, from, to, 2}; }

  /// What lies outside the range is held at its end; so is what a logarithmic scale has no place for.
  [[nodiscard]] double operator()(double value) const;
  [[nodiscard]] double from() const { return from_; }
  [[nodiscard]] double to() const { return to_; }
  [[nodiscard]] bool is_log() const { return base_ != 0; }
  [[nodiscard]] Range range() const { return range_; }

  /// As many round values as leave each label its room: `room(label)` pixels along the axis, its gap included. At least
  /// one, where the range holds a round one at all.
  [[nodiscard]] std::vector<Tick> ticks(const std::function<std::string(double)>& label,
                                        const std::function<double(const std::string&)>& room) const;

 private:
  Scale(Range range, double from, double to, int base) : range_(range), from_(from), to_(to), base_(base) {}
  [[nodiscard]] std::vector<std::vector<double>> candidates() const;

  Range range_;
  double from_, to_;
  int base_;  // 0: linear
};

/// Places for labels along a line, as near as may be to where they are wanted and at least `gap` apart, within
/// low..high where there is room for all. In the order of `wanted`.
std::vector<double> spread_labels(const std::vector<double>& wanted, double gap, double low, double high);

}  // namespace lanewise::program::report
