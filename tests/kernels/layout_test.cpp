// The layouts: nothing lost, nothing added, every byte where layout/rows16.h says, whoever packs and however it is
// split.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "backends/cpu/cpu.h"
#include "backends/cpu/rows16.h"
#include "kernels/support.h"
#include "layout/layout.h"
#include "layout/rows16.h"

namespace lanewise {
#define LW_ROWS16(target, name, NAME) extern const Rows16Kernels rows16_##target##_##name;
#include "backends/cpu/rows16_units.inc"
#undef LW_ROWS16
}  // namespace lanewise

namespace lanewise::test {
namespace {

constexpr std::uint8_t untouched = 0xA5;

Bytes random_rows(const FormatInfo& info, std::uint64_t rows, std::uint64_t cols) {
  std::mt19937_64 random(info.id * 1'000'003 + rows * 1009 + cols);
  Bytes bytes(rows * row_bytes(info, cols));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

MatrixView view_of(const FormatInfo& info, std::uint64_t rows, std::uint64_t cols, const Bytes& bytes) {
  return {info.format, rows, cols, bytes.data()};
}

Bytes packed(Layout layout, const MatrixView& raw) {
  Bytes out(packed_bytes(layout, raw), untouched);
  pack_matrix(layout, raw, 0, pack_units(layout, raw.rows), out.data());
  return out;
}

// Where byte `at` of row `row` lies in rows16, from the words of layout/rows16.h alone.
std::uint64_t place_in_rows16(const FormatInfo& info, std::uint64_t cols, std::uint64_t row, std::uint64_t at) {
  const std::uint64_t size = info.block_bytes;
  const std::uint64_t beside = size % 4;
  const std::uint64_t lead = rows16_lead(info.format);
  const std::uint64_t block = at / size;
  const std::uint64_t byte = at % size;
  const std::uint64_t blocks = cols / info.block_elements;
  const std::uint64_t lane = row % 16;
  const std::uint64_t start = row / 16 * 16 * row_bytes(info, cols);
  const std::uint64_t words = size / 4;
  // A run: one super-block, or two where 16 rows' bytes beside the words of one aren't whole lines of 64.
  const std::uint64_t in_super_block = 256 / info.block_elements;
  const std::uint64_t run = in_super_block * (in_super_block * beside * 16 % 64 == 0 ? 1 : 2);
  std::uint64_t run_at = 0;
  std::uint64_t first = 0;
  for (; first + run <= block; first += run) run_at += run * size * 16;
  const std::uint64_t held = std::min(run, blocks - first);
  if (byte >= lead && byte < lead + words * 4) {
    const std::uint64_t word = (byte - lead) / 4;
    return start + run_at + (((block - first) * words + word) * 16 + lane) * 4 + (byte - lead) % 4;
  }
  const std::uint64_t side = byte < lead ? byte : byte - words * 4;
  return start + run_at + held * words * 64 + ((block - first) * 16 + lane) * beside + side;
}

class Layouts : public testing::TestWithParam<FormatInfo> {};

TEST_P(Layouts, GiveBackEveryRow) {
  const FormatInfo& info = GetParam();
  for (const Layout layout : {Layout::raw, Layout::rows16}) {
    for (const std::uint64_t cols : widths_of(info)) {
      for (std::uint64_t rows = 1; rows <= 33; ++rows) {
        const Bytes raw = random_rows(info, rows, cols);
        const MatrixView view = view_of(info, rows, cols, raw);
        const Bytes there = packed(layout, view);
        Bytes back(raw.size(), untouched);
        unpack_matrix(layout, {info.format, rows, cols, nullptr}, there.data(), 0, pack_units(layout, rows),
                      back.data());
        ASSERT_TRUE(back == raw) << layout_name(layout) << " " << cols << "x" << rows;
      }
    }
  }
}

TEST_P(Layouts, MoveEveryByteToItsPlace) {
  const FormatInfo& info = GetParam();
  const std::uint32_t lead = rows16_lead(info.format);
  ASSERT_TRUE(lead == 0 || lead == info.block_bytes % 4) << lead;
  for (const std::uint64_t cols : widths_of(info)) {
    for (const std::uint64_t rows : {1u, 5u, 15u, 16u, 17u, 33u}) {
      const Bytes raw = random_rows(info, rows, cols);
      const Bytes there = packed(Layout::rows16, view_of(info, rows, cols, raw));
      const std::uint64_t stride = row_bytes(info, cols);
      ASSERT_EQ(there.size(), (rows + 15) / 16 * 16 * stride);
      // Every byte of the packed matrix is a byte of a row, or a zero of a row past the last.
      Bytes expected(there.size(), untouched);
      std::vector<bool> taken(there.size(), false);
      for (std::uint64_t r = 0; r < (rows + 15) / 16 * 16; ++r) {
        for (std::uint64_t b = 0; b < stride; ++b) {
          const std::uint64_t place = place_in_rows16(info, cols, r, b);
          ASSERT_LT(place, there.size());
          ASSERT_FALSE(taken[place]) << "two bytes at " << place;
          taken[place] = true;
          expected[place] = r < rows ? raw[r * stride + b] : std::uint8_t{0};
        }
      }
      ASSERT_TRUE(there == expected) << cols << "x" << rows;
      std::array<std::uint64_t, 256> count{};
      for (const std::uint8_t byte : raw) ++count[byte];
      count[0] += there.size() - raw.size();
      for (const std::uint8_t byte : there) --count[byte];
      ASSERT_EQ(count, (std::array<std::uint64_t, 256>{})) << cols << "x" << rows;
    }
  }
}

TEST_P(Layouts, ArePackedTheSameInAnySplit) {
  const FormatInfo& info = GetParam();
  std::mt19937_64 random(info.id);
  for (const Layout layout : {Layout::raw, Layout::rows16}) {
    const std::uint64_t cols = widths_of(info)[info.id % 3];
    for (const std::uint64_t rows : {1u, 16u, 47u, 100u}) {
      const Bytes raw = random_rows(info, rows, cols);
      const MatrixView view = view_of(info, rows, cols, raw);
      const std::uint64_t units = pack_units(layout, rows);
      ASSERT_EQ(units, layout == Layout::raw ? rows : (rows + 15) / 16);
      const Bytes whole = packed(layout, view);
      const std::uint64_t unit_bytes = whole.size() / units;
      // One by one, last first: each writes its own bytes and no other.
      Bytes single(whole.size(), untouched);
      for (std::uint64_t u = units; u-- > 0;) {
        pack_matrix(layout, view, u, u + 1, single.data());
        ASSERT_TRUE(std::all_of(single.begin(), single.begin() + static_cast<std::ptrdiff_t>(u * unit_bytes),
                                [](std::uint8_t byte) { return byte == untouched; }));
      }
      ASSERT_TRUE(single == whole) << layout_name(layout) << " " << cols << "x" << rows;
      for (int trial = 0; trial < 5; ++trial) {
        Bytes parts(whole.size(), untouched);
        Bytes back(raw.size(), untouched);
        for (std::uint64_t begin = 0; begin < units;) {
          const std::uint64_t end = std::min(units, begin + random() % 4);  // none at times
          pack_matrix(layout, view, begin, end, parts.data());
          unpack_matrix(layout, view, whole.data(), begin, end, back.data());
          begin = end;
        }
        ASSERT_TRUE(parts == whole) << layout_name(layout) << " " << cols << "x" << rows;
        ASSERT_TRUE(back == raw) << layout_name(layout) << " " << cols << "x" << rows;
      }
    }
  }
}

// Each target packs a tile with its own instructions, which the kernels on raw rows rest on.
struct TargetPack {
  std::string_view target;
  std::uint32_t needs;
  Format format;
  Rows16Pack pack;
};
std::vector<TargetPack> target_packs() {
  // What a target needs: that of the kernel of its name.
  [[maybe_unused]] const auto needs = [](std::string_view target) {
    for (const KernelDesc& kernel : cpu_kernels()) {
      if (kernel.name == target) return kernel.needs;
    }
    ADD_FAILURE() << "no kernel is called " << target;
    return ~0u;
  };
  return {
#define LW_ROWS16(target, name, NAME) TargetPack{#target, needs(#target), Format::NAME, rows16_##target##_##name.pack},
#include "backends/cpu/rows16_units.inc"
#undef LW_ROWS16
  };
}

TEST_P(Layouts, ArePackedTheSameByEveryTarget) {
  const FormatInfo& info = GetParam();
  const std::uint32_t capabilities = cpu_capabilities();
  int run = 0;
  for (const TargetPack& each : target_packs()) {
    if (each.format != info.format || (each.needs & ~capabilities) != 0) continue;
    ++run;
    for (const std::uint64_t cols : widths_of(info)) {
      const Bytes raw = random_rows(info, 16, cols);
      const MatrixView view = view_of(info, 16, cols, raw);
      const Bytes expected = packed(Layout::rows16, view);
      std::array<const std::uint8_t*, 16> rows{};
      for (std::uint64_t r = 0; r < 16; ++r) rows[r] = view.row(r);
      Bytes tile(expected.size() + 64, untouched);
      each.pack(rows.data(), cols, tile.data());
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), tile.begin())) << each.target << " K " << cols;
      ASSERT_TRUE(std::all_of(tile.end() - 64, tile.end(), [](std::uint8_t byte) { return byte == untouched; }))
          << each.target << " writes past the tile, K " << cols;
      // A row may stand more than once.
      const Bytes few(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(5 * view.row_bytes()));
      Bytes repeated = few;
      for (std::uint64_t r = 5; r < 16; ++r)
        repeated.insert(repeated.end(), view.row(4), view.row(4) + view.row_bytes());
      for (std::uint64_t r = 5; r < 16; ++r) rows[r] = view.row(4);
      each.pack(rows.data(), cols, tile.data());
      const Bytes again = packed(Layout::rows16, view_of(info, 16, cols, repeated));
      ASSERT_TRUE(std::equal(again.begin(), again.end(), tile.begin())) << each.target << " K " << cols;
    }
  }
  if (run == 0) GTEST_SKIP() << "this processor or build has none of the targets";
}

// What the library calls: whole tiles by the best target, the rest by the portable text.
TEST_P(Layouts, ArePackedTheSameByTheBackend) {
  const FormatInfo& info = GetParam();
  const std::uint32_t here = cpu_capabilities();
  for (const Layout layout : {Layout::raw, Layout::rows16}) {
    for (const std::uint64_t rows : {1u, 15u, 16u, 33u, 80u}) {
      const std::uint64_t cols = widths_of(info)[rows % widths_of(info).size()];
      const Bytes raw = random_rows(info, rows, cols);
      const MatrixView view = view_of(info, rows, cols, raw);
      const Bytes expected = packed(layout, view);
      const std::uint64_t units = pack_units(layout, rows);
      for (const std::uint32_t capabilities : {here, here & ~std::uint32_t{CAP_AVX512}, std::uint32_t{CAP_NONE}}) {
        Bytes out(expected.size(), untouched);
        for (const auto& [begin, end] : {std::pair<std::uint64_t, std::uint64_t>{0, units / 2}, {units / 2, units}}) {
          cpu_pack(capabilities, layout, view, begin, end, out.data());
        }
        ASSERT_TRUE(out == expected) << layout_name(layout) << " " << cols << "x" << rows << " " << capabilities;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllFormats, Layouts, testing::ValuesIn(quantised_formats()), test_name);

TEST(LayoutsOfFloats, AreRawOnly) {
  for (const FormatInfo& info : formats()) {
    EXPECT_TRUE(has_layout(Layout::raw, info)) << info.name;
    EXPECT_EQ(has_layout(Layout::rows16, info), !info.is_float()) << info.name;
  }
}

TEST(LayoutsOfNothing, TakeNothing) {
  for (const Layout layout : {Layout::raw, Layout::rows16}) {
    EXPECT_EQ(pack_units(layout, 0), 0u);
    EXPECT_EQ(packed_bytes(layout, {Format::Q4_K, 0, 256, nullptr}), 0u);
  }
}

}  // namespace
}  // namespace lanewise::test
