#include "report/svg.h"

#include <fmt/format.h>

#include "report/text.h"

namespace lanewise::program::report {
namespace {

// A tenth of a pixel is finer than any screen.
std::string place(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string list_of(const Points& points) {
  std::string text;
  for (const auto& [x, y] : points) text += fmt::format("{}{},{}", text.empty() ? "" : " ", place(x), place(y));
  return text;
}

}  // namespace

Svg::Svg(std::string_view id, double width, double height, std::string_view title, std::string_view about)
    : width_(width) {
  out_ = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-labelledby=\"{2}-t {2}-d\">\n"
      "<title id=\"{2}-t\">{3}</title>\n<desc id=\"{2}-d\">{4}</desc>\n",
      place(width), place(height), escape(id), escape(title), escape(about));
}

void Svg::shape(std::string_view element, std::string_view hover) {
  out_ += '<';
  out_ += element;
  if (hover.empty()) {
    out_ += "/>\n";
    return;
  }
  out_ += fmt::format("><title>{}</title></{}>\n", escape(hover), element.substr(0, element.find(' ')));
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view css) {
  shape(fmt::format("line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"", css, place(x1), place(y1), place(x2),
                    place(y2)),
        {});
}

void Svg::rect(double x, double y, double width, double height, std::string_view css, std::string_view hover,
               std::string_view fill) {
  const std::string colour = fill.empty() ? "" : fmt::format(" fill=\"{}\"", fill);
  shape(fmt::format("rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}", css, place(x), place(y),
                    place(width), place(height), colour),
        hover);
}

void Svg::path(const Points& points, std::string_view css, std::string_view hover) {
  shape(fmt::format("polyline class=\"{}\" points=\"{}\"", css, list_of(points)), hover);
}

void Svg::polygon(const Points& points, std::string_view css) {
  shape(fmt::format("polygon class=\"{}\" points=\"{}\"", css, list_of(points)), {});
}

void Svg::text(double x, double y, std::string_view text, Anchor anchor, std::string_view css) {
  constexpr const char* anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  out_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\"{}>{}</text>\n", css, place(x), place(y),
                      anchors[static_cast<unsigned>(anchor)], escape(text));
}

void Svg::upright(double x, double y, std::string_view text, std::string_view css) {
  out_ += fmt::format(
      "<text class=\"{0}\" transform=\"translate({1} {2}) rotate(-90)\" text-anchor=\"middle\">{3}</text>\n", css,
      place(x), place(y), escape(text));
}

void Svg::mark(unsigned shape_number, double x, double y, double radius, std::string_view css, std::string_view hover) {
  const double r = radius;
  const auto poly = [&](const Points& points) {
    shape(fmt::format("polygon class=\"mark {}\" points=\"{}\"", css, list_of(points)), hover);
  };
  switch (shape_number % 6) {
    case 0:
      shape(fmt::format("circle class=\"mark {}\" cx=\"{}\" cy=\"{}\" r=\"{}\"", css, place(x), place(y), place(r)),
            hover);
      return;
    case 1:
      return poly(
          {{x - r * .9, y - r * .9}, {x + r * .9, y - r * .9}, {x + r * .9, y + r * .9}, {x - r * .9, y + r * .9}});
    case 2:
      return poly({{x, y - r * 1.3}, {x + r * 1.3, y}, {x, y + r * 1.3}, {x - r * 1.3, y}});
    case 3:
      return poly({{x, y - r * 1.2}, {x + r * 1.15, y + r * .9}, {x - r * 1.15, y + r * .9}});
    case 4:
      return poly({{x, y + r * 1.2}, {x + r * 1.15, y - r * .9}, {x - r * 1.15, y - r * .9}});
    default: {
      const double a = r * .4, b = r * 1.2;
      return poly({{x - a, y - b},
                   {x + a, y - b},
                   {x + a, y - a},
                   {x + b, y - a},
                   {x + b, y + a},
                   {x + a, y + a},
                   {x + a, y + b},
                   {x - a, y + b},
                   {x - a, y + a},
                   {x - b, y + a},
                   {x - b, y - a},
                   {x - a, y - a}});
    }
  }
}

std::string Svg::str() const { return out_ + "</svg>\n"; }

}  // namespace lanewise::program::report
