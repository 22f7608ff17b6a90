// The grids hold the values that were taken from their source: FNV-1a over the values as signed bytes, entry by entry.
// The expected hashes below come from the source package, worked out apart from the tables; check_packages.py does so
// again wherever the package is installed.
#include "formats/support.h"

namespace lanewise::test {
namespace {

std::uint64_t fnv1a(const std::vector<std::int8_t>& values) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const std::int8_t value : values) hash = (hash ^ static_cast<std::uint8_t>(value)) * 0x100000001B3u;
  return hash;
}

// A table of bytes, lowest first.
template <std::size_t words>
std::vector<std::int8_t> bytes_of(const lw_u32 (&table)[words]) {
  std::vector<std::int8_t> values;
  for (const lw_u32 word : table) {
    for (int i = 0; i < 4; ++i) values.push_back(static_cast<std::int8_t>(word >> (8 * i)));
  }
  return values;
}

// The grid of IQ1: nibbles of value + 1, the first four values in the low ones.
template <std::size_t words>
std::vector<std::int8_t> nibbles_of(const lw_u32 (&table)[words]) {
  std::vector<std::int8_t> values;
  for (const lw_u32 word : table) {
    for (int i = 0; i < 8; ++i) {
      values.push_back(static_cast<std::int8_t>(static_cast<int>(word >> (8 * (i % 4) + 4 * (i / 4)) & 15u) - 1));
    }
  }
  return values;
}

struct Grid {
  const char* name;
  std::vector<std::int8_t> values;
  std::size_t entries;
  std::size_t entry_values;
  std::uint64_t hash;
};

#define GRID(name, NAME, unpack, expected) \
  Grid { #name, unpack(lw_##name##_grid), LW_##NAME##_GRID_ENTRIES, LW_##NAME##_GRID_VALUES, expected }

TEST(Grids, HoldTheirSourcesValues) {
  const Grid grids[] = {
      GRID(iq2_xxs, IQ2_XXS, bytes_of, 0xBB4EE025B5AC6E8Eu), GRID(iq2_xs, IQ2_XS, bytes_of, 0xC9B1EE61E79909BDu),
      GRID(iq2_s, IQ2_S, bytes_of, 0x123EDD38A3B62B90u),     GRID(iq3_xxs, IQ3_XXS, bytes_of, 0xDFA5DC83D6A155D5u),
      GRID(iq3_s, IQ3_S, bytes_of, 0xFA37020C25B44829u),     GRID(iq1, IQ1, nibbles_of, 0x6703ED863501AE2Eu),
  };
  for (const Grid& grid : grids) {
    EXPECT_EQ(grid.values.size(), grid.entries * grid.entry_values) << grid.name;
    EXPECT_EQ(fnv1a(grid.values), grid.hash) << grid.name;
  }
}

// What is printed beside each table is the hash expected here.
TEST(Grids, PrintedHashesAreTheExpectedOnes) {
#define PRINTED(NAME) (std::uint64_t{LW_##NAME##_GRID_HASH_HIGH} << 32 | LW_##NAME##_GRID_HASH_LOW)
  EXPECT_EQ(PRINTED(IQ2_XXS), fnv1a(bytes_of(lw_iq2_xxs_grid)));
  EXPECT_EQ(PRINTED(IQ2_XS), fnv1a(bytes_of(lw_iq2_xs_grid)));
  EXPECT_EQ(PRINTED(IQ2_S), fnv1a(bytes_of(lw_iq2_s_grid)));
  EXPECT_EQ(PRINTED(IQ3_XXS), fnv1a(bytes_of(lw_iq3_xxs_grid)));
  EXPECT_EQ(PRINTED(IQ3_S), fnv1a(bytes_of(lw_iq3_s_grid)));
  EXPECT_EQ(PRINTED(IQ1), fnv1a(nibbles_of(lw_iq1_grid)));
#undef PRINTED
}

}  // namespace
}  // namespace lanewise::test
