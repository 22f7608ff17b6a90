// Text of the report: escaped for HTML, figures as a person writes them.
#pragma once

#include <string>
#include <string_view>

namespace lanewise::program::report {

/// For HTML's text and attributes in either quotes. Control characters, and those that turn the direction of writing,
/// become U+FFFD.
std::string escape(std::string_view text);

/// `digits` significant digits: "1,234", "12.3", "0.00123", "1.2e-7". No number is "-".
std::string figure(double value, int digits = 3);
/// A number of things, in full: "1,234,567"; what isn't whole with as many places as it needs, three at most.
std::string count(double value);
/// Without the zeros that end a number's places: "20 %" of "20.0 %".
std::string trimmed(std::string text);
/// "1 token", "8 tokens".
std::string tokens_text(double tokens);
/// "512 B", "1.31 MB": powers of ten.
std::string bytes_text(double bytes);
/// "850 ns", "12.3 µs", "4.56 ms".
std::string us_text(double us);
/// "61.4 %" of 0.614.
std::string percent_text(double part);

/// About how wide a line of sans-serif text is, in the unit of `size`: rather too wide than too narrow.
double text_width(std::string_view text, double size);
/// Cut at its start to fit `width`, with an ellipsis in the place of what is gone: names differ at their ends.
std::string cut_to(std::string_view text, double size, double width);

}  // namespace lanewise::program::report
