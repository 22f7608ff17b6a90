// What plots have in common: a frame with ticks and grid, a legend.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/scale.h"
#include "report/svg.h"

namespace lanewise::program::report {

/// Sizes of text in the page's style sheet, in CSS pixels.
inline constexpr double tick_size = 11.5;
inline constexpr double label_size = 12;

struct Box {
  double left, top, right, bottom;
  [[nodiscard]] double width() const { return right - left; }
  [[nodiscard]] double height() const { return bottom - top; }
};

struct Axis {
  std::string name;  ///< empty: none is written
  std::function<std::string(double)> text;
  bool grid = true;
};

/// Below the box; the name under the ticks. Takes 20 pixels, 38 with a name.
void draw_x_axis(Svg& svg, const Scale& scale, const Box& box, const Axis& axis);
/// Left of the box, the name above it at its left end: nothing is to be read with the head on one side.
void draw_y_axis(Svg& svg, const Scale& scale, const Box& box, const Axis& axis);
/// Pixels left of the box that the ticks of a y axis take.
double y_axis_width(const Scale& scale, const Axis& axis);

struct LegendEntry {
  std::string text;
  std::string css;     ///< "s0"
  unsigned shape = 0;  ///< of the mark
  bool is_line = false;
};

/// In lines from (left, top), no wider than `width`; gives the height they take.
double draw_legend(Svg& svg, double left, double top, double width, const std::vector<LegendEntry>& entries);
double legend_height(double width, const std::vector<LegendEntry>& entries);

/// "s0" to "s5", and a shape: 36 series have a pair each.
std::string series_class(std::size_t index);
unsigned series_shape(std::size_t index);

}  // namespace lanewise::program::report
