// IEEE binary16 and bfloat16, to and from binary32, by integer operations alone: no instruction set, rounding mode or
// flush-to-zero setting of the host takes part.
#pragma once

#include <cstdint>

namespace lanewise {

/// Exact for every finite half; infinities stay, a NaN becomes the quiet NaN 0x7FC00000.
float half_to_float(std::uint16_t half);
/// Rounded to nearest, ties to even; subnormals kept, overflow to infinity, a NaN becomes 0x7E00.
std::uint16_t float_to_half(float value);
/// Exact; a NaN becomes 0x7FC00000.
float bfloat_to_float(std::uint16_t bfloat);
/// Rounded to nearest, ties to even; overflow to infinity, a NaN becomes 0x7FC0.
std::uint16_t float_to_bfloat(float value);

}  // namespace lanewise
