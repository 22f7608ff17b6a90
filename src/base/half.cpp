#include "base/half.h"

#include <bit>

namespace lanewise {
namespace {

constexpr std::uint32_t quiet_nan = 0x7FC00000u;

// `value` shifted right by `shift` (1..31), rounded to nearest, ties to even.
constexpr std::uint32_t round_shift(std::uint32_t value, unsigned shift) {
  const std::uint32_t half_unit = 1u << (shift - 1);
  const std::uint32_t odd = (value >> shift) & 1u;
  return (value + half_unit - 1u + odd) >> shift;
}

}  // namespace

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 31u;
  const std::uint32_t mantissa = half & 0x3FFu;
  if (exponent == 31) return std::bit_cast<float>(mantissa != 0 ? quiet_nan : sign | 0x7F800000u);
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  if (mantissa == 0) return std::bit_cast<float>(sign);
  // mantissa * 2^-24: its highest set bit becomes the hidden one.
  const auto width = static_cast<std::uint32_t>(std::bit_width(mantissa));
  return std::bit_cast<float>(sign | ((width + 102) << 23) | ((mantissa << (24 - width)) & 0x7FFFFFu));
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return 0x7E00u;
  std::uint32_t half = 0;
  if (magnitude >= 0x47800000u) {  // 2^16 and more
    half = 0x7C00u;
  } else if (magnitude >= 0x38800000u) {  // normal: a carry out of the mantissa is the next exponent, or infinity
    half = round_shift(magnitude - 0x38000000u, 13);
  } else if (magnitude > 0x33000000u) {  // above 2^-25, half of the least subnormal
    const std::uint32_t mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
    half = round_shift(mantissa, 126 - (magnitude >> 23));
  }
  return static_cast<std::uint16_t>(sign | half);
}

float bfloat_to_float(std::uint16_t bfloat) {
  const std::uint32_t bits = static_cast<std::uint32_t>(bfloat) << 16;
  return std::bit_cast<float>((bits & 0x7FFFFFFFu) > 0x7F800000u ? quiet_nan : bits);
}

std::uint16_t float_to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return 0x7FC0u;
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | round_shift(magnitude, 16));
}

}  // namespace lanewise
