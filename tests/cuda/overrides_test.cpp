// What CUDA puts in place of a primitive, against the portable text: exhaustive where at most 16 bits count, else every
// byte in every place and random words.
#include "cuda/overrides.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "formats/primitives.h"

namespace lanewise::test {
namespace {

std::vector<std::uint32_t> samples() {
  std::vector<std::uint32_t> words;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    words.push_back(byte * 0x01010101u);
    for (std::uint32_t at = 0; at < 32; at += 8) {
      words.push_back(byte << at);
      words.push_back(~(byte << at));
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 1'000'000; ++i) words.push_back(static_cast<std::uint32_t>(random()));
  return words;
}

TEST(CudaOverrides, OfAFewBitsAreThePortableText) {
  const Overrides& o = cuda_overrides;
  for (lw_u32 i = 0; i < 128; ++i) ASSERT_EQ(o.sign_index(i), lw_sign_index(i)) << i;
  for (lw_u32 i = 0; i < 65536; ++i) {
    ASSERT_EQ(std::bit_cast<lw_u32>(o.half_to_float(i)), std::bit_cast<lw_u32>(lw_half_to_float(i))) << i;
    ASSERT_EQ(o.sign_extend8(i), lw_sign_extend8(i)) << i;
  }
  // Every four nibbles, in a table whose bytes all differ.
  constexpr lw_u32 t[4] = {0x83D2A19Fu, 0x0106F7E1u, 0x7F452B17u, 0x80FE5C3Du};
  for (lw_u32 i = 0; i < 65536; ++i) {
    const lw_u32 n = (i & 15u) | (i & 0xF0u) << 4 | (i & 0xF00u) << 8 | (i & 0xF000u) << 12;
    ASSERT_EQ(o.table16(n, t[0], t[1], t[2], t[3]), lw_table16(n, t[0], t[1], t[2], t[3])) << n;
  }
}

TEST(CudaOverrides, OfWordsAreThePortableText) {
  const Overrides& o = cuda_overrides;
  const std::vector<std::uint32_t> words = samples();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t a = words[i];
    const std::uint32_t b = words[words.size() - 1 - i];
    ASSERT_EQ(o.negate(a, b), lw_negate(a, b)) << a << " by " << b;
    ASSERT_EQ(o.dot4(a, b, static_cast<std::int32_t>(i)), lw_dot4(a, b, static_cast<std::int32_t>(i))) << a << " " << b;
  }
}

}  // namespace
}  // namespace lanewise::test
