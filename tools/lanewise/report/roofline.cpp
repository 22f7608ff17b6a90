// Bytes of W against time, with what merely reading them takes as a line; under it the part of that floor.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/axes.h"
#include "report/plots.h"
#include "report/text.h"

namespace lanewise::program::report {
namespace {

struct Roof {
  std::vector<const BenchCase*> cases;  ///< of the windows that are shown
  std::vector<double> windows;
  Points floor;  ///< bytes, us
  Range bytes, us, fraction;
  double ceiling = 0;
};

Roof make_roof(const BenchRun& run) {
  Roof roof;
  const auto cold = run.cold();
  const auto all = windows_of(cold);
  roof.windows = {all.front()};
  if (all.size() > 1) roof.windows.push_back(all.back());
  std::map<double, std::vector<double>> floors;
  std::vector<double> bytes, us, fractions{1};
  for (const BenchCase* c : cold) {
    if (std::ranges::find(roof.windows, c->tokens) == roof.windows.end()) continue;
    roof.cases.push_back(c);
    bytes.push_back(c->bytes);
    us.push_back(c->us);
    if (c->floor_us > 0) {
      floors[c->bytes].push_back(c->floor_us);
      us.push_back(c->floor_us);
      fractions.push_back(c->floor_us / c->us);
    }
  }
  for (const auto& [at, times] : floors) roof.floor.emplace_back(at, median_of(times));
  roof.bytes = Range::logarithmic(bytes).grown(0.05, true);
  roof.us = Range::logarithmic(us).grown(0.05, true);
  roof.fraction = {0, std::max(1.0, *std::ranges::max_element(fractions))};
  roof.ceiling = run.ceiling_gbps;
  return roof;
}

std::string hover_of(const BenchCase& c) {
  return fmt::format("{} {}, {}: {} of {}, {} of the floor ({} GB/s), {}", c.format, c.shape(), tokens_text(c.tokens),
                     us_text(c.us), bytes_text(c.bytes), percent_text(c.floor_us / c.us), figure(c.gbps()), c.kernel);
}

std::string draw_roof(const Roof& roof, const Canvas& canvas, const std::string& title) {
  std::vector<LegendEntry> legend;
  for (std::size_t i = 0; i < roof.windows.size(); ++i) {
    legend.push_back({tokens_text(roof.windows[i]), i == 0 ? "s0" : "s1", i == 0 ? 0U : 2U, false});
  }
  legend.push_back({"the read floor", "floor", 0, true});
  const double legend_tall = legend_height(canvas.width - 4, legend);
  const double upper = canvas.narrow ? 260 : 380;
  const double lower = canvas.narrow ? 110 : 140;
  const double gap = 44;
  const Axis y_axis{"time of a product", us_text, true};
  const Axis part_axis{"part of the floor", percent_text, true};
  const Axis x_axis{"bytes of W", bytes_text, true};
  const double top = legend_tall + 26;
  const Scale y = Scale::logarithmic(roof.us, top + upper, top);
  const Scale part = Scale::linear(roof.fraction, top + upper + gap + lower, top + upper + gap);
  const double left = std::max(y_axis_width(y, y_axis), y_axis_width(part, part_axis));
  const Box box{left, top, canvas.width - 10, top + upper};
  const Box under{left, top + upper + gap, canvas.width - 10, top + upper + gap + lower};
  const Scale x = Scale::logarithmic(roof.bytes, box.left, box.right);

  Svg svg(canvas.id, canvas.width, under.bottom + 42, title,
          fmt::format("Each mark is a product: across, the bytes of its matrix; up, the time it takes. The line is the "
                      "time of merely reading them. {} products; the table below has each.",
                      roof.cases.size()));
  draw_legend(svg, 2, 2, canvas.width - 4, legend);
  draw_x_axis(svg, x, box, {"", [](double value) { return bytes_text(value); }, true});
  draw_y_axis(svg, y, box, y_axis);
  draw_x_axis(svg, x, under, x_axis);
  draw_y_axis(svg, part, under, part_axis);
  Points line;
  for (const auto& [bytes, us] : roof.floor) line.emplace_back(x(bytes), y(us));
  // Of one size a line has no length: a mark as wide as a tick stands for it.
  if (line.size() == 1) line = {{line[0].first - 14, line[0].second}, {line[0].first + 14, line[0].second}};
  if (!line.empty()) svg.path(line, "line floor");
  svg.line(under.left, part(1), under.right, part(1), "line floor");
  for (std::size_t i = roof.windows.size(); i-- > 0;) {
    for (const BenchCase* c : roof.cases) {
      if (c->tokens != roof.windows[i]) continue;
      const std::string hover = hover_of(*c);
      svg.mark(i == 0 ? 0 : 2, x(c->bytes), y(c->us), 3.4, i == 0 ? "s0" : "s1", hover);
      if (c->floor_us > 0)
        svg.mark(i == 0 ? 0 : 2, x(c->bytes), part(c->floor_us / c->us), 2.8, i == 0 ? "s0" : "s1", hover);
    }
  }
  return svg.str();
}

}  // namespace

std::optional<Figure> roofline(const BenchRun& run, const std::string& id) {
  if (run.cold().empty()) return std::nullopt;
  const Roof roof = make_roof(run);
  Figure made;
  made.id = id + "-roofline";
  made.title = "Roofline: bytes against time";
  made.about = fmt::format(
      "A product has to read W once, so no kernel is faster than the line: what a loop takes that reads as many bytes "
      "and does nothing else, on this device in the same run. Cold: each call reads a copy of W that no cache holds. "
      "{}",
      roof.ceiling > 0 ? fmt::format("The fastest read here was {} GB/s.", figure(roof.ceiling, 4)) : "");
  made.draw = [roof](const Canvas& canvas) { return draw_roof(roof, canvas, "Roofline: bytes against time"); };
  made.table.heads = {"format", "K x rows", "kernel", "tokens",       "bytes",
                      "time",   "spread",   "floor",  "of the floor", "GB/s"};
  made.table.words = 3;
  const bool overlaps = std::ranges::any_of(run.cases, [](const BenchCase& c) { return c.overlapped_us.has_value(); });
  if (overlaps) made.table.heads.insert(made.table.heads.end(), {"overlapped", "of its floor"});
  for (const BenchCase& c : run.cases) {
    std::vector<std::string> row{c.format,
                                 c.shape() + (c.cold ? "" : " (hot)"),
                                 c.kernel.substr(c.kernel.rfind('.') + 1),
                                 count(c.tokens),
                                 bytes_text(c.bytes),
                                 us_text(c.us),
                                 percent_text(c.spread),
                                 us_text(c.floor_us),
                                 percent_text(c.floor_us / c.us),
                                 figure(c.gbps())};
    if (overlaps) {
      row.push_back(c.overlapped_us ? us_text(*c.overlapped_us) : "-");
      row.push_back(c.overlapped_fraction ? percent_text(*c.overlapped_fraction) : "-");
    }
    made.table.rows.push_back(std::move(row));
  }
  return made;
}

}  // namespace lanewise::program::report
