#include "report/axes.h"

#include <algorithm>

#include "report/text.h"

namespace lanewise::program::report {
namespace {

std::vector<Tick> ticks_along_x(const Scale& scale, const Axis& axis) {
  return scale.ticks([&](double value) { return trimmed(axis.text(value)); },
                     [](const std::string& label) { return text_width(label, tick_size) + 10; });
}

std::vector<Tick> ticks_along_y(const Scale& scale, const Axis& axis) {
  return scale.ticks([&](double value) { return trimmed(axis.text(value)); },
                     [](const std::string& /*label*/) { return 2 * tick_size; });
}

constexpr double legend_line = 19;

// Calls place(entry, x, y) for each.
template <class Place>
double lay_out(double width, const std::vector<LegendEntry>& entries, const Place& place) {
  if (entries.empty()) return 0;
  double x = 0;
  double y = 0;
  for (const LegendEntry& entry : entries) {
    const double needs = 20 + text_width(entry.text, label_size) + 14;
    if (x > 0 && x + needs > width) {
      x = 0;
      y += legend_line;
    }
    place(entry, x, y);
    x += needs;
  }
  return y + legend_line + 4;
}

}  // namespace

void draw_x_axis(Svg& svg, const Scale& scale, const Box& box, const Axis& axis) {
  for (const Tick& tick : ticks_along_x(scale, axis)) {
    const double x = scale(tick.value);
    if (axis.grid) svg.line(x, box.top, x, box.bottom, "grid");
    svg.line(x, box.bottom, x, box.bottom + 4, "axis");
    // A label at the very end would stick out of the drawing.
    const double half = text_width(tick.label, tick_size) / 2;
    svg.text(std::clamp(x, half, std::max(half, svg.width() - half)), box.bottom + 16, tick.label, Anchor::middle,
             "tick tick-x");
  }
  svg.line(box.left, box.bottom, box.right, box.bottom, "axis");
  if (!axis.name.empty()) svg.text((box.left + box.right) / 2, box.bottom + 33, axis.name, Anchor::middle, "name");
}

void draw_y_axis(Svg& svg, const Scale& scale, const Box& box, const Axis& axis) {
  for (const Tick& tick : ticks_along_y(scale, axis)) {
    const double y = scale(tick.value);
    if (axis.grid) svg.line(box.left, y, box.right, y, "grid");
    svg.text(box.left - 7, y + 4, tick.label, Anchor::end, "tick tick-y");
  }
  if (!axis.name.empty()) {
    svg.text(std::max(2.0, box.left - y_axis_width(scale, axis)), box.top - 10, axis.name, Anchor::start, "name");
  }
}

double y_axis_width(const Scale& scale, const Axis& axis) {
  double width = 0;
  for (const Tick& tick : ticks_along_y(scale, axis)) width = std::max(width, text_width(tick.label, tick_size));
  return width + 9;
}

double draw_legend(Svg& svg, double left, double top, double width, const std::vector<LegendEntry>& entries) {
  return lay_out(width, entries, [&](const LegendEntry& entry, double x, double y) {
    const double middle = top + y + 8;
    if (entry.is_line) {
      svg.line(left + x, middle, left + x + 15, middle, "line " + entry.css);
    } else {
      svg.mark(entry.shape, left + x + 8, middle, 4.5, entry.css);
    }
    svg.text(left + x + 20, middle + 4, entry.text, Anchor::start, "label");
  });
}

double legend_height(double width, const std::vector<LegendEntry>& entries) {
  return lay_out(width, entries, [](const LegendEntry&, double, double) {});
}

std::string series_class(std::size_t index) { return "s" + std::to_string(index % 6); }

unsigned series_shape(std::size_t index) { return static_cast<unsigned>((index + index / 6) % 6); }

}  // namespace lanewise::program::report
