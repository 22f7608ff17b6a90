// What the tests of this folder share: random blocks with special scales in them, and messages that show the block at
// fault.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "formats/block.h"
#include "formats/formats.h"
#include "parameters.h"

namespace lanewise::test {

/// What two doubles that are the same number have in common; 0 of a NaN.
inline std::uint64_t bits(double value) { return value != value ? 0 : std::bit_cast<std::uint64_t>(value); }

using Random = std::mt19937_64;

// Zeros, the ends of the subnormals and normals, ones, infinities, signalling and quiet NaNs.
inline constexpr std::array<lw_u32, 16> special_halves = {0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400,
                                                          0x8400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00,
                                                          0xFC00, 0x7C01, 0xFE01, 0x7FFF};
inline constexpr std::array<lw_u32, 12> special_bytes = {0x00, 0x01, 0x02, 0x07, 0x08, 0x38,
                                                         0x7E, 0x7F, 0x80, 0xFE, 0xFF, 0x81};

inline Bytes random_bytes(std::size_t count, Random& random) {
  Bytes bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// Overwrites scales (and mins) of a block with special ones, three in four of them.
template <class T>
void plant_special_scales(std::uint8_t* block, Random& random) {
  const auto pick = [&random] {
    const bool is_byte = T::info.kind == FormatKind::EXP || T::info.format == Format::NVFP4;
    return is_byte ? special_bytes[random() % special_bytes.size()] : special_halves[random() % special_halves.size()];
  };
  for (lw_u32 g = 0; g < T::info.block_elements / T::info.dgroup; ++g) {
    if (random() % 4 != 0)
      write_field(
          block, T::d_parts, [g](lw_u32 i) { return T::d_part(g, i); }, pick());
    if (random() % 4 != 0)
      write_field(
          block, T::m_parts, [g](lw_u32 i) { return T::m_part(g, i); }, pick());
  }
}

// Random blocks, special scales in every second one; of a float format, special values among the random ones.
inline Bytes random_blocks(const FormatInfo& info, std::size_t count, Random& random) {
  Bytes bytes = random_bytes(count * info.block_bytes, random);
  with_format(info.format, [&]<class T>(T) {
    if constexpr (!T::info.is_float()) {
      for (std::size_t b = 0; b < count; b += 2)
        plant_special_scales<T>(bytes.data() + b * T::info.block_bytes, random);
    }
  });
  return bytes;
}

inline std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

inline std::vector<float> dequantized(const FormatInfo& info, const Bytes& bytes) {
  const std::size_t elements = bytes.size() / info.block_bytes * info.block_elements;
  std::vector<float> values(elements);
  dequantize_row(info.format, bytes.data(), elements, values.data());
  return values;
}

// Compares bits; says where the first difference lies and prints its block.
inline testing::AssertionResult same_bits(const FormatInfo& info, const Bytes& bytes, std::span<const float> got,
                                          std::span<const float> wanted) {
  if (got.size() != wanted.size()) return testing::AssertionFailure() << got.size() << " values, not " << wanted.size();
  for (std::size_t k = 0; k < got.size(); ++k) {
    const auto mine = std::bit_cast<std::uint32_t>(got[k]);
    const auto theirs = std::bit_cast<std::uint32_t>(wanted[k]);
    if (mine == theirs) continue;
    const std::size_t block = k / info.block_elements;
    return testing::AssertionFailure() << info.name << " block " << block << " element " << k % info.block_elements
                                       << ": 0x" << std::hex << mine << ", not 0x" << theirs << "; block "
                                       << hex(std::span(bytes).subspan(block * info.block_bytes, info.block_bytes));
  }
  return testing::AssertionSuccess();
}

}  // namespace lanewise::test
