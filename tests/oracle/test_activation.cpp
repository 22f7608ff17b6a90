#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "support.h"

namespace lanewise::oracle::testing {
namespace {

std::vector<int> planes_of(float x, int count) {
  // A one in the super-block fixes e: -14 for x16, -22 for x24, -6 for x8; x then holds q * 2^e.
  const Activation a = fp32_activation({1.0f, x}, 1, count);
  std::vector<int> out;
  for (int p = 0; p < count; ++p) out.push_back(a.planes[static_cast<std::size_t>(2 * p + 1)]);
  return out;
}

TEST(OracleActivation, ExponentOfX16AtItsLimit) {
  for (int e : {-80, -60, -14, 0, 20, 49}) {
    const double unit = std::ldexp(1.0, e);
    EXPECT_EQ(activation_exponent(32512 * unit, 32512), e);
    // 32512.5 is a tie and goes to the even 32512; anything above it goes to 32513.
    EXPECT_EQ(activation_exponent(32512.5 * unit, 32512), e);
    EXPECT_EQ(activation_exponent(std::nextafter(32512.5, 1e9) * unit, 32512), e + 1);
    EXPECT_EQ(activation_exponent(32511.99 * unit, 32512), e);
    EXPECT_EQ(activation_exponent(32513 * unit, 32512), e + 1);
  }
}

TEST(OracleActivation, ExponentOfX8AndX24AtTheirLimits) {
  // Here the tie goes up to the even 128 and 8355712, both above the limit.
  EXPECT_EQ(activation_exponent(127.0, 127), 0);
  EXPECT_EQ(activation_exponent(std::nextafter(127.5, 0.0), 127), 0);
  EXPECT_EQ(activation_exponent(127.5, 127), 1);
  EXPECT_EQ(activation_exponent(8355711.0, 8355711), 0);
  EXPECT_EQ(activation_exponent(std::nextafter(8355711.5, 0.0), 8355711), 0);
  EXPECT_EQ(activation_exponent(8355711.5, 8355711), 1);
}

TEST(OracleActivation, ExponentNearAPowerOfTwo) {
  for (int n = -60; n < 63; ++n) {
    const double power = std::ldexp(1.0, n);
    EXPECT_EQ(activation_exponent(power, 32512), n - 14);
    EXPECT_EQ(activation_exponent(power * 1.009, 32512), n - 14);
    EXPECT_EQ(activation_exponent(power * 0.9999, 32512), n - 14);     // 32764.7 after 2^15
    EXPECT_EQ(activation_exponent(power * 0.99221, 32512), n - 14);    // 32512.7: still too large
    EXPECT_EQ(activation_exponent(power * 0.9921875, 32512), n - 15);  // 32512 exactly
    EXPECT_EQ(activation_exponent(power * 0.99, 32512), n - 15);
  }
}

TEST(OracleActivation, ExponentEnds) {
  EXPECT_EQ(activation_exponent(0.0, 32512), -80);
  EXPECT_EQ(activation_exponent(std::ldexp(1.0, -140), 32512), -80);
  const float largest = std::nextafter(std::ldexp(1.0f, 64), 0.0f);
  EXPECT_EQ(activation_exponent(static_cast<double>(largest), 32512), 50);
  EXPECT_EQ(activation_exponent(static_cast<double>(largest), 127), 58);
  EXPECT_EQ(activation_exponent(static_cast<double>(largest), 8355711), 42);
}

TEST(OracleActivation, SmallestValues) {
  const float tie = std::ldexp(1.0f, -81);
  const Activation a = fp32_activation({tie, std::nextafter(tie, 1.0f), -3 * tie, 0.0f}, 1, 2);
  EXPECT_EQ(a.e[0], -80);
  EXPECT_EQ(a.q[0], 0);
  EXPECT_EQ(a.q[1], 1);
  EXPECT_EQ(a.q[2], -2);  // 1.5 to the even 2
  EXPECT_EQ(a.q[3], 0);
}

TEST(OracleActivation, PlanesByHand) {
  const float u16 = std::ldexp(1.0f, -14);
  EXPECT_EQ(planes_of(3 * u16, 2), (std::vector<int>{3, 0}));
  EXPECT_EQ(planes_of(127 * u16, 2), (std::vector<int>{127, 0}));
  EXPECT_EQ(planes_of(128 * u16, 2), (std::vector<int>{-128, 1}));
  EXPECT_EQ(planes_of(-128 * u16, 2), (std::vector<int>{-128, 0}));
  EXPECT_EQ(planes_of(-129 * u16, 2), (std::vector<int>{127, -1}));
  EXPECT_EQ(planes_of(-200 * u16, 2), (std::vector<int>{56, -1}));
  EXPECT_EQ(planes_of(2.5f * u16, 2), (std::vector<int>{2, 0}));  // ties to even
  EXPECT_EQ(planes_of(3.5f * u16, 2), (std::vector<int>{4, 0}));
  const float u24 = std::ldexp(1.0f, -22);
  EXPECT_EQ(planes_of(129 * u24, 3), (std::vector<int>{-127, 1, 0}));
  EXPECT_EQ(planes_of(-32769 * u24, 3), (std::vector<int>{-1, -128, 0}));
  EXPECT_EQ(planes_of(32768 * u24, 3), (std::vector<int>{0, -128, 1}));
  EXPECT_EQ(planes_of(-17 * std::ldexp(1.0f, -6), 1), (std::vector<int>{-17}));
}

// The largest q of each kind fills every plane with 127 but the low one of x16 (32512 = 127 * 256).
TEST(OracleActivation, PlanesAtTheLimits) {
  for (float sign : {1.0f, -1.0f}) {
    const int s = sign > 0 ? 1 : -1;
    const Activation x16 = fp32_activation({32512 * sign}, 1, 2);
    EXPECT_EQ(x16.q[0], 32512 * s);
    EXPECT_EQ(x16.planes[0], 0);
    EXPECT_EQ(x16.planes[1], 127 * s);
    const Activation x24 = fp32_activation({8355711 * sign}, 1, 3);
    EXPECT_EQ(x24.q[0], 8355711 * s);
    for (int p = 0; p < 3; ++p) EXPECT_EQ(x24.planes[static_cast<std::size_t>(p)], 127 * s);
  }
}

TEST(OracleActivation, PlanesHoldQ) {
  std::mt19937 rng(11);
  const std::int64_t cols = 1000;  // four super-blocks, the last short
  std::vector<float> x = gaussian_x(2 * cols, rng);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::ldexp(x[i], static_cast<int>(rng() % 30) - 15);
  for (int planes = 1; planes <= 3; ++planes) {
    const Activation a = fp32_activation(x, 2, planes);
    ASSERT_EQ(a.blocks, 4);
    for (std::int64_t i = 0; i < 2 * cols; ++i) {
      const auto at = static_cast<std::size_t>(i);
      std::int64_t q = 0;
      for (int p = planes - 1; p >= 0; --p) q = q * 256 + a.planes[static_cast<std::size_t>(p * 2 * cols + i)];
      EXPECT_EQ(q, a.q[at]);
      EXPECT_LE(std::abs(a.q[at]), activation_limit(planes));
      const int e = a.e[static_cast<std::size_t>(i / cols * 4 + i % cols / 256)];
      EXPECT_LE(std::fabs(a.x[at] - std::ldexp(static_cast<double>(a.q[at]), e)), std::ldexp(0.5, e));
    }
  }
}

TEST(OracleActivation, PoisonedTokens) {
  const float big = std::ldexp(1.0f, 64);
  const float inf = std::numeric_limits<float>::infinity();
  const float bad[] = {std::numeric_limits<float>::quiet_NaN(), inf, -inf, big, -big};
  for (float value : bad) {
    std::vector<float> x(96, 1.0f);
    x[40] = value;  // the middle one of three tokens
    const Activation a = fp32_activation(x, 3, 2);
    EXPECT_EQ(a.poisoned, (std::vector<std::uint8_t>{0, 1, 0}));
    EXPECT_EQ(a.q[32], 0);
  }
  EXPECT_EQ(fp32_activation({std::nextafter(big, 0.0f)}, 1, 2).poisoned[0], 0);
}

TEST(OracleActivation, HalfInputsAreWidenedExactly) {
  const std::uint16_t half[] = {0x3C00, 0xBC01, 0x0001};
  const Activation a = activate(half, Input::fp16, 1, 3, 2);
  EXPECT_EQ(a.x[1], -(1.0 + 0x1p-10));
  EXPECT_EQ(a.q[1], -(16384 + 16));
  EXPECT_EQ(a.x[2], 0x1p-24);
  const std::uint16_t brain[] = {0x3F80, 0xBF81, 0x7F80};
  EXPECT_EQ(activate(brain, Input::bf16, 1, 2, 2).x[1], -(1.0 + 0x1p-7));
  EXPECT_EQ(activate(brain, Input::bf16, 1, 3, 2).poisoned[0], 1);
}

}  // namespace
}  // namespace lanewise::oracle::testing
