// Every one of the 65,536 halves and bfloats, and the roundings between them, against double arithmetic.
#include "base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace lanewise {
namespace {

// The value by the definition: sign, exponent, mantissa.
double half_by_definition(std::uint32_t h) {
  const double sign = (h & 0x8000u) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((h >> 10) & 31u);
  const int mantissa = static_cast<int>(h & 1023u);
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST(Half, EveryPatternDecodes) {
  for (std::uint32_t h = 0; h < 65536; ++h) {
    const float value = half_to_float(static_cast<std::uint16_t>(h));
    const double expected = half_by_definition(h);
    if (std::isnan(expected)) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(value), 0x7FC00000u) << h;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(value)), std::bit_cast<std::uint64_t>(expected)) << h;
    }
  }
}

TEST(Half, EveryPatternSurvivesTheRoundTrip) {
  for (std::uint32_t h = 0; h < 65536; ++h) {
    const std::uint16_t back = float_to_half(half_to_float(static_cast<std::uint16_t>(h)));
    const bool is_nan = (h & 0x7FFFu) > 0x7C00u;
    ASSERT_EQ(back, is_nan ? 0x7E00u : h) << h;
  }
}

TEST(Half, RoundsToNearestTiesToEvenBetweenEveryPairOfNeighbours) {
  for (std::uint32_t h = 0; h < 0x7C00; ++h) {
    const double low = half_by_definition(h);
    const double high = h == 0x7BFF ? 65536.0 : half_by_definition(h + 1);
    const double middle = (low + high) / 2;
    const auto tie = static_cast<float>(middle);  // exact: one bit more than a half
    const std::uint32_t even = (h & 1u) != 0 ? h + 1 : h;
    ASSERT_EQ(float_to_half(tie), even) << h;
    ASSERT_EQ(float_to_half(std::nextafter(tie, 0.0F)), h) << h;
    ASSERT_EQ(float_to_half(std::nextafter(tie, HUGE_VALF)), h + 1) << h;
    ASSERT_EQ(float_to_half(-tie), even | 0x8000u) << h;
  }
  EXPECT_EQ(float_to_half(HUGE_VALF), 0x7C00u);
  EXPECT_EQ(float_to_half(1e30F), 0x7C00u);
}

TEST(Bfloat, EveryPatternRoundTripsAndTiesGoToEven) {
  for (std::uint32_t b = 0; b < 65536; ++b) {
    const float value = bfloat_to_float(static_cast<std::uint16_t>(b));
    const bool is_nan = (b & 0x7FFFu) > 0x7F80u;
    ASSERT_EQ(float_to_bfloat(value), is_nan ? 0x7FC0u : b) << b;
    if (is_nan || (b & 0x7FFFu) == 0x7F80u) continue;
    const float tie = std::bit_cast<float>((b << 16) | 0x8000u);
    ASSERT_EQ(float_to_bfloat(tie), (b & 1u) != 0 ? b + 1 : b) << b;
  }
}

}  // namespace
}  // namespace lanewise
