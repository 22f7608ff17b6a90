// Colours that mean a quantity.
#pragma once

#include <string>

namespace lanewise::program::report {

/// 0 to 1 as dark blue over grey to yellow: its lightness alone tells the order, for every kind of colour vision and in
/// print.
std::string heat_colour(double part);
/// The class of text that can be read on it.
std::string heat_ink(double part);

}  // namespace lanewise::program::report
