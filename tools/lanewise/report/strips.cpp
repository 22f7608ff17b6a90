#include "report/strips.h"

#include <algorithm>

#include "report/text.h"

namespace lanewise::program::report {

std::string draw_strips(const Strips& strips, const Canvas& canvas) {
  const double most_name = canvas.width * (canvas.narrow ? 0.36 : 0.26);
  double names = 0;
  for (const StripRow& row : strips.rows) names = std::max(names, text_width(row.name, tick_size) + 10);
  names = std::min(names, most_name);
  const auto series = static_cast<double>(std::max<std::size_t>(strips.legend.size(), 1));
  const double row_tall = (canvas.narrow ? 19 : 20) + std::min(8.0, 2 * (series - 1));
  const double head = legend_height(canvas.width - 4, strips.legend) + (strips.line ? 22 : 6);
  const Box box{names, head, canvas.width - 14, head + row_tall * static_cast<double>(strips.rows.size())};
  const Scale x = strips.is_log ? Scale::logarithmic(strips.range, box.left, box.right)
                                : Scale::linear(strips.range, box.left, box.right);
  Svg svg(canvas.id, canvas.width, box.bottom + 42, strips.title, strips.about);
  draw_legend(svg, 2, 2, canvas.width - 4, strips.legend);
  for (std::size_t i = 0; i < strips.rows.size(); i += 2) {
    svg.rect(0, box.top + row_tall * static_cast<double>(i), canvas.width, row_tall, "stripe");
  }
  draw_x_axis(svg, x, box, strips.axis);
  if (strips.line) {
    const double at = x(*strips.line);
    svg.line(at, box.top - 4, at, box.bottom, "divide");
    if (text_width(strips.below_line, label_size) < at - 8) {
      svg.text(at - 8, box.top - 8, strips.below_line, Anchor::end, "label soft");
    }
    if (text_width(strips.above_line, label_size) < canvas.width - at - 8) {
      svg.text(at + 8, box.top - 8, strips.above_line, Anchor::start, "label soft");
    }
  }
  for (std::size_t i = 0; i < strips.rows.size(); ++i) {
    const double y = box.top + row_tall * (static_cast<double>(i) + 0.5);
    svg.text(names - 8, y + 4, cut_to(strips.rows[i].name, tick_size, names - 8), Anchor::end, "tick");
    // Series stand a little above each other, so that marks of one value are all seen.
    const double apart = std::min(3.0, (row_tall - 9) / series);
    const auto place = [&](const StripMark& mark) { return y + apart * (mark.series - (series - 1) / 2); };
    for (const StripMark& mark : strips.rows[i].marks) {
      if (mark.span) svg.line(x(mark.span->first), place(mark), x(mark.span->second), place(mark), "span " + mark.css);
    }
    for (const StripMark& mark : strips.rows[i].marks) {
      svg.mark(series_shape(mark.series), x(mark.value), place(mark), 4, mark.css, mark.hover);
    }
  }
  return svg.str();
}

}  // namespace lanewise::program::report
