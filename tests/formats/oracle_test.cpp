// Every format against the independent oracle, bit for bit: values, and the codes, sub-scales, mins and scales behind
// them.
#include "oracle/oracle.h"

#include "formats/support.h"

namespace lanewise::test {
namespace {

class Oracle : public testing::TestWithParam<FormatInfo> {};
INSTANTIATE_TEST_SUITE_P(Formats, Oracle, testing::ValuesIn(formats().begin(), formats().end()), test_name);

int id_of(const FormatInfo& info) { return static_cast<int>(info.id); }

std::vector<float> by_oracle(const FormatInfo& info, const Bytes& bytes) {
  std::vector<float> values(bytes.size() / info.block_bytes * info.block_elements);
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = oracle::dequantized(id_of(info), bytes.data(), static_cast<std::int64_t>(k));
  }
  return values;
}

// One d-group's scale as a number, by the decode file.
template <class T>
double scale_of(lw_u32 raw) {
  if constexpr (T::info.kind == FormatKind::EXP) {
    return std::ldexp(1.0, T::exponent(raw));
  } else {
    return static_cast<double>(T::d(raw));
  }
}

template <class T>
void compare_elements(const Bytes& bytes) {
  const std::size_t count = bytes.size() / T::info.block_bytes;
  for (std::size_t b = 0; b < count; ++b) {
    const Block<T> block{bytes.data() + b * T::info.block_bytes};
    for (lw_u32 k = 0; k < T::info.block_elements; ++k) {
      const oracle::Element element = oracle::element(id_of(T::info), block.bytes, k);
      const lw_u32 group = k / T::info.group;
      const lw_u32 dgroup = k / T::info.dgroup;
      const auto where = [&] {
        return testing::Message() << T::info.name << " element " << k << " of "
                                  << hex({block.bytes, T::info.block_bytes});
      };
      ASSERT_EQ(quad_code(block.quad(k / 4), k % 4), element.code) << where();
      ASSERT_EQ(block.sub_scale(group), element.sub_scale) << where();
      ASSERT_EQ(bits(scale_of<T>(block.scale_bits(dgroup))), bits(element.d)) << where();
      if constexpr (T::info.has_min) {
        ASSERT_EQ(block.sub_min(group), element.sub_min) << where();
        ASSERT_EQ(bits(static_cast<double>(T::m(block.min_bits(dgroup)))), bits(element.m)) << where();
      }
    }
  }
}

// More than a million elements of every format, special scales in half the blocks.
TEST_P(Oracle, RandomBlocks) {
  const FormatInfo& info = GetParam();
  Random random(31 + info.id);
  const std::size_t count = (std::size_t{1} << 20) / info.block_elements + 1;
  const Bytes bytes = random_blocks(info, count, random);
  EXPECT_TRUE(same_bits(info, bytes, dequantized(info, bytes), by_oracle(info, bytes)));
}

TEST_P(Oracle, RandomElements) {
  with_format(GetParam().format, [&]<class T>(T) {
    if constexpr (!T::info.is_float()) {
      Random random(32 + T::info.id);
      compare_elements<T>(random_blocks(T::info, 65536 / T::info.block_elements, random));
    }
  });
}

// The oracle knows a row from its first byte: blocks must not lean on their neighbours or on alignment.
TEST_P(Oracle, UnalignedRows) {
  const FormatInfo& info = GetParam();
  Random random(33 + info.id);
  const Bytes blocks = random_blocks(info, 8, random);
  const std::vector<float> wanted = dequantized(info, blocks);
  for (std::size_t offset = 1; offset < 8; ++offset) {
    Bytes shifted(offset, 0xA5);
    shifted.insert(shifted.end(), blocks.begin(), blocks.end());
    std::vector<float> got(wanted.size());
    dequantize_row(info.format, shifted.data() + offset, got.size(), got.data());
    EXPECT_TRUE(same_bits(info, blocks, got, wanted)) << "at offset " << offset;
  }
}

// A row of no elements writes nothing; a row writes its elements and no more.
TEST_P(Oracle, WritesItsElementsAndNoMore) {
  const FormatInfo& info = GetParam();
  Random random(34 + info.id);
  const Bytes blocks = random_blocks(info, 2, random);
  std::vector<float> out(3 * info.block_elements, 12345.0F);
  dequantize_row(info.format, blocks.data(), 0, out.data());
  for (const float value : out) ASSERT_EQ(value, 12345.0F);
  dequantize_row(info.format, blocks.data(), 2 * info.block_elements, out.data());
  for (std::size_t k = 2 * info.block_elements; k < out.size(); ++k) ASSERT_EQ(out[k], 12345.0F);
}

}  // namespace
}  // namespace lanewise::test
