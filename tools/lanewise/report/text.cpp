#include "report/text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace lanewise::program::report {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// Bytes of the character that starts with this one. What isn't UTF-8 is taken byte by byte.
std::size_t length_of(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  std::size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i >= text.size() || (static_cast<unsigned char>(text[at + i]) & 0xC0U) != 0x80U) return 1;
  }
  return length;
}

// U+202A to U+202E and U+2066 to U+2069.
bool turns_direction(std::string_view character) {
  if (character.size() != 3 || character[0] != '\xE2') return false;
  if (character[1] == '\x80') return character[2] >= '\xAA' && character[2] <= '\xAE';
  return character[1] == '\x81' && character[2] >= '\xA6' && character[2] <= '\xA9';
}

std::string with_commas(std::string digits) {
  const std::size_t begin = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > begin + 3;) digits.insert(at -= 3, ",");
  return digits;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of(text, at);
    const std::string_view character = text.substr(at, length);
    at += length;
    const auto first = static_cast<unsigned char>(character[0]);
    if (length > 1) {
      // U+0080 to U+009F are control characters too.
      const bool control = first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
      out += control || turns_direction(character) ? replacement : character;
    } else if (first == '&') {
      out += "&amp;";
    } else if (first == '<') {
      out += "&lt;";
    } else if (first == '>') {
      out += "&gt;";
    } else if (first == '"') {
      out += "&quot;";
    } else if (first == '\'') {
      out += "&#39;";
    } else if (first == '\n' || (first >= 0x20 && first < 0x7F)) {
      out += character;
    } else {
      out += replacement;
    }
  }
  return out;
}

std::string figure(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  // What rounds up to the next power of ten has that one's digits.
  const double size = std::fabs(std::stod(fmt::format("{:.{}e}", value, digits - 1)));
  const int exponent = static_cast<int>(std::floor(std::log10(size) + 1e-12));
  if (exponent >= 15 || exponent < -4) {
    const std::string text = fmt::format("{:.{}e}", value, std::max(digits - 2, 0));
    const std::size_t e = text.find('e');
    return fmt::format("{}e{}", text.substr(0, e), std::stoi(text.substr(e + 1)));
  }
  const int places = std::max(digits - 1 - exponent, 0);
  if (places == 0) return with_commas(fmt::format("{:.0f}", value));
  return fmt::format("{:.{}f}", value, places);
}

std::string count(double value) {
  if (!std::isfinite(value)) return "-";
  const std::string text = trimmed(fmt::format("{:.3f}", value));
  const std::size_t point = text.find('.');
  return point == std::string::npos ? with_commas(text) : with_commas(text.substr(0, point)) + text.substr(point);
}

std::string trimmed(std::string text) {
  const std::size_t point = text.find('.');
  if (point == std::string::npos) return text;
  std::size_t end = point + 1;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  std::size_t keep = end;
  while (keep > point && (text[keep - 1] == '0' || text[keep - 1] == '.')) {
    --keep;
    if (text[keep] == '.') break;
  }
  return text.erase(keep, end - keep);
}

std::string tokens_text(double tokens) { return count(tokens) + (tokens == 1 ? " token" : " tokens"); }

std::string bytes_text(double bytes) {
  if (!std::isfinite(bytes)) return "-";
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(units)) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", figure(bytes), units[unit]);
}

std::string us_text(double us) {
  if (!std::isfinite(us)) return "-";
  if (us >= 999.5e3) return figure(us / 1e6) + " s";
  if (us >= 999.5) return figure(us / 1e3) + " ms";
  if (us >= 0.9995 || us == 0) return figure(us) + " \xC2\xB5s";
  return figure(us * 1e3) + " ns";
}

std::string percent_text(double part) { return std::isfinite(part) ? figure(100 * part) + " %" : "-"; }

double text_width(std::string_view text, double size) {
  double width = 0;
  for (std::size_t at = 0; at < text.size(); at += length_of(text, at)) {
    const char c = text[at];
    constexpr std::string_view slim = "iljtfrI.,:;'|!()[] -";
    constexpr std::string_view broad = "mwMWGOQ%@";
    width += slim.find(c) != std::string_view::npos ? 0.40 : broad.find(c) != std::string_view::npos ? 0.95 : 0.65;
  }
  return width * size;
}

std::string cut_to(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  const double ellipsis = text_width("\xE2\x80\xA6", size);
  while (!text.empty() && ellipsis + text_width(text, size) > width) text.remove_prefix(length_of(text, 0));
  return "\xE2\x80\xA6" + std::string(text);
}

}  // namespace lanewise::program::report
