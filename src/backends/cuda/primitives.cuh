// The primitives of formats/primitives.h in the machine's words; decode files are included after this. Each gives what
// the portable text gives, for every word (tests/cuda/overrides_test.cpp). A kernel family that keeps a format's grid
// elsewhere than in global memory defines LW_GRID(name, index) before, and a LW_DECODE_SPACE of its own; so does one
// that holds words in another form and has primitives that take it.
#pragma once

#include "backends/cuda/machine.cuh"

#ifndef LW_DECODE_SPACE
#define LW_DECODE_SPACE cuda_decode
#endif
#if !defined(__CUDACC__)
#define LW_FN [[maybe_unused]] static inline
#define LW_MEMBER_FN static
#endif

#define LW_HAVE_SIGN_EXTEND8
#define LW_HAVE_DOT4

namespace lanewise {
inline namespace LW_DECODE_SPACE {

#ifndef LW_HAVE_SIGN_INDEX
#define LW_HAVE_SIGN_INDEX
// Three operations: the count's low bit is the parity; the sum never carries, as an index has seven bits.
LW_DEVICE std::uint32_t lw_sign_index(std::uint32_t index) { return (index + (cuda::count_bits(index) << 7)) & 255u; }
#endif

#ifndef LW_HAVE_NEGATE
#define LW_HAVE_NEGATE
// The product puts bit i at the top of byte i, which the permutation spreads over the byte.
LW_DEVICE std::uint32_t lw_negate(std::uint32_t bytes, std::uint32_t signs) {
  const std::uint32_t negative = cuda::permute_signs((signs & 15u) * 0x10204080u, 0u, 0xBA98u);
  const std::uint32_t flipped = bytes ^ negative;
  return ((flipped & 0x7F7F7F7Fu) + (negative & 0x01010101u)) ^ (flipped & 0x80808080u);
}
#endif

#ifndef LW_HAVE_TABLE16
#define LW_HAVE_TABLE16
// The low and the high half of the table looked up by the low three bits, then one of both chosen by the fourth.
LW_DEVICE std::uint32_t lw_table16(std::uint32_t n, std::uint32_t t0, std::uint32_t t1, std::uint32_t t2,
                                   std::uint32_t t3) {
  const std::uint32_t nibbles = cuda::permute(n | n >> 4, 0u, 0x4420u);
  const std::uint32_t low = cuda::permute(t0, t1, nibbles & 0x7777u);
  const std::uint32_t high = cuda::permute(t2, t3, nibbles & 0x7777u);
  return cuda::permute(low, high, 0x3210u | (nibbles >> 1 & 0x4444u));
}
#endif

#ifndef LW_HAVE_HALF_TO_FLOAT
#define LW_HAVE_HALF_TO_FLOAT
LW_DEVICE float lw_half_to_float(std::uint32_t bits) {
  const float value = cuda::half_value(bits & 0xFFFFu);
  return value != value ? cuda::float_of(0x7FC00000u) : value;
}
#endif

LW_DEVICE std::int32_t lw_sign_extend8(std::uint32_t byte) {
  return static_cast<std::int8_t>(static_cast<std::uint8_t>(byte));
}

LW_DEVICE std::int32_t lw_dot4(std::uint32_t a, std::uint32_t b, std::int32_t sum) { return cuda::dot4(a, b, sum); }

}  // namespace LW_DECODE_SPACE
}  // namespace lanewise

#include "formats/primitives.h"
