// The bounds that a decode file gives for its codes and sub-scales, which kernels size their sums by: held by
// everything a block can store, and reached.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>

#include "formats/block.h"
#include "kernels/support.h"

namespace lanewise::test {
namespace {

struct Bounds {
  int least, most, scale;
  bool raw;
};

Bounds stated(Format format) {
#define LW_BOUNDS_HALF(NAME)  \
  if (format == Format::NAME) \
    return {LW_##NAME##_MIN_CODE, LW_##NAME##_MAX_CODE, LW_##NAME##_MAX_SC, LW_##NAME##_RAW_CODES != 0};
#define LW_BOUNDS_EXP(NAME) LW_BOUNDS_HALF(NAME)
#define LW_BOUNDS_FLOAT(NAME)
#define LW_FORMAT(name, NAME, id, elements, bytes, group, dgroup, bits, kind, min, grid) LW_BOUNDS_##kind(NAME)
#include "formats/formats.def"
#undef LW_FORMAT
  ADD_FAILURE() << "no bounds";
  return {};
}

// Bit i of `value` to the i-th set bit of `mask`.
lw_u32 deposit(std::uint64_t value, lw_u32 mask) {
  lw_u32 out = 0;
  for (; mask != 0; mask &= mask - 1, value >>= 1) {
    if ((value & 1) != 0) out |= mask & (~mask + 1);
  }
  return out;
}

struct Seen {
  int least = 1000, most = -1000;
  void add(lw_u32 quad) {
    for (lw_u32 i = 0; i < 4; ++i) {
      least = std::min(least, static_cast<int>(quad_code(quad, i)));
      most = std::max(most, static_cast<int>(quad_code(quad, i)));
    }
  }
};

class Constants : public testing::TestWithParam<FormatInfo> {};

// All that a quad's parts can hold where that is at most 16 bits (every grid among it), else every value in each byte,
// the others alike, inverted, or random.
TEST_P(Constants, BoundEveryCode) {
  const Bounds bounds = stated(GetParam().format);
  std::mt19937_64 random(GetParam().id);
  with_quantised(GetParam(), [&]<class T>(T) {
    Seen seen;
    bool raw = true;
    for (lw_u32 q = 0; q < T::info.block_elements / 4; ++q) {
      std::array<lw_u32, 3> masks{};
      int width = 0;
      for (lw_u32 i = 0; i < T::quad_parts; ++i) {
        masks[i] = T::quad_part(q, i).mask;
        width += std::popcount(masks[i]);
      }
      const auto look = [&](std::uint64_t stored) {
        std::array<lw_u32, 3> p{};
        for (std::size_t i = 0; i < 3; ++i) {
          p[i] = deposit(stored, masks[i]);
          stored >>= std::popcount(masks[i]);
        }
        const lw_u32 codes = T::quad(q, p[0], p[1], p[2]);
        seen.add(codes);
        // RAW_CODES says that a quad is what is stored, plus the least code in each byte.
        const auto least = static_cast<lw_u32>(bounds.least & 255) * 0x01010101u;
        raw = raw && T::quad_parts == 1 && codes == lw_bytes_add(p[0], least);
      };
      if (width <= 16) {
        for (std::uint64_t stored = 0; stored < 1ull << width; ++stored) look(stored);
        continue;
      }
      for (std::uint64_t byte = 0; byte < 256; ++byte) {
        for (int at = 0; at < width; at += 8) {
          look(byte * 0x0101010101010101u);
          look(byte << at);
          look(~(byte << at));
          look((random() & ~(0xFFull << at)) | byte << at);
        }
      }
    }
    EXPECT_GE(seen.least, bounds.least);
    EXPECT_LE(seen.most, bounds.most);
    EXPECT_EQ(seen.least, bounds.least) << "the bound is looser than the codes";
    EXPECT_EQ(seen.most, bounds.most) << "the bound is looser than the codes";
    EXPECT_TRUE(raw || !bounds.raw) << "RAW_CODES, but the codes are not what is stored";
  });
}

// The same through the loader of blocks, on random bytes.
TEST_P(Constants, BoundRandomBlocks) {
  const Bounds bounds = stated(GetParam().format);
  std::mt19937_64 random(GetParam().id);
  with_quantised(GetParam(), [&]<class T>(T) {
    Bytes bytes(T::info.block_bytes);
    const Block<T> block{bytes.data()};
    for (int trial = 0; trial < 2000; ++trial) {
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
      Seen seen;
      for (lw_u32 q = 0; q < T::info.block_elements / 4; ++q) seen.add(block.quad(q));
      ASSERT_GE(seen.least, bounds.least);
      ASSERT_LE(seen.most, bounds.most);
      for (lw_u32 g = 0; g < T::info.block_elements / T::info.group; ++g) {
        ASSERT_LE(std::abs(block.sub_scale(g)), bounds.scale);
      }
    }
  });
}

TEST_P(Constants, BoundEverySubScale) {
  const Bounds bounds = stated(GetParam().format);
  with_quantised(GetParam(), [&]<class T>(T) {
    int most = 0;
    for (lw_u32 g = 0; g < T::info.block_elements / T::info.group; ++g) {
      int width = 0;
      for (lw_u32 i = 0; i < T::sc_parts; ++i) width += std::popcount(T::sc_part(g, i).mask);
      ASSERT_LE(width, 8);
      // Stored and read back, so that the parts' places count too.
      Bytes bytes(T::info.block_bytes, 0);
      for (lw_u32 raw = 0; raw < 1u << width; ++raw) {
        write_field(
            bytes.data(), T::sc_parts, [g](lw_u32 i) { return T::sc_part(g, i); }, raw);
        most = std::max(most, std::abs(Block<T>{bytes.data()}.sub_scale(g)));
      }
    }
    EXPECT_EQ(most, bounds.scale);
  });
}

// What the kernels' 32-bit sums rest on: codes times sub-scales times one plane (at most 128 each), over a d-group.
TEST_P(Constants, KeepSumsInside32Bits) {
  const FormatInfo& info = GetParam();
  const Bounds bounds = stated(info.format);
  const std::int64_t magnitude = std::max(-bounds.least, bounds.most);
  EXPECT_LT(std::int64_t{info.dgroup} * magnitude * bounds.scale * 128, std::int64_t{1} << 31);
}

INSTANTIATE_TEST_SUITE_P(AllFormats, Constants, testing::ValuesIn(quantised_formats()), test_name);

}  // namespace
}  // namespace lanewise::test
