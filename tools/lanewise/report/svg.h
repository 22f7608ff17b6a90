// One SVG drawing, inline in HTML: shapes with classes that the page's style sheet colours. Coordinates in CSS pixels,
// y down.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lanewise::program::report {

using Points = std::vector<std::pair<double, double>>;

enum class Anchor { start, middle, end };

/// A hover title is shown by browsers as a tool tip; empty: none.
class Svg {
 public:
  /// `id` is unique on the page. `title` and `about` are what a screen reader says in its place.
  Svg(std::string_view id, double width, double height, std::string_view title, std::string_view about);

  void line(double x1, double y1, double x2, double y2, std::string_view css);
  void rect(double x, double y, double width, double height, std::string_view css, std::string_view hover = {},
            std::string_view fill = {});
  void path(const Points& points, std::string_view css, std::string_view hover = {});
  void polygon(const Points& points, std::string_view css);
  void text(double x, double y, std::string_view text, Anchor anchor, std::string_view css);
  /// Upwards, around (x, y).
  void upright(double x, double y, std::string_view text, std::string_view css);
  /// Mark `shape` (0 to 5: circle, square, diamond, triangle, its opposite, cross) in colour `css`.
  void mark(unsigned shape, double x, double y, double radius, std::string_view css, std::string_view hover = {});

  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] std::string str() const;

 private:
  void shape(std::string_view element, std::string_view hover);

  double width_;
  std::string out_;
};

}  // namespace lanewise::program::report
