// What the grid formats' decode files are written with to decode a run of 8, 16 or 32 elements at once, beside the
// quads of primitives.h: look-ups of many bytes in small tables, from whole words of the block. For backends with wide
// vectors (LW_RUNS, see primitives.h); C++20 only, since the tables are worked out from the grids at compile time.
//
// A run of 8 is two quads. In a run of 16 or 32, word k holds element k of each of four quads, or of four eights, in
// byte j that of the j-th: a look-up by the four indices of a word gives just such bytes.
//
// Codes of runs are unsigned: the format's code plus LW_RUN_BIAS.
#ifndef LANEWISE_FORMATS_RUNS_H
#define LANEWISE_FORMATS_RUNS_H

#include <cstddef>
#include <cstdint>

#include "primitives.h"

#define LW_RUN_BIAS 64u

namespace lanewise {

struct LwRun8 {
  static constexpr int words = 2;
  lw_word word[2];
};
struct LwRun16 {
  static constexpr int words = 4;
  lw_word word[4];
};
struct LwRun32 {
  static constexpr int words = 8;
  lw_word word[8];
};

template <std::size_t N>
struct alignas(64) LwBytes {
  std::uint8_t byte[N];
};
template <std::size_t N>
struct alignas(64) LwWords {
  std::uint32_t word[N];
};
/// table.byte[i] = value(i).
template <std::size_t N, class Value>
constexpr LwBytes<N> lw_make_bytes(Value value) {
  LwBytes<N> table{};
  for (lw_u32 i = 0; i < N; ++i) table.byte[i] = static_cast<std::uint8_t>(value(i));
  return table;
}
template <std::size_t N, class Value>
constexpr LwWords<N> lw_make_words(Value value) {
  LwWords<N> table{};
  for (lw_u32 i = 0; i < N; ++i) table.word[i] = value(i);
  return table;
}
/// The largest sum of the values in `Words` words of a grid of bytes.
template <int Words, std::size_t N>
constexpr int lw_most_of_grid(const lw_u32 (&grid)[N]) {
  int most = 0;
  for (std::size_t i = 0; i < N; i += Words) {
    int sum = 0;
    for (std::size_t w = i; w < i + Words; ++w) {
      for (lw_u32 j = 0; j < 4; ++j) sum += static_cast<int>(grid[w] >> (8 * j) & 255u);
    }
    most = sum > most ? sum : most;
  }
  return most;
}

// Byte i of a word, alone.
#ifndef LW_HAVE_BYTE_OF
LW_FN lw_word lw_byte_of(lw_word word, lw_u32 i) { return (word >> (8u * i)) & 255u; }
#endif

// Each byte's low six bits looked up in 64 bytes.
#ifndef LW_HAVE_LOOK_UP64
LW_FN lw_word lw_look_up64(const std::uint8_t (&table)[64], lw_word n) {
  lw_word out = 0;
  for (lw_u32 i = 0; i < 4; ++i) out |= lw_word{table[(n >> (8u * i)) & 63u]} << (8u * i);
  return out;
}
#endif

// Each byte looked up in 256 bytes.
#ifndef LW_HAVE_LOOK_UP256
LW_FN lw_word lw_look_up256(const std::uint8_t (&table)[256], lw_word n) {
  lw_word out = 0;
  for (lw_u32 i = 0; i < 4; ++i) out |= lw_word{table[(n >> (8u * i)) & 255u]} << (8u * i);
  return out;
}
#endif

// Each byte looked up in 512 bytes, bit `at` + i of `ninths` being the ninth bit of byte i's index.
#ifndef LW_HAVE_LOOK_UP512
LW_FN lw_word lw_look_up512(const std::uint8_t (&table)[512], lw_word n, lw_word ninths, lw_u32 at) {
  lw_word out = 0;
  for (lw_u32 i = 0; i < 4; ++i) {
    out |= lw_word{table[((n >> (8u * i)) & 255u) | (((ninths >> (at + i)) & 1u) << 8u)]} << (8u * i);
  }
  return out;
}
#endif

// Of each byte, the sign index (lw_sign_index) in its upper seven bits to its eight signs.
#ifndef LW_HAVE_BYTES_SIGN_INDEX
LW_FN lw_word lw_bytes_sign_index(lw_word bytes) {
  lw_word out = 0;
  for (lw_u32 i = 0; i < 4; ++i) out |= lw_sign_index((bytes >> (8u * i + 1u)) & 127u) << (8u * i);
  return out;
}
#endif

// Four sign indices of seven bits each, lowest first, to the signs of four eights, one a byte.
#ifndef LW_HAVE_FOUR_SIGN_INDICES
LW_FN lw_word lw_four_sign_indices(lw_word word) {
  lw_word out = 0;
  for (lw_u32 i = 0; i < 4; ++i) out |= lw_sign_index((word >> (7u * i)) & 127u) << (8u * i);
  return out;
}
#endif

// Eight signs, from bit `at` of `signs` on, put beside the bits of `bytes`: those of elements i and 4 + i to bits 1 and
// 5 of byte i, which are clear.
#ifndef LW_HAVE_PUT_SIGNS
LW_FN lw_word lw_put_signs(lw_word bytes, lw_word signs, lw_u32 at) {
  lw_word eight = signs >> at;
  return bytes | (lw_spread_bits(eight) << 1u) | (lw_spread_bits(eight >> 4u) << 5u);
}
#endif

// Bit `at` of `word` put into bit `to`, which is clear, of every byte.
#ifndef LW_HAVE_PUT_BIT
LW_FN lw_word lw_put_bit(lw_word bytes, lw_word word, lw_u32 at, lw_u32 to) {
  return bytes | (((word >> at) & 1u) * (0x01010101u << to));
}
#endif

// Nibble 4 * half + j of a word in the low four bits of byte j; what stands above them is left open.
#ifndef LW_HAVE_NIBBLES_APART
LW_FN lw_word lw_nibbles_apart(lw_word word, lw_u32 half) {
  lw_word out = 0;
  for (lw_u32 j = 0; j < 4; ++j) out |= ((word >> (16u * half + 4u * j)) & 15u) << (8u * j);
  return out;
}
#endif

// Of each byte, the bits `mask` of `bytes`, and bits `first` and `first` + 1 of `bits` in places `low` and `high`.
#ifndef LW_HAVE_PUT_BITS
LW_FN lw_word lw_put_bits(lw_word bytes, lw_u32 mask, lw_word bits, lw_u32 first, lw_u32 low, lw_u32 high) {
  return (bytes & (mask * 0x01010101u)) | (((bits >> first) & 0x01010101u) << low) |
         (((bits >> (first + 1u)) & 0x01010101u) << high);
}
#endif

}  // namespace lanewise

#endif  // LANEWISE_FORMATS_RUNS_H
