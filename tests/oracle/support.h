// Rows, activations and bit comparisons that the oracle's tests share.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "oracle/oracle.h"

namespace lanewise::oracle::testing {

inline std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
inline constexpr std::uint32_t kNan = 0x7FC00000;

inline Activation fp32_activation(const std::vector<float>& x, std::int64_t tokens, int planes) {
  return activate(x.data(), Input::fp32, tokens, static_cast<std::int64_t>(x.size()) / tokens, planes);
}

inline void put_half(std::uint8_t* at, std::uint16_t half) {
  at[0] = static_cast<std::uint8_t>(half & 255);
  at[1] = static_cast<std::uint8_t>(half >> 8);
}

// A Q4_0 block whose element 0 has code +1 and all others code 0, so that it contributes d * x[0].
inline void append_q4_0_unit(std::vector<std::uint8_t>& row, std::uint16_t d) {
  std::uint8_t block[18] = {};
  put_half(block, d);
  for (int i = 2; i < 18; ++i) block[i] = 0x88;
  block[2] = 0x89;
  row.insert(row.end(), block, block + 18);
}

// Where the fp16 fields of a block lie.
inline std::initializer_list<int> half_offsets(int id) {
  static constexpr std::initializer_list<int> kAt0 = {0}, kAt0And2 = {0, 2}, kQ2K = {80, 82}, kQ3K = {108},
                                              kQ6K = {208}, kTq1 = {52}, kTq2 = {64}, kNone = {};
  switch (id) {
    case 3:
    case 7:
    case 12:
    case 13:
      return kAt0And2;
    case 10:
      return kQ2K;
    case 11:
      return kQ3K;
    case 14:
      return kQ6K;
    case 34:
      return kTq1;
    case 35:
      return kTq2;
    case 0:
    case 1:
    case 29:
    case 30:
    case 39:
    case 40:
      return kNone;
    default:
      return kAt0;
  }
}

// A row of random codes and sub-scales whose float scales are ordinary numbers. Float weights are Gaussian.
inline std::vector<std::uint8_t> random_row(int id, std::int64_t cols, std::mt19937& rng) {
  const Facts& f = *facts(id);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(row_bytes(id, cols)));
  for (auto& byte : row) byte = static_cast<std::uint8_t>(rng());
  const std::int64_t blocks = cols / f.block_elements;
  std::normal_distribution<float> gaussian(0.0f, 0.05f);
  for (std::int64_t i = 0; i < blocks; ++i) {
    std::uint8_t* block = row.data() + i * f.block_bytes;
    for (int at : half_offsets(id)) put_half(block + at, static_cast<std::uint16_t>(0x2000 + (rng() & 0x0BFF)));
    const float w = gaussian(rng);
    if (id == 0) {
      for (int b = 0; b < 4; ++b) block[b] = static_cast<std::uint8_t>(bits(w) >> (8 * b));
    } else if (id == 1) {
      put_half(block, round_to_fp16(w));
    } else if (id == 30) {
      put_half(block, round_to_bf16(w));
    } else if (id == 39) {
      block[0] = static_cast<std::uint8_t>(115 + rng() % 8);
    } else if (id == 40) {
      for (int s = 0; s < 4; ++s) block[s] = static_cast<std::uint8_t>(0x20 + rng() % 32);
    } else if (id == 29) {
      const unsigned half = 0x2000 + (rng() & 0x0BFF);
      for (unsigned word = 0; word < 4; ++word) {
        std::uint8_t& top = block[49 + 2 * word];
        top = static_cast<std::uint8_t>((top & 15u) | (half >> (4 * word) & 15u) << 4);
      }
    }
  }
  return row;
}

inline std::vector<float> gaussian_x(std::int64_t count, std::mt19937& rng) {
  std::normal_distribution<float> gaussian;
  std::vector<float> x(static_cast<std::size_t>(count));
  for (auto& value : x) value = gaussian(rng);
  return x;
}

}  // namespace lanewise::oracle::testing
