// The edges that docs/formats.md pins, as written there, in plain numbers.
#include <cmath>
#include <limits>

#include "formats/support.h"

namespace lanewise::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

lw_u32 bits(float value) { return std::bit_cast<lw_u32>(value); }

// The first elements of a block of the given bytes, zeros after them.
std::vector<float> decode(Format format, std::initializer_list<unsigned> leading) {
  const FormatInfo& info = format_info(format);
  Bytes block(info.block_bytes, 0);
  std::size_t at = 0;
  for (const unsigned byte : leading) block[at++] = static_cast<std::uint8_t>(byte);
  return dequantized(info, block);
}

TEST(Edges, NanScalesGiveTheOneNan) {
  for (const unsigned high : {0x7Cu, 0x7Eu, 0xFCu, 0xFFu}) {
    // Q8_0, codes 0, 1, -1.
    const std::vector<float> values = decode(Format::Q8_0, {0x01, high, 0x00, 0x01, 0xFF});
    for (const float value : values) EXPECT_EQ(bits(value), 0x7FC00000u) << high;
  }
  for (const float value : decode(Format::Q4_1, {0x00, 0x3C, 0x01, 0xFC})) EXPECT_EQ(bits(value), 0x7FC00000u) << "m";
}

TEST(Edges, InfiniteScales) {
  const std::vector<float> up = decode(Format::Q8_0, {0x00, 0x7C, 0x00, 0x01, 0xFF});
  EXPECT_EQ(bits(up[0]), 0x7FC00000u) << "infinity times 0";
  EXPECT_EQ(up[1], infinity);
  EXPECT_EQ(up[2], -infinity);
  const std::vector<float> down = decode(Format::Q8_0, {0x00, 0xFC, 0x00, 0x01, 0xFF});
  EXPECT_EQ(bits(down[0]), 0x7FC00000u);
  EXPECT_EQ(down[1], -infinity);
  EXPECT_EQ(down[2], infinity);
  // Q4_1: d = -inf, m = +inf; code 0 and code 1.
  const std::vector<float> both = decode(Format::Q4_1, {0x00, 0xFC, 0x00, 0x7C, 0x01});
  EXPECT_EQ(bits(both[0]), 0x7FC00000u) << "opposite infinities";
  EXPECT_EQ(bits(both[1]), 0x7FC00000u) << "infinity times 0, plus infinity";
  EXPECT_EQ(decode(Format::Q4_1, {0x00, 0x3C, 0x00, 0x7C, 0x01})[0], infinity) << "m alone";
}

TEST(Edges, SignsOfZero) {
  const std::vector<float> values = decode(Format::Q8_0, {0x00, 0x80, 0x00, 0x01, 0xFF});  // d = -0
  EXPECT_EQ(bits(values[0]), 0x80000000u);
  EXPECT_EQ(bits(values[1]), 0x80000000u);
  EXPECT_EQ(bits(values[2]), 0u);
  EXPECT_EQ(bits(decode(Format::Q8_0, {0x00, 0xBC, 0x00})[0]), 0x80000000u) << "-1 times 0";
  EXPECT_EQ(bits(decode(Format::Q4_1, {0x00, 0xBC, 0x00, 0x80})[0]), 0x80000000u) << "-0 plus -0";
  EXPECT_EQ(bits(decode(Format::Q4_1, {0x00, 0xBC, 0x00, 0x00})[0]), 0u) << "-0 plus +0";
}

TEST(Edges, SubnormalHalvesAreExact) {
  EXPECT_EQ(decode(Format::Q8_0, {0x01, 0x00, 0x7F})[0], std::ldexp(127.0F, -24));
  EXPECT_EQ(decode(Format::Q8_0, {0xFF, 0x83, 0x80})[0], std::ldexp(1023.0F * 128, -24));
}

TEST(Edges, StoredThreeDecodesToTwo) {
  // d at the end of a TQ2_0 block, at the start of a Q2_0 one.
  Bytes block(66, 0xFF);
  block[64] = 0x00;
  block[65] = 0x3C;
  for (const float value : dequantized(format_info(Format::TQ2_0), block)) EXPECT_EQ(value, 2.0F);
  block.assign(18, 0xFF);
  block[0] = 0x00;
  block[1] = 0x3C;
  for (const float value : dequantized(format_info(Format::Q2_0), block)) EXPECT_EQ(value, 2.0F);
}

TEST(Edges, Mxfp4Exponents) {
  // Nibbles 1 (code 1), 7 (code 12), 8 (index of the second zero), 15 (code -12).
  const auto values = [](unsigned exponent) { return decode(Format::MXFP4, {exponent, 0x01, 0x07, 0x08, 0x0F}); };
  EXPECT_EQ(bits(values(0)[0]), 0x00200000u) << "2^-128, subnormal";
  EXPECT_EQ(values(0)[1], std::ldexp(12.0F, -128));
  EXPECT_EQ(bits(values(0)[2]), 0u) << "no negative zero";
  EXPECT_EQ(values(0)[3], std::ldexp(-12.0F, -128));
  EXPECT_EQ(bits(values(1)[0]), 0x00400000u) << "2^-127, subnormal";
  EXPECT_EQ(bits(values(2)[0]), 0x00800000u) << "2^-126, the least normal";
  EXPECT_EQ(values(128)[0], 1.0F);
  EXPECT_EQ(values(255)[0], std::ldexp(1.0F, 127));
  EXPECT_EQ(values(255)[1], infinity);
  EXPECT_EQ(bits(values(255)[2]), 0u) << "no NaN";
  EXPECT_EQ(values(255)[3], -infinity);
}

TEST(Edges, Nvfp4Scales) {
  // Group 0's scale, then three others; element 0 has nibble 2 (code 2), element 1 nibble 8 (the second zero).
  const auto values = [](unsigned scale) { return decode(Format::NVFP4, {scale, 0x38, 0x38, 0x38, 0x02, 0x08}); };
  EXPECT_EQ(values(0x38)[0], 1.0F) << "1.0 halved, times 2";
  EXPECT_EQ(bits(values(0x38)[1]), 0u);
  EXPECT_EQ(bits(values(0x00)[0]), 0u);
  EXPECT_EQ(bits(values(0x80)[0]), 0u);
  EXPECT_EQ(bits(values(0x7F)[0]), 0u);
  EXPECT_EQ(values(0xFF)[0], 480.0F) << "240 times 2";
  EXPECT_EQ(values(0x7E)[0], 448.0F);
  EXPECT_EQ(values(0xFE)[0], 448.0F);
  EXPECT_EQ(values(0x01)[0], std::ldexp(1.0F, -9)) << "the least: 2^-10, times 2";
}

TEST(Edges, PlainFloats) {
  EXPECT_EQ(bits(decode(Format::F32, {0x45, 0x23, 0xC1, 0xFF})[0]), 0x7FC00000u);
  EXPECT_EQ(bits(decode(Format::F32, {0x01, 0x00, 0x00, 0x80})[0]), 0x80000001u);
  EXPECT_EQ(bits(decode(Format::F16, {0x01, 0x7C})[0]), 0x7FC00000u);
  EXPECT_EQ(bits(decode(Format::F16, {0x00, 0xFC})[0]), 0xFF800000u);
  EXPECT_EQ(bits(decode(Format::F16, {0x01, 0x80})[0]), bits(std::ldexp(-1.0F, -24)));
  EXPECT_EQ(bits(decode(Format::BF16, {0x81, 0xFF})[0]), 0x7FC00000u);
  EXPECT_EQ(bits(decode(Format::BF16, {0x01, 0x80})[0]), 0x80010000u) << "subnormal, kept";
}

}  // namespace
}  // namespace lanewise::test
