// A strip plot: a row a name, marks along one scale that all rows share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/axes.h"
#include "report/html.h"

namespace lanewise::program::report {

struct StripMark {
  double value;
  std::string css = "s0";
  unsigned series = 0;  ///< its place in the legend
  std::string hover;
  std::optional<std::pair<double, double>> span{};  ///< a thin line behind it, from and to
};

struct StripRow {
  std::string name;
  std::vector<StripMark> marks;
};

struct Strips {
  std::string title, about;
  std::vector<StripRow> rows;
  std::vector<LegendEntry> legend;
  Range range;
  bool is_log = true;
  Axis axis;
  std::optional<double> line{};        ///< a value that divides the plot
  std::string below_line, above_line;  ///< what lies on its sides
};

std::string draw_strips(const Strips& strips, const Canvas& canvas);

}  // namespace lanewise::program::report
