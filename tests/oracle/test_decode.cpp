#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "support.h"

namespace lanewise::oracle::testing {
namespace {

TEST(OracleFacts, ListIsCompleteAndConsistent) {
  int floats = 0;
  int last = -1;
  for (int i = 0; i < kFormatCount; ++i) {
    const Facts& f = all_facts()[i];
    EXPECT_GT(f.id, last);
    last = f.id;
    EXPECT_EQ(facts(f.id), &f);
    EXPECT_EQ(f.block_elements % f.dgroup, 0) << f.name;
    EXPECT_EQ(f.dgroup % f.group, 0) << f.name;
    floats += f.is_float ? 1 : 0;
  }
  EXPECT_EQ(floats, 3);
  for (int removed : {-1, 4, 5, 9, 15, 24, 28, 31, 33, 36, 38, 43}) EXPECT_EQ(facts(removed), nullptr);
  EXPECT_EQ(row_bytes(12, 512), 288);
  EXPECT_EQ(row_bytes(12, 384), -1);
  EXPECT_EQ(row_bytes(2, 96), 54);
  EXPECT_EQ(row_bytes(2, 0), -1);
}

TEST(OracleNumbers, HalvesRoundTripAndKnownValues) {
  EXPECT_EQ(fp16_value(0x3C00), 1.0);
  EXPECT_EQ(fp16_value(0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(fp16_value(0xFBFF), -65504.0);
  EXPECT_EQ(bf16_value(0x3F80), 1.0);
  for (unsigned h = 0; h < 65536; ++h) {
    const auto half = static_cast<std::uint16_t>(h);
    const double value = fp16_value(half);
    const std::uint16_t back = round_to_fp16(round_to_fp32(value));
    EXPECT_EQ(back, std::isnan(value) ? 0x7E00 : half);
    const double wide = bf16_value(half);
    EXPECT_EQ(round_to_bf16(round_to_fp32(wide)), std::isnan(wide) ? 0x7FC0 : half);
  }
}

TEST(OracleNumbers, NarrowingRoundsTiesToEven) {
  EXPECT_EQ(round_to_fp16(65519.996f), 0x7BFF);  // below half way from 65504 to the absent 65536
  EXPECT_EQ(round_to_fp16(65520.0f), 0x7C00);
  EXPECT_EQ(round_to_fp16(-65520.0f), 0xFC00);
  EXPECT_EQ(round_to_fp16(std::ldexp(1.0f, -25)), 0x0000);  // half the smallest: to even, zero
  EXPECT_EQ(round_to_fp16(std::ldexp(1.5f, -25)), 0x0001);
  EXPECT_EQ(round_to_fp16(std::ldexp(3.0f, -25)), 0x0002);
  EXPECT_EQ(round_to_fp16(1.0f + std::ldexp(1.0f, -11)), 0x3C00);
  EXPECT_EQ(round_to_fp16(1.0f + std::ldexp(3.0f, -11)), 0x3C02);
  EXPECT_EQ(round_to_bf16(1.0f + std::ldexp(1.0f, -8)), 0x3F80);
  EXPECT_EQ(round_to_bf16(1.0f + std::ldexp(3.0f, -8)), 0x3F82);
  EXPECT_EQ(round_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(round_to_bf16(std::ldexp(1.0f, -133)), 0x0001);  // the smallest subnormal is kept
}

TEST(OracleNumbers, NarrowingToFp32AgreesWithTheHardware) {
  std::mt19937_64 rng(7);
  for (int i = 0; i < 200000; ++i) {
    // Exponents from below the smallest subnormal to above the largest number.
    const auto exponent = static_cast<std::uint64_t>(1023 - 160 + static_cast<int>(rng() % 300));
    std::uint64_t fraction = rng() & ((std::uint64_t{1} << 52) - 1);
    if (i % 3 == 0) fraction &= ~std::uint64_t{0} << 28;  // ties and near ties
    const auto value = std::bit_cast<double>((rng() & std::uint64_t{1} << 63) | exponent << 52 | fraction);
    ASSERT_EQ(bits(round_to_fp32(value)), bits(static_cast<float>(value))) << value;
  }
}

// Byte i of the codes is i | (15 - i) << 4: element i < 16 has q = i, element 16 + i has q = 15 - i.
TEST(OracleDecode, Q4_0ByHand) {
  std::uint8_t block[18];
  put_half(block, 0x3800);  // 0.5
  for (int i = 0; i < 16; ++i) block[2 + i] = static_cast<std::uint8_t>(i | (15 - i) << 4);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(element(2, block, i).code, i - 8);
    EXPECT_EQ(element(2, block, 16 + i).code, 7 - i);
    EXPECT_EQ(dequantized(2, block, i), 0.5f * static_cast<float>(i - 8));
  }
}

// Group 5 of Q4_K: scale = low nibble of byte 9 with the two top bits of byte 1; min = high nibble of byte 9
// with the two top bits of byte 5.
TEST(OracleDecode, Q4_KSubScalesByHand) {
  std::uint8_t block[144] = {};
  put_half(block, 0x3C00);
  put_half(block + 2, 0x4000);  // dmin = 2
  block[4 + 9] = 0xA3;
  block[4 + 1] = 0x80;            // 10 above 0011: 35
  block[4 + 5] = 0x40;            // 01 above 1010: 26
  block[16 + 2 * 32 + 7] = 0xC0;  // elements 128 + 7 (low) and 160 + 7 (high)
  const Element x = element(12, block, 167);
  EXPECT_EQ(x.code, 12);
  EXPECT_EQ(x.sub_scale, 35);
  EXPECT_EQ(x.sub_min, 26);
  EXPECT_EQ(x.m, -2.0);
  EXPECT_EQ(weight(12, block, 167), 35 * 12 - 52);
}

// The exact sum needs 40 bits; fp32 keeps 24 of them.
TEST(OracleDecode, MinimumIsAddedWithOneRounding) {
  std::uint8_t block[20] = {};
  put_half(block, 0x0001);      // d = 2^-24
  put_half(block + 2, 0x7BFF);  // m = 65504
  block[4] = 0x0F;
  EXPECT_EQ(weight(3, block, 0), 65504 + 15 * std::ldexp(1.0, -24));
  EXPECT_EQ(dequantized(3, block, 0), 65504.0f);
}

TEST(OracleDecode, Q2_0AndQ1_0ByHand) {
  std::uint8_t block[18] = {};
  put_half(block, 0x3C00);
  block[2] = 0xE4;  // 3 2 1 0 from the top: q = 0, 1, 2, 3
  for (int j = 0; j < 4; ++j) EXPECT_EQ(element(42, block, j).code, j - 1);
  EXPECT_EQ(element(42, block, 63).code, -1);
  EXPECT_EQ(element(41, block, 2).code, 1);
  EXPECT_EQ(element(41, block, 0).code, -1);
  EXPECT_EQ(element(41, block, 7).code, 1);
}

TEST(OracleDecode, Mxfp4ExponentEnds) {
  std::uint8_t block[17] = {};
  block[1] = 0x71;  // element 0: code 1, element 16: code 12
  block[0] = 0;
  EXPECT_EQ(bits(dequantized(39, block, 0)), 0x00200000u);   // 2^-128, a subnormal
  EXPECT_EQ(bits(dequantized(39, block, 16)), 0x01400000u);  // 12 * 2^-128 = 1.5 * 2^-125
  block[0] = 1;
  EXPECT_EQ(bits(dequantized(39, block, 0)), 0x00400000u);  // 2^-127
  block[0] = 255;
  EXPECT_EQ(bits(dequantized(39, block, 0)), 0x7F000000u);  // 2^127
  EXPECT_EQ(bits(dequantized(39, block, 16)), 0x7F800000u);
  block[1] = 0x99;
  EXPECT_EQ(dequantized(39, block, 0), -std::ldexp(1.0f, 127));
  EXPECT_EQ(element(39, block, 1).code, 0);
}

TEST(OracleDecode, Nvfp4ScaleBytes) {
  std::uint8_t block[36] = {};
  const struct {
    std::uint8_t byte;
    double d;
  } cases[] = {{0x00, 0},       {0x7F, 0},           {0xFF, 240},    {0x80, 0},   {0x7E, 224},
               {0x01, 0x1p-10}, {0x07, 7 * 0x1p-10}, {0x08, 0x1p-7}, {0x38, 0.5}, {0xB8, 0.5}};
  for (const auto& c : cases) {
    block[2] = c.byte;
    EXPECT_EQ(element(40, block, 32).d, c.d) << int{c.byte};
    EXPECT_EQ(element(40, block, 47).d, c.d) << int{c.byte};
  }
  block[4 + 8 * 2 + 3] = 0x5A;  // elements 32 + 3 (low nibble) and 32 + 11
  EXPECT_EQ(element(40, block, 35).code, -2);
  EXPECT_EQ(element(40, block, 43).code, 6);
}

TEST(OracleDecode, NanScalesGiveOneNan) {
  std::uint8_t block[18] = {};
  put_half(block, 0xFE01);
  EXPECT_EQ(bits(dequantized(2, block, 0)), kNan);
  put_half(block, 0x7C00);  // infinity times the code 0
  block[2] = 0x08;
  EXPECT_EQ(bits(dequantized(2, block, 0)), kNan);
  const std::uint8_t signalling[4] = {1, 0, 0x80, 0xFF};
  EXPECT_EQ(bits(dequantized(0, signalling, 0)), kNan);
}

TEST(OracleDecode, CodesFitInt8AndARowAgreesWithItsElements) {
  std::mt19937 rng(3);
  for (int i = 0; i < kFormatCount; ++i) {
    const Facts& f = all_facts()[i];
    const std::int64_t cols = 1024;
    const auto row = random_row(f.id, cols, rng);
    std::vector<float> out(cols);
    dequantize_row(f.id, row.data(), cols, out.data());
    for (std::int64_t k = 0; k < cols; ++k) {
      const Element x = element(f.id, row.data(), k);
      EXPECT_TRUE(x.code >= -128 && x.code <= 127) << f.name;
      EXPECT_EQ(bits(out[static_cast<std::size_t>(k)]), bits(dequantized(f.id, row.data(), k))) << f.name;
    }
  }
}

// The seven-bit sign index and its parity bit, in IQ2_XXS: index 0x01 (one minus sign among seven) makes the
// eighth value negative too.
TEST(OracleDecode, Iq2XxsSignsByParity) {
  std::uint8_t block[66] = {};
  put_half(block, 0x4800);  // 8, so d = 1
  block[2 + 4] = 0x01;
  block[2 + 7] = 0x30;  // scale 3: sc = 7
  EXPECT_EQ(element(16, block, 0).sub_scale, 7);
  EXPECT_EQ(element(16, block, 0).code, -8);  // grid entry 0 is eight eights
  EXPECT_EQ(element(16, block, 1).code, 8);
  EXPECT_EQ(element(16, block, 7).code, -8);
  EXPECT_EQ(weight(16, block, 7), -56);
}

}  // namespace
}  // namespace lanewise::oracle::testing
