// What the times come to for a model: tokens a second against the window.

#include <algorithm>

#include <fmt/format.h>

#include "report/axes.h"
#include "report/plots.h"
#include "report/text.h"

namespace lanewise::program::report {
namespace {

std::string draw_speed(const std::vector<Projected>& list, const Canvas& canvas, const std::string& title) {
  std::vector<double> speeds{0};
  for (const Projected& each : list) speeds.push_back(each.tokens_per_second);
  const double top = 30;
  const double tall = canvas.narrow ? 170 : 220;
  const Scale y = Scale::linear(Range::linear(speeds).grown(0.06, false), top + tall, top);
  const Axis axis{"tokens a second", [](double v) { return figure(v, 4); }, true};
  const Box box{y_axis_width(y, axis), top, canvas.width - 10, top + tall};
  Svg svg(canvas.id, canvas.width, box.bottom + 42, title,
          "A bar a window: tokens a second that the products alone allow.");
  draw_y_axis(svg, y, box, axis);
  const double step = box.width() / static_cast<double>(list.size());
  const double wide = std::min(step * 0.6, 90.0);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const double middle = box.left + step * (static_cast<double>(i) + 0.5);
    const double up = y(list[i].tokens_per_second);
    svg.rect(middle - wide / 2, up, wide, y(0) - up, "fill s0",
             fmt::format("{} tokens: {} ms for all products, {} tokens/s", count(list[i].tokens),
                         figure(list[i].milliseconds), figure(list[i].tokens_per_second)));
    svg.text(middle, up - 6, figure(list[i].tokens_per_second), Anchor::middle, "label");
    svg.text(middle, box.bottom + 16, count(list[i].tokens), Anchor::middle, "tick tick-x");
  }
  svg.line(box.left, y(0), box.right, y(0), "axis");
  svg.text((box.left + box.right) / 2, box.bottom + 33, "tokens in a window", Anchor::middle, "name");
  return svg.str();
}

}  // namespace

std::optional<Figure> decoding_speed(const BenchRun& run, const std::string& id) {
  if (run.projection.empty()) return std::nullopt;
  Figure made;
  made.id = id + "-decoding";
  made.title = "What it comes to in decoding";
  made.about = fmt::format("{}: every matrix takes the median measured for its shape. What this leaves out: {}.",
                           run.model, run.leaves_out.empty() ? "everything but the products" : run.leaves_out);
  const std::vector<Projected> list = run.projection;
  made.draw = [list](const Canvas& canvas) { return draw_speed(list, canvas, "What it comes to in decoding"); };
  made.table.heads = {"tokens", "all products", "tokens a second"};
  made.table.words = 0;
  for (const Projected& each : list) {
    made.table.rows.push_back(
        {count(each.tokens), us_text(each.milliseconds * 1e3), figure(each.tokens_per_second, 4)});
  }
  return made;
}

}  // namespace lanewise::program::report
