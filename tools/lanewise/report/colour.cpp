#include "report/colour.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace lanewise::program::report {
namespace {

struct Rgb {
  double r, g, b;
};
// Points of the colour map "cividis" (Nunez, Anderton and Renslow, 2018), which was made for that.
constexpr std::array<Rgb, 9> stops{{{0, 32, 81},
                                    {10, 51, 112},
                                    {60, 77, 110},
                                    {92, 101, 112},
                                    {124, 123, 120},
                                    {154, 147, 118},
                                    {187, 174, 107},
                                    {222, 203, 84},
                                    {253, 234, 69}}};

Rgb colour_at(double part) {
  const double at = std::clamp(std::isfinite(part) ? part : 0, 0.0, 1.0) * static_cast<double>(stops.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(at), stops.size() - 2);
  const double t = at - static_cast<double>(i);
  const auto mix = [t](double a, double b) { return std::round(a + (b - a) * t); };
  return {mix(stops[i].r, stops[i + 1].r), mix(stops[i].g, stops[i + 1].g), mix(stops[i].b, stops[i + 1].b)};
}

// Of WCAG 2: the ratio of contrast is (lighter + 0.05) / (darker + 0.05).
double luminance(const Rgb& colour) {
  const auto linear = [](double channel) {
    const double c = channel / 255;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.r) + 0.7152 * linear(colour.g) + 0.0722 * linear(colour.b);
}

}  // namespace

std::string heat_colour(double part) {
  const Rgb colour = colour_at(part);
  return fmt::format("#{:02x}{:02x}{:02x}", static_cast<unsigned>(colour.r), static_cast<unsigned>(colour.g),
                     static_cast<unsigned>(colour.b));
}

std::string heat_ink(double part) {
  const double light = luminance(colour_at(part));
  return 1.05 / (light + 0.05) > (light + 0.05) / 0.05 ? "on-dark" : "on-light";
}

}  // namespace lanewise::program::report
