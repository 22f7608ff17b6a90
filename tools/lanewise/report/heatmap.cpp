// Formats x shapes, the part of the read floor as a colour and a number, a panel a window.

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "report/axes.h"
#include "report/colour.h"
#include "report/plots.h"
#include "report/text.h"

namespace lanewise::program::report {
namespace {

struct Heat {
  std::vector<std::string> formats;
  std::vector<std::string> shapes;
  std::vector<double> windows;                                                    ///< first and last
  std::map<std::tuple<double, std::string, std::string>, const BenchCase*> best;  ///< window, format, shape
  Range range;
};

double part_of_floor(const BenchCase& c) { return c.floor_us > 0 ? c.floor_us / c.us : c.fraction; }

Heat make_heat(const BenchRun& run) {
  Heat heat;
  const auto cold = run.cold();
  heat.formats = formats_of(cold);
  heat.windows = windows_of(cold);
  if (heat.windows.size() > 2) heat.windows = {heat.windows.front(), heat.windows.back()};
  std::vector<double> parts;
  for (const BenchCase* c : cold) {
    if (std::ranges::find(heat.windows, c->tokens) == heat.windows.end()) continue;
    if (std::ranges::find(heat.shapes, c->shape()) == heat.shapes.end()) heat.shapes.push_back(c->shape());
    const BenchCase*& place = heat.best[{c->tokens, c->format, c->shape()}];
    if (place == nullptr || part_of_floor(*c) > part_of_floor(*place)) place = c;
    parts.push_back(part_of_floor(*c));
  }
  // Whole tens around what there is, so that two reports with like figures have like colours.
  heat.range = {std::floor(*std::ranges::min_element(parts) * 10) / 10, 1};
  if (heat.range.low > 0.9) heat.range.low = 0.9;
  return heat;
}

// "4096x128256 x3" in up to three lines.
std::vector<std::string> lines_of(const std::string& shape) {
  std::vector<std::string> lines;
  const std::size_t x = shape.find('x');
  const std::size_t blank = shape.find(' ');
  lines.push_back(shape.substr(0, x));
  if (x != std::string::npos) lines.push_back(shape.substr(x, blank - x));
  lines.push_back(blank == std::string::npos ? "" : shape.substr(blank + 1));
  return lines;
}

class HeatDrawing {
 public:
  HeatDrawing(const Heat& heat, const Canvas& canvas) : heat_(heat), canvas_(canvas) {
    for (const std::string& format : heat.formats) names_ = std::max(names_, text_width(format, tick_size) + 8);
    const double least = 43;
    // Both windows side by side where their cells stay wide enough.
    const auto shapes = static_cast<double>(heat.shapes.size());
    across_ =
        !canvas.narrow && heat.windows.size() > 1 && (canvas.width - gap - 2 * names_) / (2 * shapes) >= least ? 2 : 1;
    const double room = (canvas.width - gap * (across_ - 1)) / across_ - names_;
    per_block_ = std::clamp<std::size_t>(static_cast<std::size_t>(room / least), 1, heat.shapes.size());
    cell_ = std::min(room / static_cast<double>(per_block_), 96.0);
    blocks_ = (heat.shapes.size() + per_block_ - 1) / per_block_;
    row_ = canvas.narrow ? 19 : 20;
    block_tall_ = heading + row_ * static_cast<double>(heat.formats.size()) + 22;
  }

  std::string draw(const std::string& title) {
    const auto panels = heat_.windows.size() * blocks_;
    const auto lines = across_ == 2 ? blocks_ : panels;
    Svg svg(
        canvas_.id, canvas_.width, scale_tall + block_tall_ * static_cast<double>(lines), title,
        "Rows are formats, columns shapes of W (K, then rows); a cell is the part of the read floor's speed that the "
        "product reaches, in per cent. Light is near the floor.");
    draw_scale(svg);
    for (std::size_t w = 0; w < heat_.windows.size(); ++w) {
      for (std::size_t b = 0; b < blocks_; ++b) {
        const std::size_t line = across_ == 2 ? b : w * blocks_ + b;
        const double left = across_ == 2 ? static_cast<double>(w) * ((canvas_.width - gap) / 2 + gap) : 0;
        draw_block(svg, heat_.windows[w], b, left, scale_tall + block_tall_ * static_cast<double>(line));
      }
    }
    return svg.str();
  }

 private:
  static constexpr double gap = 20;
  static constexpr double heading = 66;
  static constexpr double scale_tall = 44;

  [[nodiscard]] double coloured(double part) const {
    return (part - heat_.range.low) / (heat_.range.high - heat_.range.low);
  }

  void draw_scale(Svg& svg) const {
    const double width = std::min(canvas_.width - 24, 300.0);
    const double left = 12;
    constexpr int steps = 30;
    for (int i = 0; i < steps; ++i) {
      svg.rect(left + width * i / steps, 2, width / steps + 0.5, 12, "bar", {}, heat_colour((i + 0.5) / steps));
    }
    draw_x_axis(svg, Scale::linear(heat_.range, left, left + width), {left, 2, left + width, 15},
                {"", [](double v) { return percent_text(v); }, false});
  }

  void draw_block(Svg& svg, double window, std::size_t block, double left, double top) const {
    const std::size_t first = block * per_block_;
    const std::size_t end = std::min(first + per_block_, heat_.shapes.size());
    svg.text(left, top + 12, tokens_text(window), Anchor::start, "panel");
    const std::string css = canvas_.narrow ? "tick small" : "tick";
    for (std::size_t s = first; s < end; ++s) {
      const double middle = left + names_ + cell_ * (static_cast<double>(s - first) + 0.5);
      const auto lines = lines_of(heat_.shapes[s]);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (!lines[i].empty()) svg.text(middle, top + 30 + 13 * static_cast<double>(i), lines[i], Anchor::middle, css);
      }
    }
    for (std::size_t f = 0; f < heat_.formats.size(); ++f) {
      const double y = top + heading + row_ * static_cast<double>(f);
      svg.text(left + names_ - 7, y + row_ / 2 + 4, heat_.formats[f], Anchor::end, "tick");
      for (std::size_t s = first; s < end; ++s) {
        draw_cell(svg, left + names_ + cell_ * static_cast<double>(s - first), y, window, heat_.formats[f],
                  heat_.shapes[s]);
      }
    }
  }

  void draw_cell(Svg& svg, double x, double y, double window, const std::string& format,
                 const std::string& shape) const {
    const auto found = heat_.best.find({window, format, shape});
    if (found == heat_.best.end()) {
      svg.rect(x + 0.5, y + 0.5, cell_ - 1, row_ - 1, "empty", "not measured");
      return;
    }
    const BenchCase& c = *found->second;
    const double part = part_of_floor(c);
    svg.rect(x + 0.5, y + 0.5, cell_ - 1, row_ - 1, "bar",
             fmt::format("{} {}, {}: {} of the floor, {}", format, shape, tokens_text(window), percent_text(part),
                         us_text(c.us)),
             heat_colour(coloured(part)));
    svg.text(x + cell_ / 2, y + row_ / 2 + 4, fmt::format("{:.0f}", 100 * part), Anchor::middle,
             "cell " + heat_ink(coloured(part)));
  }

  const Heat& heat_;
  const Canvas& canvas_;
  double names_ = 0;
  double cell_ = 0;
  double row_ = 0;
  double block_tall_ = 0;
  int across_ = 1;
  std::size_t per_block_ = 1;
  std::size_t blocks_ = 1;
};

}  // namespace

std::optional<Figure> heat_map(const BenchRun& run, const std::string& id) {
  if (run.cold().empty()) return std::nullopt;
  const Heat heat = make_heat(run);
  Figure made;
  made.id = id + "-heat";
  made.title = "Formats and shapes: the part of the read floor";
  made.about =
      "100 means that the product takes no longer than reading W does. Small matrices have a floor too: a launch and "
      "the "
      "way to memory take their time whatever is read. Of several layouts or kernels the best is shown.";
  made.draw = [heat](const Canvas& canvas) {
    return HeatDrawing(heat, canvas).draw("Formats and shapes: the part of the read floor");
  };
  made.table.heads = {"tokens", "format"};
  made.table.words = 2;
  made.table.heads.insert(made.table.heads.end(), heat.shapes.begin(), heat.shapes.end());
  for (const double window : heat.windows) {
    for (const std::string& format : heat.formats) {
      std::vector<std::string> row{count(window), format};
      for (const std::string& shape : heat.shapes) {
        const auto found = heat.best.find({window, format, shape});
        row.push_back(found == heat.best.end() ? "-" : percent_text(part_of_floor(*found->second)));
      }
      made.table.rows.push_back(std::move(row));
    }
  }
  return made;
}

}  // namespace lanewise::program::report
