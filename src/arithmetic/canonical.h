// The canonical sum of docs/arithmetic.md, sections 4 and 5: what becomes of the integer sums. Every step here is one
// rounded fp32 operation, in the order written; compile with contraction off.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "arithmetic/activation.h"

namespace lanewise {

inline constexpr std::uint32_t eighths = 8;        ///< g: contiguous eighths of K
inline constexpr std::uint32_t code_chains = 4;    ///< v: accumulators an eighth, quantised formats
inline constexpr std::uint32_t float_chains = 64;  ///< v: accumulators an eighth, float formats
inline constexpr std::uint32_t canonical_nan = 0x7FC00000u;

/// g of super-block b of `blocks`.
constexpr std::uint32_t eighth_of(std::uint64_t b, std::uint64_t blocks) {
  return static_cast<std::uint32_t>(eighths * b / blocks);
}

/// F(J): the value of a sum held in planes, lowest first.
inline float plane_value(const std::int32_t* sums, Planes planes) {
  switch (planes) {
    case Planes::x8:
      return static_cast<float>(sums[0]);
    case Planes::x16:
      return static_cast<float>(sums[0]) + 256.0F * static_cast<float>(sums[1]);
    case Planes::x24:
      break;
  }
  const float low = static_cast<float>(sums[0]) + 256.0F * static_cast<float>(sums[1]);
  return low + 65536.0F * static_cast<float>(sums[2]);
}

/// 2^exponent as the EXP formats take it: +0 below 2^-126, +infinity above 2^90.
constexpr float capped_power(std::int32_t exponent) {
  if (exponent < -126) return 0.0F;
  if (exponent > 90) return std::bit_cast<float>(0x7F800000u);
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

constexpr float canonical(float value) { return value != value ? std::bit_cast<float>(canonical_nan) : value; }

/// r[g] of a quantised format.
constexpr float fold_codes(const std::array<float, code_chains>& a) { return (a[0] + a[1]) + (a[2] + a[3]); }

/// r[g] of a float format, by halves.
constexpr float fold_floats(std::array<float, float_chains> a) {
  for (std::uint32_t half = float_chains / 2; half != 0; half /= 2) {
    for (std::uint32_t j = 0; j < half; ++j) a[j] = a[j] + a[j + half];
  }
  return a[0];
}

/// y from the eighths.
constexpr float fold_eighths(const std::array<float, eighths>& r) {
  return canonical(((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7])) + 0.0F);
}

/// Rounds y to the output's type and stores it.
void store_output(const OutputView& y, std::uint64_t vector, std::uint64_t row, float value);

}  // namespace lanewise
