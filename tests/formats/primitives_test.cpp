// The primitives against plain loops: exhaustively where the domain is small, by structure and random words otherwise.
#include "formats/primitives.h"

#include <cmath>
#include <limits>

#include "formats/support.h"

namespace lanewise::test {
namespace {

int signed_byte(lw_u32 word, int i) { return static_cast<std::int8_t>(word >> (8 * i)); }

lw_u32 word_of(const std::array<int, 4>& bytes) {
  lw_u32 word = 0;
  for (int i = 0; i < 4; ++i) word |= static_cast<lw_u32>(bytes[static_cast<std::size_t>(i)] & 255) << (8 * i);
  return word;
}

// Calls use(word) for words that hold every byte value in every lane, beside 0, 255 and random neighbours.
template <class Use>
void for_words(Use use) {
  Random random(21);
  for (lw_u32 value = 0; value < 256; ++value) {
    for (int lane = 0; lane < 4; ++lane) {
      const lw_u32 lane_mask = 255u << (8 * lane);
      for (const lw_u32 rest : {0u, 0xFFFFFFFFu, static_cast<lw_u32>(random())}) {
        use((rest & ~lane_mask) | (value << (8 * lane)));
      }
    }
  }
}

TEST(Primitives, BytesAdd) {
  for (lw_u32 a = 0; a < 256; ++a) {
    for (lw_u32 b = 0; b < 256; ++b) {
      const lw_u32 x = a * 0x01010101u ^ 0x00FF00FFu;
      const lw_u32 y = b * 0x01010101u ^ 0x0000FFFFu;
      std::array<int, 4> sum{};
      for (int i = 0; i < 4; ++i) sum[static_cast<std::size_t>(i)] = signed_byte(x, i) + signed_byte(y, i);
      ASSERT_EQ(lw_bytes_add(x, y), word_of(sum)) << std::hex << x << " " << y;
    }
  }
}

TEST(Primitives, SpreadBitsIgnoresHigherBits) {
  for (lw_u32 bits = 0; bits < 256; ++bits) {
    std::array<int, 4> wanted{};
    for (int i = 0; i < 4; ++i) wanted[static_cast<std::size_t>(i)] = static_cast<int>(bits >> i & 1);
    ASSERT_EQ(lw_spread_bits(bits), word_of(wanted));
    ASSERT_EQ(lw_spread_bits(bits | 0xFFFFFF00u), word_of(wanted));
  }
}

TEST(Primitives, SpreadCrumbsOfAByte) {
  for (lw_u32 byte = 0; byte < 256; ++byte) {
    std::array<int, 4> wanted{};
    for (int i = 0; i < 4; ++i) wanted[static_cast<std::size_t>(i)] = static_cast<int>(byte >> (2 * i) & 3);
    ASSERT_EQ(lw_spread_crumbs(byte), word_of(wanted)) << byte;
  }
}

TEST(Primitives, TritsOfEveryByteInEveryLane) {
  constexpr std::array<unsigned, 5> power = {1, 3, 9, 27, 81};
  for_words([&](lw_u32 word) {
    for (lw_u32 place = 0; place < 5; ++place) {
      std::array<int, 4> wanted{};
      for (int i = 0; i < 4; ++i) {
        const unsigned shifted = (word >> (8 * i) & 255u) * power[place] & 255u;
        wanted[static_cast<std::size_t>(i)] = static_cast<int>(shifted * 3 / 256);
      }
      ASSERT_EQ(lw_trits(word, place), word_of(wanted)) << std::hex << word << " place " << place;
    }
  });
}

TEST(Primitives, SignIndexMakesTheNumberOfSignsEven) {
  for (lw_u32 index = 0; index < 128; ++index) {
    const lw_u32 signs = lw_sign_index(index);
    EXPECT_EQ(signs & 127u, index);
    EXPECT_EQ(std::popcount(signs) % 2, 0);
    EXPECT_LT(signs, 256u);
  }
}

TEST(Primitives, NegateEveryByteUnderEverySign) {
  for_words([](lw_u32 word) {
    for (lw_u32 signs = 0; signs < 32; ++signs) {
      std::array<int, 4> wanted{};
      for (int i = 0; i < 4; ++i) {
        const int value = signed_byte(word, i);
        wanted[static_cast<std::size_t>(i)] = (signs >> i & 1) != 0 ? -value : value;
      }
      ASSERT_EQ(lw_negate(word, signs), word_of(wanted)) << std::hex << word << " signs " << signs;
    }
  });
}

TEST(Primitives, Table16OfEveryIndexInEveryLane) {
  Random random(22);
  std::array<lw_u32, 4> table{};
  for (int trial = 0; trial < 16; ++trial) {
    for (lw_u32& word : table) word = static_cast<lw_u32>(random());
    for (lw_u32 n = 0; n < 65536; ++n) {
      const lw_u32 word = (n & 15u) | (n & 0xF0u) << 4 | (n & 0xF00u) << 8 | (n & 0xF000u) << 12;
      std::array<int, 4> wanted{};
      for (int i = 0; i < 4; ++i) {
        const lw_u32 at = word >> (8 * i) & 15u;
        wanted[static_cast<std::size_t>(i)] = static_cast<int>(table[at / 4] >> (8 * (at % 4)) & 255u);
      }
      ASSERT_EQ(lw_table16(word, table[0], table[1], table[2], table[3]), word_of(wanted));
    }
  }
}

TEST(Primitives, HalfToFloatOfEveryHalf) {
  for (lw_u32 half = 0; half < 65536; ++half) {
    const int exponent = static_cast<int>(half >> 10 & 31);
    const int mantissa = static_cast<int>(half & 0x3FF);
    double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) magnitude = std::numeric_limits<double>::infinity();
    auto wanted = std::bit_cast<lw_u32>(static_cast<float>((half & 0x8000u) != 0 ? -magnitude : magnitude));
    if (exponent == 31 && mantissa != 0) wanted = 0x7FC00000u;
    ASSERT_EQ(std::bit_cast<lw_u32>(lw_half_to_float(half)), wanted) << std::hex << half;
  }
}

TEST(Primitives, Ue4m3OfEveryByte) {
  for (lw_u32 byte = 0; byte < 256; ++byte) {
    const int exponent = static_cast<int>(byte >> 3 & 15);
    const int mantissa = static_cast<int>(byte & 7);
    const double value = exponent == 0 ? std::ldexp(mantissa, -10) : std::ldexp(8 + mantissa, exponent - 11);
    const auto wanted = static_cast<float>(byte == 0x7F ? 0.0 : value);
    ASSERT_EQ(std::bit_cast<lw_u32>(lw_ue4m3_halved(byte)), std::bit_cast<lw_u32>(wanted)) << std::hex << byte;
  }
  EXPECT_EQ(lw_ue4m3_halved(0xFF), 240.0F);
}

TEST(Primitives, CodeTimesPowerOfEveryCodeAndExponent) {
  for (int code = -128; code < 128; ++code) {
    for (int exponent = -128; exponent < 128; ++exponent) {
      const auto wanted = static_cast<float>(std::ldexp(code, exponent));
      ASSERT_EQ(std::bit_cast<lw_u32>(lw_code_times_power(code, exponent)), std::bit_cast<lw_u32>(wanted))
          << code << " " << exponent;
    }
  }
}

TEST(Primitives, SignExtend8) {
  for (lw_u32 byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(lw_sign_extend8(byte), static_cast<std::int8_t>(byte));
    EXPECT_EQ(lw_sign_extend8(byte | 0xABCDEF00u), static_cast<std::int8_t>(byte));
  }
}

TEST(Primitives, Dot4AtTheExtremesAndAtRandom) {
  Random random(23);
  const auto check = [](lw_u32 a, lw_u32 b, lw_i32 sum) {
    int wanted = sum;
    for (int i = 0; i < 4; ++i) wanted += signed_byte(a, i) * signed_byte(b, i);
    ASSERT_EQ(lw_dot4(a, b, sum), wanted) << std::hex << a << " " << b;
  };
  for (const lw_u32 a : {0u, 0x80808080u, 0x7F7F7F7Fu, 0xFFFFFFFFu, 0x807F01FFu}) {
    for (const lw_u32 b : {0u, 0x80808080u, 0x7F7F7F7Fu, 0xFFFFFFFFu, 0x01FF807Fu}) check(a, b, -7);
  }
  for (int trial = 0; trial < 100000; ++trial) {
    check(static_cast<lw_u32>(random()), static_cast<lw_u32>(random()), static_cast<lw_i32>(random() % 2000) - 1000);
  }
}

}  // namespace
}  // namespace lanewise::test
