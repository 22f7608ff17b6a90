// Time against tokens, a panel a shape: how much more a window costs than one token.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/axes.h"
#include "report/plots.h"
#include "report/text.h"

namespace lanewise::program::report {
namespace {

struct Curve {
  std::string format;
  std::vector<const BenchCase*> points;  ///< by tokens
  [[nodiscard]] double over_first(std::size_t i) const { return points[i]->us / points[0]->us; }
};

struct Panel {
  std::string shape;
  std::vector<Curve> curves;
};

std::vector<Panel> panels_of(const std::vector<const BenchCase*>& cases) {
  std::vector<Panel> panels;
  for (const BenchCase* c : cases) {
    auto panel = std::ranges::find(panels, c->shape(), &Panel::shape);
    if (panel == panels.end()) panel = panels.insert(panels.end(), {c->shape(), {}});
    // Several runs of one format (layouts, kernels) are several curves.
    const auto same = [&](const Curve& curve) {
      const BenchCase& other = *curve.points[0];
      return curve.format == c->format && other.layout == c->layout && other.activation == c->activation &&
             std::ranges::find(curve.points, c->tokens, &BenchCase::tokens) == curve.points.end();
    };
    auto curve = std::ranges::find_if(panel->curves, same);
    if (curve == panel->curves.end()) curve = panel->curves.insert(panel->curves.end(), {c->format, {}});
    curve->points.push_back(c);
  }
  for (Panel& panel : panels) {
    for (Curve& curve : panel.curves) std::ranges::sort(curve.points, {}, &BenchCase::tokens);
    std::erase_if(panel.curves, [](const Curve& curve) { return curve.points.size() < 2; });
  }
  std::erase_if(panels, [](const Panel& panel) { return panel.curves.empty(); });
  return panels;
}

std::string hover_of_curve(const Panel& panel, const Curve& curve) {
  std::string text = fmt::format("{} {}:", curve.format, panel.shape);
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    text += fmt::format("{} {} tokens {} (x {})", i == 0 ? "" : ",", count(curve.points[i]->tokens),
                        us_text(curve.points[i]->us), figure(curve.over_first(i)));
  }
  return text;
}

std::string draw_panels(const std::vector<Panel>& panels, const Canvas& canvas, const std::string& title) {
  std::vector<double> tokens, factors{1};
  std::vector<bool> seen(family_names.size());
  for (const Panel& panel : panels) {
    for (const Curve& curve : panel.curves) {
      seen[family_of(curve.format)] = true;
      for (std::size_t i = 0; i < curve.points.size(); ++i) {
        tokens.push_back(curve.points[i]->tokens);
        factors.push_back(curve.over_first(i));
      }
    }
  }
  std::vector<LegendEntry> legend;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i]) legend.push_back({family_names[i], series_class(i), 0, true});
  }
  legend.push_back({"each token by itself", "alone", 0, true});
  const Range across = Range::logarithmic(tokens).grown(0.06, true);
  const Range up = Range::logarithmic(factors).grown(0.05, true);
  const double first = *std::ranges::min_element(tokens);
  const double last = *std::ranges::max_element(tokens);

  const std::size_t columns = std::min<std::size_t>(canvas.narrow ? 2 : 4, panels.size());
  const std::size_t lines = (panels.size() + columns - 1) / columns;
  const double gap = 14;
  const double left = 34;
  const double wide = std::min(
      (canvas.width - left - 4 - gap * static_cast<double>(columns - 1)) / static_cast<double>(columns), 420.0);
  const double tall = canvas.narrow ? 140 : 190;
  const double head = legend_height(canvas.width - 4, legend) + 18;
  const double step = tall + 60;
  Svg svg(
      canvas.id, canvas.width, head + step * static_cast<double>(lines) + 16, title,
      fmt::format("A panel a shape of W, a line a format: across, the tokens of a window; up, its time over that of "
                  "{} token. A dashed line shows what the tokens would take one by one.",
                  figure(first)));
  draw_legend(svg, 2, 2, canvas.width - 4, legend);
  svg.text(2, head - 2, fmt::format("time / time of {}", tokens_text(first)), Anchor::start, "name");
  for (std::size_t p = 0; p < panels.size(); ++p) {
    const double x0 = left + static_cast<double>(p % columns) * (wide + gap);
    const std::size_t line = p / columns;
    const double y0 = head + 26 + static_cast<double>(line) * step;
    const Box box{x0, y0, x0 + wide, y0 + tall};
    const Scale x = Scale::binary(across, box.left, box.right);
    const Scale y = Scale::logarithmic(up, box.bottom, box.top);
    draw_x_axis(svg, x, box, {p + columns >= panels.size() ? "tokens" : "", [](double v) { return figure(v); }, true});
    const Axis y_axis{"", [](double v) { return figure(v); }, true};
    if (p % columns == 0) {
      draw_y_axis(svg, y, box, y_axis);
    } else {
      draw_y_axis(svg, y, box, {"", [](double) { return std::string(); }, true});
    }
    svg.text(box.left + 4, box.top - 7, panels[p].shape, Anchor::start, "panel");
    Points alone;
    for (int i = 0; i < 128; ++i) {
      const double n = first * std::exp2(i / 2.0);
      if (n > last * 1.0001) break;
      if (n / first <= up.high) alone.emplace_back(x(n), y(n / first));
    }
    svg.path(alone, "line alone");
    for (const Curve& curve : panels[p].curves) {
      Points points;
      for (std::size_t i = 0; i < curve.points.size(); ++i)
        points.emplace_back(x(curve.points[i]->tokens), y(curve.over_first(i)));
      svg.path(points, "line curve " + series_class(family_of(curve.format)), hover_of_curve(panels[p], curve));
    }
  }
  return svg.str();
}

}  // namespace

std::optional<Figure> window_curves(const BenchRun& run, const std::string& id) {
  const std::vector<Panel> panels = panels_of(run.cold());
  if (panels.empty()) return std::nullopt;
  Figure made;
  made.id = id + "-windows";
  made.title = "Windows: what more tokens cost";
  made.about =
      "W is read once for all tokens of a window, so a window costs far less than its tokens one by one, until "
      "arithmetic "
      "takes longer than reading. A flat line means that further tokens are free.";
  made.draw = [panels](const Canvas& canvas) { return draw_panels(panels, canvas, "Windows: what more tokens cost"); };
  made.table.heads = {"format", "K x rows"};
  made.table.words = 2;
  const std::vector<double> windows = windows_of(run.cold());
  for (const double n : windows) made.table.heads.push_back(tokens_text(n));
  for (const Panel& panel : panels) {
    for (const Curve& curve : panel.curves) {
      std::vector<std::string> row{curve.format, panel.shape};
      for (const double n : windows) {
        const auto found = std::ranges::find(curve.points, n, &BenchCase::tokens);
        row.push_back(found == curve.points.end() ? "-" : us_text((*found)->us));
      }
      made.table.rows.push_back(std::move(row));
    }
  }
  return made;
}

}  // namespace lanewise::program::report
