// The runs of the grid formats against their quads, and the primitives of runs.h against plain loops.
#include "formats/runs.h"

#include <algorithm>

#include "formats/support.h"

namespace lanewise::test {
namespace {

// What a decode file offers for runs, under one set of names.
template <Format F>
struct Runs {
  static constexpr bool offered = false;
};
#define LW_RUNS_OF_0(name, NAME)
#define LW_RUNS_OF_1(name, NAME)                                                                           \
  template <>                                                                                              \
  struct Runs<Format::NAME> {                                                                              \
    static constexpr bool offered = true;                                                                  \
    static constexpr lw_u32 elements = LW_##NAME##_RUN, parts = LW_##NAME##_RUN_PARTS;                     \
    static constexpr int most_of_eight = LW_##NAME##_RUN_MOST;                                             \
    static constexpr LwPart part(lw_u32 run, lw_u32 i) { return name##_run_part(run, i); }                 \
    static constexpr auto codes(lw_u32 run, const lw_u32* p) { return name##_run(run, p[0], p[1], p[2]); } \
  };
#define LW_FORMAT(name, NAME, id, elements, bytes, group, dgroup, bits, kind, min, grid) LW_RUNS_OF_##grid(name, NAME)
#include "formats/formats.def"
#undef LW_FORMAT

std::vector<FormatInfo> grid_formats() {
  std::vector<FormatInfo> chosen;
  for (const FormatInfo& info : formats()) {
    if (info.has_grid) chosen.push_back(info);
  }
  return chosen;
}

int byte_of(lw_u32 word, lw_u32 i) { return static_cast<int>(word >> (8 * i) & 255u); }

// The codes of a block by its runs, in the order of the elements.
template <class T>
std::vector<int> codes_by_runs(const std::uint8_t* block) {
  using R = Runs<T::info.format>;
  std::vector<int> codes(T::info.block_elements);
  for (lw_u32 run = 0; run < T::info.block_elements / R::elements; ++run) {
    lw_u32 p[3] = {0, 0, 0};
    for (lw_u32 i = 0; i < R::parts; ++i) p[i] = read_part(block, R::part(run, i));
    const auto decoded = R::codes(run, p);
    static_assert(decoded.words * 4 == R::elements);
    for (lw_u32 w = 0; w < R::elements / 4; ++w) {
      for (lw_u32 j = 0; j < 4; ++j) {
        const lw_u32 element = R::elements == 8 ? 4 * w + j : R::elements / 4 * j + w;
        codes[run * R::elements + element] = byte_of(decoded.word[w], j) - static_cast<int>(LW_RUN_BIAS);
      }
    }
  }
  return codes;
}

template <class T>
std::vector<int> codes_by_quads(const std::uint8_t* block) {
  std::vector<int> codes(T::info.block_elements);
  for (lw_u32 k = 0; k < T::info.block_elements; ++k) codes[k] = quad_code(Block<T>{block}.quad(k / 4), k % 4);
  return codes;
}

class GridFormat : public testing::TestWithParam<FormatInfo> {
 protected:
  template <class Visitor>
  void with_runs(Visitor visitor) {
    with_quantised(GetParam(), [&]<class T>(T traits) {
      if constexpr (Runs<T::info.format>::offered) {
        visitor(traits);
      } else {
        FAIL() << "a grid format offers runs";
      }
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, GridFormat, testing::ValuesIn(grid_formats()), test_name);

TEST_P(GridFormat, RunsAreItsQuads) {
  with_runs([]<class T>(T) {
    Random random(61);
    for (int trial = 0; trial < 2000; ++trial) {
      const Bytes block = random_bytes(T::info.block_bytes, random);
      ASSERT_EQ(codes_by_runs<T>(block.data()), codes_by_quads<T>(block.data())) << hex(block);
    }
  });
}

// The entry is what all parts of a quad but the last, its signs or shift, hold.
TEST_P(GridFormat, EveryEntryInEveryPlace) {
  with_runs([]<class T>(T) {
    Random random(62);
    Bytes block = random_bytes(T::info.block_bytes, random);
    int width = 0;
    for (lw_u32 i = 0; i + 1 < T::quad_parts; ++i) width += std::popcount(T::quad_part(0, i).mask);
    for (lw_u32 entry = 0; entry < 1u << width; ++entry) {
      for (lw_u32 quad = 0; quad < T::info.block_elements / 4; ++quad) {
        write_field(
            block.data(), T::quad_parts - 1, [quad](lw_u32 i) { return T::quad_part(quad, i); }, entry + quad / 2);
      }
      ASSERT_EQ(codes_by_runs<T>(block.data()), codes_by_quads<T>(block.data())) << entry;
    }
  });
}

TEST_P(GridFormat, PartsOfRunsAreWholeWordsInsideTheBlock) {
  with_runs([]<class T>(T) {
    using R = Runs<T::info.format>;
    for (lw_u32 run = 0; run < T::info.block_elements / R::elements; ++run) {
      for (lw_u32 i = 0; i < R::parts; ++i) {
        const LwPart part = R::part(run, i);
        EXPECT_EQ(part.mask, 0xFFFFFFFFu);
        EXPECT_EQ(part.shift, 0u);
        EXPECT_EQ(part.byte % 4, T::quad_part(0, 0).byte % 4);
        EXPECT_LE(part.byte + 4, T::info.block_bytes);
      }
    }
  });
}

// What the kernels' bound on sums rests on.
TEST_P(GridFormat, NoEightIsLargerThanItSays) {
  with_runs([]<class T>(T) {
    Random random(63);
    int most = 0;
    for (int trial = 0; trial < 5000; ++trial) {
      const Bytes block = random_bytes(T::info.block_bytes, random);
      const std::vector<int> codes = codes_by_quads<T>(block.data());
      for (std::size_t k = 0; k < codes.size(); k += 8) {
        int sum = 0;
        for (std::size_t i = k; i < k + 8; ++i) sum += std::abs(codes[i]);
        most = std::max(most, sum);
      }
    }
    EXPECT_LE(most, Runs<T::info.format>::most_of_eight);
    EXPECT_GT(most, Runs<T::info.format>::most_of_eight * 3 / 4);
  });
}

TEST(RunPrimitives, AgainstPlainLoops) {
  Random random(64);
  LwBytes<512> table;
  for (std::uint8_t& byte : table.byte) byte = static_cast<std::uint8_t>(random());
  std::uint8_t t64[64];
  std::uint8_t t256[256];
  std::copy_n(table.byte, 64, t64);
  std::copy_n(table.byte, 256, t256);
  for (int trial = 0; trial < 20000; ++trial) {
    const auto a = static_cast<lw_u32>(random());
    const auto b = static_cast<lw_u32>(random());
    for (lw_u32 i = 0; i < 4; ++i) {
      const auto index = static_cast<std::size_t>(byte_of(a, i));
      ASSERT_EQ(lw_byte_of(a, i), index);
      ASSERT_EQ(byte_of(lw_look_up64(t64, a), i), table.byte[index % 64]);
      ASSERT_EQ(byte_of(lw_look_up256(t256, a), i), table.byte[index]);
      for (lw_u32 at = 0; at < 32; at += 4) {
        ASSERT_EQ(byte_of(lw_look_up512(table.byte, a, b, at), i), table.byte[index + (b >> (at + i) & 1u) * 256]);
      }
      ASSERT_EQ(byte_of(lw_bytes_sign_index(a), i), static_cast<int>(lw_sign_index(static_cast<lw_u32>(index) >> 1u)));
      ASSERT_EQ(byte_of(lw_four_sign_indices(a), i), static_cast<int>(lw_sign_index(a >> (7 * i) & 127u)));
      for (lw_u32 half = 0; half < 2; ++half) {
        ASSERT_EQ(byte_of(lw_nibbles_apart(a, half), i) & 15, static_cast<int>(a >> (4 * (4 * half + i)) & 15u));
      }
      const lw_u32 clear = a & 0xDDDDDDDDu;
      for (lw_u32 at = 0; at < 32; at += 8) {
        const lw_u32 signs = (b >> (at + i) & 1u) << 1 | (b >> (at + i + 4) & 1u) << 5;
        ASSERT_EQ(byte_of(lw_put_signs(clear, b, at), i), byte_of(clear, i) | static_cast<int>(signs));
      }
      for (lw_u32 at = 0; at < 32; ++at) {
        const lw_u32 bit = (b >> at & 1u) << 2;
        ASSERT_EQ(byte_of(lw_put_bit(a & 0xFBFBFBFBu, b, at, 2u), i),
                  byte_of(a & 0xFBFBFBFBu, i) | static_cast<int>(bit));
      }
      for (lw_u32 first = 0; first < 8; first += 2) {
        const int bits = byte_of(b, i) >> first;
        ASSERT_EQ(byte_of(lw_put_bits(a, 15u, b, first, 4u, 5u), i),
                  (byte_of(a, i) & 15) | (bits & 1) << 4 | (bits >> 1 & 1) << 5);
        ASSERT_EQ(byte_of(lw_put_bits(a, 0x77u, b, first, 3u, 7u), i),
                  (byte_of(a, i) & 0x77) | (bits & 1) << 3 | (bits >> 1 & 1) << 7);
      }
    }
    ASSERT_EQ(lw_shift_to(a, 5, 3), a >> 2u);
    ASSERT_EQ(lw_shift_to(a, 3, 8), a << 5u);
  }
}

}  // namespace
}  // namespace lanewise::test
