// The parts that decode files name: inside the block, together every bit of it and none twice, and readable back.
#include <bit>

#include "formats/support.h"

namespace lanewise::test {
namespace {

class Parts : public testing::TestWithParam<FormatInfo> {};
INSTANTIATE_TEST_SUITE_P(Formats, Parts, testing::ValuesIn(quantised_formats()), test_name);

// Calls use(role, index, part index, part) for every part of a block.
template <class T, class Use>
void for_each_part(Use use) {
  constexpr lw_u32 elements = T::info.block_elements;
  for (lw_u32 q = 0; q < elements / 4; ++q) {
    for (lw_u32 i = 0; i < T::quad_parts; ++i) use("quad", q, i, T::quad_part(q, i));
  }
  for (lw_u32 g = 0; g < elements / T::info.group; ++g) {
    for (lw_u32 i = 0; i < T::sc_parts; ++i) use("sc", g, i, T::sc_part(g, i));
    for (lw_u32 i = 0; i < T::mn_parts; ++i) use("mn", g, i, T::mn_part(g, i));
  }
  for (lw_u32 g = 0; g < elements / T::info.dgroup; ++g) {
    for (lw_u32 i = 0; i < T::d_parts; ++i) use("d", g, i, T::d_part(g, i));
    for (lw_u32 i = 0; i < T::m_parts; ++i) use("m", g, i, T::m_part(g, i));
  }
}

TEST_P(Parts, LieInsideTheBlock) {
  with_quantised(GetParam(), [&]<class T>(T) {
    EXPECT_GT(T::quad_parts, 0U);
    EXPECT_LE(T::quad_parts, 3U);
    EXPECT_GT(T::d_parts, 0U);
    EXPECT_EQ(T::m_parts != 0, T::info.has_min);
    for_each_part<T>([](const char* role, lw_u32 index, lw_u32 i, LwPart part) {
      SCOPED_TRACE(testing::Message() << role << " " << index << " part " << i);
      EXPECT_LE(part.byte + 4, T::info.block_bytes);
      EXPECT_LT(part.shift, 32U);
      EXPECT_LE(part.shift + static_cast<lw_u32>(std::bit_width(part.mask)), 32U);
    });
  });
}

TEST_P(Parts, CoverEveryBitAndShareNone) {
  with_quantised(GetParam(), [&]<class T>(T) {
    std::vector<std::string> owner(std::size_t{T::info.block_bytes} * 8);
    for_each_part<T>([&owner](const char* role, lw_u32 index, lw_u32, LwPart part) {
      // Quads may share a part (a grid entry gives two, a byte of trits five); every other field owns its bits.
      const std::string name = std::string(role) == "quad" ? "quad" : role + std::to_string(index);
      for (lw_u32 bit = 0; bit < 32; ++bit) {
        if (((part.mask << part.shift) >> bit & 1u) == 0) continue;
        std::string& at = owner[part.byte * 8 + bit];
        EXPECT_TRUE(at.empty() || (name == "quad" && at == "quad"))
            << "bit " << part.byte * 8 + bit << ": " << at << ", " << name;
        at = name;
      }
    });
    for (std::size_t bit = 0; bit < owner.size(); ++bit)
      EXPECT_FALSE(owner[bit].empty()) << "bit " << bit << " is in no field";
  });
}

// Bits of a field, and a block in which exactly those are set.
template <class T, class Where>
int field_mask(lw_u32 parts, Where where, Bytes& mask) {
  mask.assign(T::info.block_bytes, 0);
  int width = 0;
  for (lw_u32 i = 0; i < parts; ++i) {
    const LwPart part = where(i);
    write_part(mask.data(), part, 0xFFFFFFFFu);
    width += std::popcount(part.mask);
  }
  return width;
}

template <class T, class Where>
void round_trip(lw_u32 parts, Where where, Random& random) {
  Bytes mask;
  const int width = field_mask<T>(parts, where, mask);
  ASSERT_GT(width, 0);
  ASSERT_LE(width, 32);
  for (int trial = 0; trial < 64; ++trial) {
    const Bytes before = random_bytes(T::info.block_bytes, random);
    const lw_u32 value = static_cast<lw_u32>(random()) & (width < 32 ? (1u << width) - 1 : 0xFFFFFFFFu);
    Bytes block = before;
    write_field(block.data(), parts, where, value);
    ASSERT_EQ(read_field(block.data(), parts, where), value);
    for (std::size_t b = 0; b < block.size(); ++b) ASSERT_EQ((block[b] ^ before[b]) & ~mask[b], 0) << "byte " << b;
    write_field(block.data(), parts, where, read_field(before.data(), parts, where));
    ASSERT_EQ(block, before);
  }
}

TEST_P(Parts, WrittenFieldsReadBackAndLeaveTheRestAlone) {
  with_quantised(GetParam(), [&]<class T>(T) {
    Random random(11);
    for (lw_u32 g = 0; g < T::info.block_elements / T::info.dgroup; ++g) {
      round_trip<T>(
          T::d_parts, [g](lw_u32 i) { return T::d_part(g, i); }, random);
      if constexpr (T::m_parts != 0)
        round_trip<T>(
            T::m_parts, [g](lw_u32 i) { return T::m_part(g, i); }, random);
    }
    for (lw_u32 g = 0; g < T::info.block_elements / T::info.group; ++g) {
      if constexpr (T::sc_parts != 0)
        round_trip<T>(
            T::sc_parts, [g](lw_u32 i) { return T::sc_part(g, i); }, random);
      if constexpr (T::mn_parts != 0)
        round_trip<T>(
            T::mn_parts, [g](lw_u32 i) { return T::mn_part(g, i); }, random);
    }
  });
}

TEST_P(Parts, WrittenQuadPartsReadBackAndLeaveTheRestAlone) {
  with_quantised(GetParam(), [&]<class T>(T) {
    Random random(12);
    for (lw_u32 q = 0; q < T::info.block_elements / 4; ++q) {
      for (lw_u32 i = 0; i < T::quad_parts; ++i) {
        const LwPart part = T::quad_part(q, i);
        const Bytes before = random_bytes(T::info.block_bytes, random);
        const lw_u32 value = static_cast<lw_u32>(random()) & part.mask;
        Bytes block = before;
        Bytes mask(T::info.block_bytes, 0);
        write_part(mask.data(), part, 0xFFFFFFFFu);
        write_part(block.data(), part, value);
        ASSERT_EQ(read_part(block.data(), part), value) << "quad " << q << " part " << i;
        for (std::size_t b = 0; b < block.size(); ++b) ASSERT_EQ((block[b] ^ before[b]) & ~mask[b], 0) << "byte " << b;
      }
    }
  });
}

}  // namespace
}  // namespace lanewise::test
