#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "support.h"

namespace lanewise::oracle::testing {
namespace {

constexpr int kF32 = 0, kQ4_0 = 2, kQ4_1 = 3, kQ4_K = 12, kMxfp4 = 39;
const float kTiny = std::ldexp(1.0f, -24);  // half a unit in the last place of 1

float one_row(int id, const std::vector<std::uint8_t>& row, const std::vector<float>& x, int planes = 2) {
  float y = -1;
  gemv(id, row.data(), 1, static_cast<std::int64_t>(x.size()), fp32_activation(x, 1, planes), &y);
  return y;
}

// Q4_0 units: d-group i contributes d[i] * 1.
float sum_of_units(const std::vector<std::uint16_t>& d) {
  std::vector<std::uint8_t> row;
  std::vector<float> x(32 * d.size(), 0.0f);
  for (std::size_t i = 0; i < d.size(); ++i) {
    append_q4_0_unit(row, d[i]);
    x[32 * i] = 1;
  }
  return one_row(kQ4_0, row, x);
}

std::vector<std::uint8_t> f32_row(const std::vector<float>& w) {
  std::vector<std::uint8_t> row;
  for (float value : w) {
    for (int b = 0; b < 4; ++b) row.push_back(static_cast<std::uint8_t>(bits(value) >> (8 * b)));
  }
  return row;
}

// d = 0.5; element i < 16 has code i - 8, element 16 + i has 7 - i. x[0] = 1, x[16] = 2, x[1] = 3 * 2^-13.
// amax = 2, so e = -13 (2 * 2^14 = 32768 is above 32512): q = 8192, 16384, 3.
// Low plane 3 at element 1 only, high planes 32 and 64: J_l = -7 * 3, J_h = -8 * 32 + 7 * 64 = 192.
// F = -21 + 256 * 192 = 49131, d * F = 24565.5, times 2^-13.
TEST(OracleArithmetic, OneQ4_0BlockByHand) {
  std::vector<std::uint8_t> row(18);
  put_half(row.data(), 0x3800);
  for (unsigned i = 0; i < 16; ++i) row[2 + i] = static_cast<std::uint8_t>(i | (15 - i) << 4);
  std::vector<float> x(32, 0.0f);
  x[0] = 1;
  x[16] = 2;
  x[1] = std::ldexp(3.0f, -13);
  const Trace t = trace(kQ4_0, row.data(), 32, fp32_activation(x, 1, 2), 0);
  EXPECT_EQ(t.e[0], -13);
  EXPECT_EQ(t.q[0], 8192);
  EXPECT_EQ(t.planes[1], 3);
  EXPECT_EQ(t.planes[32 + 16], 64);
  EXPECT_EQ(t.J, (std::vector<std::int64_t>{-21, 192}));
  EXPECT_EQ(t.FJ[0], 49131.0f);
  ASSERT_EQ(t.steps.size(), 1u);
  EXPECT_EQ(t.steps[0].addend, std::ldexp(24565.5f, -13));
  EXPECT_EQ(t.a[0], t.y);
  EXPECT_EQ(t.r[0], t.y);
  EXPECT_EQ(t.y, std::ldexp(24565.5f, -13));
  EXPECT_EQ(t.y, one_row(kQ4_0, row, x));
}

// All sub-scales, sub-mins and codes at their ends, x of one sign: a weight is 63 * 15 - 63 = 882.
TEST(OracleArithmetic, Q4_KAtItsExtremes) {
  for (float x0 : {1.0f, -1.0f}) {
    std::vector<std::uint8_t> row(144, 0xFF);
    put_half(row.data(), 0x3C00);
    put_half(row.data() + 2, 0x3C00);
    const Trace t = trace(kQ4_K, row.data(), 256, fp32_activation(std::vector<float>(256, x0), 1, 2), 0);
    const auto s = static_cast<std::int64_t>(x0);
    EXPECT_EQ(t.J, (std::vector<std::int64_t>{0, s * 63 * 15 * 64 * 256}));
    EXPECT_EQ(t.M, (std::vector<std::int64_t>{0, s * 63 * 64 * 256}));
    ASSERT_EQ(t.steps.size(), 2u);
    EXPECT_FALSE(t.steps[0].is_min);
    EXPECT_TRUE(t.steps[1].is_min);
    EXPECT_EQ(t.y, 882.0f * 256.0f * x0);
  }
}

TEST(OracleArithmetic, JoiningPlanesRounds) {
  // 2^24 + 1 is a tie and goes to 2^24; 2^24 + 3 goes to 2^24 + 4.
  const std::int64_t ties[] = {(1 << 24) + 1, 0, 0};
  EXPECT_EQ(joined(ties, 1), 16777216.0f);
  const std::int64_t up[] = {(1 << 24) + 3, 0, 0};
  EXPECT_EQ(joined(up, 1), 16777220.0f);
  // The parts are rounded first: (2^24 + 1) becomes 2^24, and 2^24 + 256 * 65537 is exact, 2^25 + 256. Then
  // 2^24 + 3 becomes 2^24 + 4, and the sum 2^25 + 260 is exact where the whole, 2^25 + 259, would be rounded.
  const std::int64_t one[] = {(1 << 24) + 1, (1 << 16) + 1};
  EXPECT_EQ(joined(one, 2), 33554432.0f + 256.0f);
  const std::int64_t two[] = {(1 << 24) + 3, (1 << 16) + 1};
  EXPECT_EQ(joined(two, 2), 33554432.0f + 260.0f);
  // x24 joins low and middle first: 1 is lost in 1 + 2^24, before 65536 more come.
  const std::int64_t three[] = {1, 1 << 16, 1};
  EXPECT_EQ(joined(three, 3), 16777216.0f + 65536.0f);
  // So at x24 F is not always the whole integer rounded once, though every plane is below 2^24: this one is
  // 2^23 + 1, an fp32 number, but its 1 is gone before -2^23 brings the sum down.
  const std::int64_t gone[] = {1, 1 << 16, -128};
  EXPECT_EQ(joined(gone, 3), 8388608.0f);
}

// (1 + 0) + (2^-24 + 2^-24) = 1 + 2^-23; from left to right each 2^-24 would be lost to the even 1.
TEST(OracleArithmetic, FourAccumulatorsFoldPairwise) {
  EXPECT_EQ(sum_of_units({0x3C00, 0x0000, 0x0001, 0x0001}), 1 + 2 * kTiny);
  EXPECT_EQ(sum_of_units({0x3C00, 0x0001, 0x0000, 0x0001}), 1.0f);
}

// D-groups 0, 4 and 8 share an accumulator when b = 0 and b = 1 share an eighth (16 super-blocks): ascending k
// gives 1, then loses 2^-24 twice; descending k would keep 2^-23.
TEST(OracleArithmetic, ChainsRunInAscendingK) {
  std::vector<std::uint16_t> d(128, 0);
  d[0] = 0x3C00;
  d[4] = 0x0001;
  d[8] = 0x0001;
  EXPECT_EQ(sum_of_units(d), 1.0f);
  d[0] = 0x0001;
  d[8] = 0x3C00;
  EXPECT_EQ(sum_of_units(d), 1 + 2 * kTiny);
}

// Eight super-blocks, one an eighth. r0 = 1, r2 = r3 = 2^-24 meet as a pair; so do r4 .. r7 before they meet r0.
TEST(OracleArithmetic, EighthsFoldAsATree) {
  std::vector<std::uint16_t> d(64, 0);
  d[0] = 0x3C00;
  d[16] = 0x0001;
  d[24] = 0x0001;
  EXPECT_EQ(sum_of_units(d), 1 + 2 * kTiny);
  d[16] = d[24] = 0;
  d[8] = 0x0001;   // r1: lost
  d[32] = 0x0001;  // r4 and r7 join first: kept
  d[56] = 0x0001;
  EXPECT_EQ(sum_of_units(d), 1 + 2 * kTiny);
  d[56] = 0;
  EXPECT_EQ(sum_of_units(d), 1.0f);
}

// floor(8 b / B), worked out by hand for rows of few super-blocks and of a number that 8 does not divide.
TEST(OracleArithmetic, EighthsOfShortAndUnevenRows) {
  const struct {
    std::int64_t cols;
    std::vector<int> g;
  } cases[] = {{32, {0}},
               {256, {0}},
               {288, {0, 4}},
               {768, {0, 2, 5}},
               {1792, {0, 1, 2, 3, 4, 5, 6}},
               {2048, {0, 1, 2, 3, 4, 5, 6, 7}},
               {2560, {0, 0, 1, 2, 3, 4, 4, 5, 6, 7}},
               {2336, {0, 0, 1, 2, 3, 4, 4, 5, 6, 7}}};
  std::mt19937 rng(5);
  for (const auto& c : cases) {
    const auto row = random_row(kQ4_0, c.cols, rng);
    const Activation x = fp32_activation(gaussian_x(c.cols, rng), 1, 2);
    const Trace t = trace(kQ4_0, row.data(), c.cols, x, 0);
    ASSERT_EQ(t.steps.size(), static_cast<std::size_t>(c.cols / 32));
    for (const Step& s : t.steps) {
      EXPECT_EQ(s.g, c.g[static_cast<std::size_t>(s.k / 256)]) << c.cols << " columns, k = " << s.k;
      EXPECT_EQ(s.v, static_cast<int>(s.k % 256 / 32 % 4));
    }
  }
}

TEST(OracleArithmetic, AccumulatorOfADGroup) {
  std::mt19937 rng(6);
  const Activation x = fp32_activation(gaussian_x(512, rng), 1, 2);
  for (int i = 0; i < kFormatCount; ++i) {
    const Facts& f = all_facts()[i];
    const auto row = random_row(f.id, 512, rng);
    const Trace t = trace(f.id, row.data(), 512, x, 0);
    EXPECT_EQ(t.steps.size(), static_cast<std::size_t>(512 / f.dgroup * (f.has_min ? 2 : 1))) << f.name;
    EXPECT_EQ(t.accumulators, f.is_float ? 64 : 4);
    for (const Step& s : t.steps) {
      const int dgroup = static_cast<int>(s.k % 256 / f.dgroup);
      EXPECT_EQ(s.v, f.is_float ? s.k % 64 : dgroup % 4) << f.name;
      EXPECT_EQ(s.g, s.k / 256 * 4) << f.name;
    }
  }
}

TEST(OracleArithmetic, PoisonAndScalesThatAreNotFinite) {
  std::vector<std::uint8_t> row;
  append_q4_0_unit(row, 0x3C00);
  std::vector<float> x(32, 1.0f);
  x[9] = std::numeric_limits<float>::infinity();  // also where its code is 0
  EXPECT_EQ(bits(one_row(kQ4_0, row, x)), kNan);
  EXPECT_TRUE(trace(kQ4_0, row.data(), 32, fp32_activation(x, 1, 2), 0).poisoned);
  EXPECT_EQ(bits(one_row(kF32, f32_row(std::vector<float>(32, 0.0f)), x)), kNan);
  x[9] = 1.0f;
  put_half(row.data(), 0xFE00);
  EXPECT_EQ(bits(one_row(kQ4_0, row, x)), kNan);
  put_half(row.data(), 0xFC00);
  EXPECT_EQ(one_row(kQ4_0, row, x), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(bits(one_row(kQ4_0, row, std::vector<float>(32, 0.0f))), kNan);  // infinity times J = 0
}

TEST(OracleArithmetic, ZeroIsPositive) {
  std::vector<std::uint8_t> row;
  append_q4_0_unit(row, 0x8000);
  EXPECT_EQ(bits(one_row(kQ4_0, row, std::vector<float>(32, 1.0f))), 0u);
  EXPECT_EQ(bits(one_row(kF32, f32_row({-1.0f}), {0.0f})), 0u);
  EXPECT_EQ(bits(one_row(kF32, f32_row({-1.0f, 1.0f}), {1.0f, 1.0f})), 0u);
}

// x[0] = 1 gives e = -14 and F = 16384 * code: the power is 2^(E - 142).
TEST(OracleArithmetic, Mxfp4PowersAreCapped) {
  std::vector<std::uint8_t> row(17, 0);
  std::vector<float> x(32, 0.0f);
  x[0] = 1;
  row[1] = 0x01;
  const struct {
    std::uint8_t exponent;
    float y;
  } cases[] = {{232, std::ldexp(1.0f, 104)},  // power 2^90, the largest
               {233, std::numeric_limits<float>::infinity()},
               {255, std::numeric_limits<float>::infinity()},
               {16, std::ldexp(1.0f, -112)},  // power 2^-126, the smallest
               {15, 0.0f},
               {0, 0.0f}};
  for (const auto& c : cases) {
    row[0] = c.exponent;
    EXPECT_EQ(bits(one_row(kMxfp4, row, x)), bits(c.y)) << int{c.exponent};
  }
  row[0] = 233;
  row[1] = 0x00;
  EXPECT_EQ(bits(one_row(kMxfp4, row, x)), kNan);  // 0 times infinity, read literally
}

// 1 + w[32] is a tie and stays 1, but w[16] and w[48] meet first and reach it as 2^-23.
TEST(OracleArithmetic, SixtyFourAccumulatorsFoldByHalves) {
  std::vector<float> w(64, 0.0f);
  w[0] = 1;
  w[32] = w[16] = w[48] = kTiny;
  EXPECT_EQ(one_row(kF32, f32_row(w), std::vector<float>(64, 1.0f)), 1 + 2 * kTiny);
  w[48] = 0;
  EXPECT_EQ(one_row(kF32, f32_row(w), std::vector<float>(64, 1.0f)), 1.0f);
}

// (1 + 2^-23)(1 + 2^-22) = 1 + 3 * 2^-23 + 2^-45: rounded before it meets -(1 + 3 * 2^-23), it leaves nothing.
TEST(OracleArithmetic, F32ProductsAreRoundedBeforeTheyAreAdded) {
  std::vector<float> w(128, 0.0f);
  std::vector<float> x(128, 0.0f);
  w[0] = -(1 + 6 * kTiny);
  x[0] = 1;
  w[64] = 1 + 2 * kTiny;
  x[64] = 1 + 4 * kTiny;
  EXPECT_EQ(bits(one_row(kF32, f32_row(w), x)), 0u);
}

TEST(OracleArithmetic, FloatWeightsOutsideTheirRange) {
  const std::vector<float> one(2, 1.0f);
  EXPECT_EQ(one_row(kF32, f32_row({std::ldexp(1.0f, -63), 0}), one), std::ldexp(1.0f, -63));
  EXPECT_EQ(one_row(kF32, f32_row({std::nextafter(std::ldexp(1.0f, -63), 0.0f), 0}), one), 0.0f);
  EXPECT_EQ(one_row(kF32, f32_row({-std::ldexp(1.0f, 63), 0}), one), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(one_row(kF32, f32_row({std::nextafter(std::ldexp(1.0f, 63), 0.0f), 0}), one),
            std::nextafter(std::ldexp(1.0f, 63), 0.0f));
}

// With a 1 in the super-block the e of x16 is -14 and that of x24 is -22: F16 keeps multiples of 2^-12 of x.
TEST(OracleArithmetic, FloatWeightsRoundXByTheirOwnExponent) {
  const std::uint16_t half[2] = {0x3C00, 0x3C00};
  const std::uint16_t brain[2] = {0x3F80, 0x3F80};
  const std::vector<float> single = {1.0f, 1.0f};
  const std::vector<float> x = {1.0f, std::ldexp(1.0f, -12) + std::ldexp(1.0f, -15)};
  const struct {
    int id;
    const void* w;
    int e;
    float y;
  } cases[] = {{1, half, -12, 1 + std::ldexp(1.0f, -12)},
               {30, brain, -14, 1 + std::ldexp(1.0f, -12)},  // half a unit: to the even 4
               {0, single.data(), -22, 1 + std::ldexp(1.0f, -12) + std::ldexp(1.0f, -15)}};
  for (const auto& c : cases) {
    for (int planes = 1; planes <= 3; ++planes) {
      const Trace t = trace(c.id, static_cast<const std::uint8_t*>(c.w), 2, fp32_activation(x, 1, planes), 0);
      EXPECT_EQ(t.e[0], c.e);
      EXPECT_EQ(t.y, c.y) << c.id;
    }
  }
  const Activation low = fp32_activation({std::ldexp(1.0f, -50), 0.0f}, 1, 2);
  EXPECT_EQ(trace(30, reinterpret_cast<const std::uint8_t*>(brain), 2, low, 0).e[0], -40);
}

// Codes, sub-scales and planes at their ends: the low plane is -128 where the code is positive and 127 where it
// is not, the high planes 127 and -126. Beyond what is reached, the largest sub-scale times the largest code at
// every element of a d-group, met by planes of -128, must fit too.
TEST(OracleArithmetic, EverySumFitsThirtyTwoBits) {
  std::mt19937 rng(9);
  for (int i = 0; i < kFormatCount; ++i) {
    const Facts& f = all_facts()[i];
    if (f.is_float) continue;
    std::int64_t largest = 0;
    std::int64_t code = 0;
    std::int64_t scale = 0;
    for (int fill = 0; fill < 600; ++fill) {
      std::vector<std::uint8_t> row(static_cast<std::size_t>(row_bytes(f.id, 256)), static_cast<std::uint8_t>(fill));
      if (fill >= 256) row = random_row(f.id, 256, rng);
      for (int want = 0; want < 3; ++want) {  // signs as the weights', all plus, all minus
        std::vector<float> x(256);
        for (std::int64_t k = 0; k < 256; ++k) {
          const Element w = element(f.id, row.data(), k);
          code = std::max<std::int64_t>(code, std::abs(w.code));
          scale = std::max<std::int64_t>({scale, std::abs(w.sub_scale), w.sub_min});
          const bool plus = want == 0 ? w.code * w.sub_scale > 0 : want == 1;
          x[static_cast<std::size_t>(k)] = plus ? 32384.0f : -32129.0f;
        }
        const Trace t = trace(f.id, row.data(), 256, fp32_activation(x, 1, 2), 0);
        ASSERT_EQ(t.e[0], 0);
        EXPECT_TRUE(t.sums.fits) << f.name;
        largest = std::max(largest, t.sums.largest);
      }
    }
    const std::int64_t worst = code * scale * f.dgroup * 128;
    EXPECT_LE(largest, worst) << f.name;
    EXPECT_LT(worst, std::int64_t{1} << 31) << f.name;
    RecordProperty(f.name, std::to_string(largest));
  }
}

TEST(OracleArithmetic, GemvAgreesWithItsTracesAndKeepsToItsRows) {
  std::mt19937 rng(4);
  for (int i = 0; i < kFormatCount; ++i) {
    const Facts& f = all_facts()[i];
    const std::int64_t cols = f.block_elements == 256 ? 768 : 640;
    const auto w = random_row(f.id, 5 * cols, rng);
    const std::int64_t stride = row_bytes(f.id, cols);
    for (int planes = 1; planes <= 3; ++planes) {
      const Activation x = fp32_activation(gaussian_x(3 * cols, rng), 3, planes);
      std::vector<float> y(15, -7.0f);
      EXPECT_TRUE(gemv(f.id, w.data(), 5, cols, x, y.data(), 1, 4).fits);
      for (int token = 0; token < 3; ++token) {
        for (int row = 0; row < 5; ++row) {
          const float got = y[static_cast<std::size_t>(token * 5 + row)];
          if (row == 0 || row == 4) {
            EXPECT_EQ(got, -7.0f);
          } else {
            EXPECT_EQ(bits(got), bits(trace(f.id, w.data() + row * stride, cols, x, token).y)) << f.name;
          }
        }
      }
    }
  }
}

// The integer sums against the definition spelt out group by group.
TEST(OracleArithmetic, SumsAreThoseOfTheGroups) {
  std::mt19937 rng(8);
  for (int i = 0; i < kFormatCount; ++i) {
    const Facts& f = all_facts()[i];
    if (f.is_float) continue;
    const auto row = random_row(f.id, 256, rng);
    const Activation x = fp32_activation(gaussian_x(256, rng), 1, 2);
    const Trace t = trace(f.id, row.data(), 256, x, 0);
    for (int first = 0; first < 256; first += f.dgroup) {
      for (int p = 0; p < 2; ++p) {
        std::int64_t J = 0;
        std::int64_t M = 0;
        for (int group = first; group < first + f.dgroup; group += f.group) {
          std::int64_t products = 0;
          std::int64_t sum = 0;
          for (int k = group; k < group + f.group; ++k) {
            const std::int64_t plane = x.planes[static_cast<std::size_t>(256 * p + k)];
            products += element(f.id, row.data(), k).code * plane;
            sum += plane;
          }
          const Element shared = element(f.id, row.data(), group);
          J += shared.sub_scale * products;
          M += shared.sub_min * sum;
        }
        const auto at = static_cast<std::size_t>(first / f.dgroup * 2 + p);
        EXPECT_EQ(t.J[at], J) << f.name;
        if (f.has_min) {
          EXPECT_EQ(t.M[at], M) << f.name;
        }
      }
    }
  }
}

TEST(OracleArithmetic, RefusesWhatIsNotARow) {
  const Activation x = fp32_activation(std::vector<float>(40, 1.0f), 1, 2);
  const std::vector<std::uint8_t> row(256, 0);
  float y = -7;
  EXPECT_FALSE(gemv(kQ4_1, row.data(), 1, 40, x, &y).fits);
  EXPECT_FALSE(gemv(9, row.data(), 1, 40, x, &y).fits);
  EXPECT_FALSE(gemv(kQ4_1, row.data(), 1, 32, x, &y).fits);
  EXPECT_EQ(y, -7.0f);
}

}  // namespace
}  // namespace lanewise::oracle::testing
