// Errors against float64: by window and plane count, and by format.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/axes.h"
#include "report/plots.h"
#include "report/text.h"

namespace lanewise::program::report {
namespace {

struct Worst {
  double relative = 0;
  double ratio = 0;
  std::string problem;  ///< of the worst relative error
  std::size_t cases = 0;

  void take(const VerifyCase& c) {
    ++cases;
    ratio = std::max(ratio, c.worst_ratio);
    if (c.worst_relative <= relative) return;
    relative = c.worst_relative;
    problem = c.problem;
  }
};

struct Errors {
  std::vector<unsigned> planes;
  std::vector<std::string> formats;
  std::vector<double> tokens;
  std::map<std::pair<unsigned, double>, Worst> by_window;
  std::map<std::pair<unsigned, std::string>, Worst> by_format;
  std::string fill;
};

// Fills are made to be hard, each in its own way, and have errors of their own size: one alone can be compared.
std::string fill_to_show(const VerifyRun& run) {
  std::map<std::string, std::size_t> counts;
  for (const VerifyCase& c : run.cases) ++counts[c.fill];
  if (counts.contains("gauss")) return "gauss";
  return std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; })->first;
}

Errors errors_of(const VerifyRun& run) {
  Errors errors;
  errors.fill = fill_to_show(run);
  // Formats of plain values hold x in a way of their own, whatever the planes: in one line with the others they would
  // hide what planes do.
  const auto is_code = [](const VerifyCase& c) { return family_of(c.format) != 0; };
  const bool codes_alone = std::ranges::any_of(run.cases, is_code);
  for (const VerifyCase& c : run.cases) {
    if (c.fill != errors.fill || !(c.worst_relative > 0)) continue;
    if (std::ranges::find(errors.planes, c.planes) == errors.planes.end()) errors.planes.push_back(c.planes);
    if (std::ranges::find(errors.formats, c.format) == errors.formats.end()) errors.formats.push_back(c.format);
    if (std::ranges::find(errors.tokens, c.tokens) == errors.tokens.end()) errors.tokens.push_back(c.tokens);
    if (!codes_alone || is_code(c)) errors.by_window[{c.planes, c.tokens}].take(c);
    errors.by_format[{c.planes, c.format}].take(c);
  }
  std::ranges::sort(errors.planes);
  std::ranges::sort(errors.tokens);
  return errors;
}

std::string name_of(unsigned planes) { return fmt::format("x{}", 8 * planes); }

std::string draw_errors(const Errors& errors, const Canvas& canvas, const std::string& title) {
  std::vector<LegendEntry> legend;
  for (const unsigned planes : errors.planes) {
    legend.push_back({fmt::format("{}: {} bits an element of x", name_of(planes), 8 * planes), series_class(planes - 1),
                      planes - 1, false});
  }
  std::vector<double> values;
  for (const auto& [key, worst] : errors.by_window) values.push_back(worst.relative);
  for (const auto& [key, worst] : errors.by_format) values.push_back(worst.relative);
  const Range range = Range::logarithmic(values).grown(0.06, true);
  const double head = legend_height(canvas.width - 4, legend) + 28;
  const double row = canvas.narrow ? 17 : 15;
  double names = 0;
  for (const std::string& format : errors.formats) names = std::max(names, text_width(format, tick_size) + 10);
  const double rows_tall = row * static_cast<double>(errors.formats.size());
  const double curve_tall = canvas.narrow ? 200 : std::max(200.0, std::min(rows_tall, 420.0));
  const Axis up{"worst error / sum of |terms|", [](double v) { return figure(v, 1); }, true};
  const Scale y = Scale::logarithmic(range, head + curve_tall, head);
  const double left = y_axis_width(y, up);
  const double half = (canvas.width - 40) / 2;
  const Box curves{left, head, canvas.narrow ? canvas.width - 14 : half, head + curve_tall};
  const double second = canvas.narrow ? curves.bottom + 78 : head;
  const Box strip{(canvas.narrow ? 0 : half + 40) + names, second, canvas.width - 14, second + rows_tall};
  const double bottom = std::max(curves.bottom, strip.bottom);

  Svg svg(
      canvas.id, canvas.width, bottom + 42, title,
      "Left: the worst error of an output over the sum of the absolute terms, against the tokens of the window, a line "
      "for each number of planes of x. Right: the same by format.");
  draw_legend(svg, 2, 2, canvas.width - 4, legend);
  const Scale x = Scale::binary(Range::logarithmic(errors.tokens).grown(0.08, true), curves.left, curves.right);
  draw_x_axis(svg, x, curves, {"tokens in a window", [](double v) { return figure(v); }, true});
  draw_y_axis(svg, y, curves, up);
  for (const unsigned planes : errors.planes) {
    Points points;
    for (const double tokens : errors.tokens) {
      const auto found = errors.by_window.find({planes, tokens});
      if (found != errors.by_window.end()) points.emplace_back(x(tokens), y(found->second.relative));
    }
    svg.path(points, "line " + series_class(planes - 1));
    for (const double tokens : errors.tokens) {
      const auto found = errors.by_window.find({planes, tokens});
      if (found == errors.by_window.end()) continue;
      svg.mark(planes - 1, x(tokens), y(found->second.relative), 4, series_class(planes - 1),
               fmt::format("{}, {} tokens: {} ({} cases), in {}", name_of(planes), count(tokens),
                           figure(found->second.relative), found->second.cases, found->second.problem));
    }
  }
  const Scale across = Scale::logarithmic(range, strip.left, strip.right);
  for (std::size_t i = 0; i < errors.formats.size(); i += 2) {
    svg.rect(strip.left - names, strip.top + row * static_cast<double>(i), strip.right - strip.left + names + 14, row,
             "stripe");
  }
  draw_x_axis(svg, across, strip, {"worst error / sum of |terms|", up.text, true});
  svg.text(strip.left - names + 2, strip.top - 10, "by format", Anchor::start, "name");
  for (std::size_t i = 0; i < errors.formats.size(); ++i) {
    const double middle = strip.top + row * (static_cast<double>(i) + 0.5);
    svg.text(strip.left - 8, middle + 4, errors.formats[i], Anchor::end, "tick");
    for (const unsigned planes : errors.planes) {
      const auto found = errors.by_format.find({planes, errors.formats[i]});
      if (found == errors.by_format.end()) continue;
      svg.mark(planes - 1, across(found->second.relative), middle, 3.6, series_class(planes - 1),
               fmt::format("{}, {}: {}, {} of its bound, in {}", errors.formats[i], name_of(planes),
                           figure(found->second.relative), percent_text(found->second.ratio), found->second.problem));
    }
  }
  return svg.str();
}

}  // namespace

std::optional<Figure> accuracy(const VerifyRun& run, const std::string& id) {
  if (run.cases.empty()) return std::nullopt;
  const Errors errors = errors_of(run);
  if (errors.by_window.empty()) return std::nullopt;
  Figure made;
  made.id = id + "-accuracy";
  made.title = "Accuracy against window and planes";
  made.about = fmt::format(
      "Every output was compared with float64, and none may pass the bound derived for it. Here is the worst error of "
      "each "
      "group, as a part of the sum of the absolute terms; of the fill '{}' alone, since each fill is hard in its own "
      "way. "
      "Left, formats of codes: lines are level, but for chance, because the tokens of a window don't know of each "
      "other. "
      "Right, each format: those of plain values hold x in a way of their own, whatever the planes.",
      errors.fill);
  made.draw = [errors](const Canvas& canvas) {
    return draw_errors(errors, canvas, "Accuracy against window and planes");
  };
  made.table.heads = {"format", "planes", "cases", "worst error / sum of |terms|", "worst error / bound", "problem"};
  made.table.words = 2;
  for (const std::string& format : errors.formats) {
    for (const unsigned planes : errors.planes) {
      const auto found = errors.by_format.find({planes, format});
      if (found == errors.by_format.end()) continue;
      made.table.rows.push_back({format, name_of(planes), std::to_string(found->second.cases),
                                 figure(found->second.relative), figure(found->second.ratio), found->second.problem});
    }
  }
  return made;
}

}  // namespace lanewise::program::report
