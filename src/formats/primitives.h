// The words that decode files are written with. One text compiles as C++20, CUDA, Metal (C++14) and GLSL 4.50: no
// pointers, references, templates or brace-built returns; `u` on every unsigned literal. A backend is fast by defining
// a primitive (and its guard LW_HAVE_...) before this file is included, never by changing a format; a test holds every
// such override against the text here.
//
// Words are 32-bit, little-endian. A "quad" is four signed code bytes in one word, element 4*quad in the low byte: the
// operand of dp4a, VNNI, sdot, Vulkan's packed dot and int8 matrix units.
//
// LW_WHERE marks functions of an index that say where a field lies, LW_FN those that take words (lw_word) and give
// words, integers (lw_int) or floats (lw_float). A backend may compile the latter for vectors of words, one row a lane:
// it defines LW_LANES, these three types with the operators used here, and every primitive. In CUDA the former can be
// called at compile time and on both sides, the latter in device code alone; C++ text that takes a device's overrides
// defines LW_FN and LW_MEMBER_FN as functions that aren't constexpr.
#ifndef LANEWISE_FORMATS_PRIMITIVES_H
#define LANEWISE_FORMATS_PRIMITIVES_H

#if defined(LW_LANG_GLSL)
#define LW_FN
#define LW_WHERE
#define lw_u32 uint
#define lw_i32 int
#define lw_word uint
#define lw_int int
#define lw_float float
#define LW_AS_FLOAT(bits) uintBitsToFloat(bits)
#define LW_AS_U32(value) floatBitsToUint(value)
#define LW_TO_F32(value) float(value)
#define LW_TO_I32(value) int(value)
#define LW_TO_U32(value) uint(value)
#define LW_TABLE_BEGIN(name, count) const uint name[count] = uint[count](
#define LW_TABLE_END );
#elif defined(__METAL_VERSION__)
#include <metal_stdlib>
#define LW_FN static inline
#define LW_WHERE static inline
#define lw_u32 uint
#define lw_i32 int
#define lw_word uint
#define lw_int int
#define lw_float float
#define LW_AS_FLOAT(bits) as_type<float>(bits)
#define LW_AS_U32(value) as_type<uint>(value)
#define LW_TO_F32(value) static_cast<float>(value)
#define LW_TO_I32(value) static_cast<int>(value)
#define LW_TO_U32(value) static_cast<uint>(value)
#define LW_TABLE_BEGIN(name, count) static constant uint name[count] = {
#define LW_TABLE_END \
  }                  \
  ;
#elif defined(__CUDACC__)
#include <cstdint>
#define LW_FN [[maybe_unused]] static __device__ __forceinline__
#define LW_WHERE [[maybe_unused]] static constexpr __host__ __device__ __forceinline__
#define LW_MEMBER_FN static __device__ __forceinline__
#define LW_MEMBER_WHERE static constexpr __host__ __device__ __forceinline__
#define lw_u32 std::uint32_t
#define lw_i32 std::int32_t
#define lw_word std::uint32_t
#define lw_int std::int32_t
#define lw_float float
#define LW_AS_FLOAT(bits) __uint_as_float(bits)
#define LW_AS_U32(value) __float_as_uint(value)
#define LW_TO_F32(value) static_cast<float>(value)
#define LW_TO_I32(value) static_cast<std::int32_t>(value)
#define LW_TO_U32(value) static_cast<std::uint32_t>(value)
// nvcc rejects a namespace-scope constexpr array in device code.
#define LW_TABLE_BEGIN(name, count) static __device__ const std::uint32_t name[count] = {
#define LW_TABLE_END \
  }                  \
  ;
#elif defined(LW_LANES)
#include <cstdint>
#define LW_FN [[maybe_unused]] static inline __attribute__((always_inline))
#define LW_WHERE [[maybe_unused]] constexpr
#define lw_u32 std::uint32_t
#define lw_i32 std::int32_t
#define LW_TABLE_BEGIN(name, count) inline constexpr std::uint32_t name[count] = {
#define LW_TABLE_END \
  }                  \
  ;
#else
#include <bit>
#include <cstdint>
#ifndef LW_FN
#define LW_FN [[maybe_unused]] constexpr
#define LW_MEMBER_FN static constexpr
#endif
#define LW_WHERE [[maybe_unused]] constexpr
#define LW_MEMBER_WHERE static constexpr
#define lw_u32 std::uint32_t
#define lw_i32 std::int32_t
#define lw_word std::uint32_t
#define lw_int std::int32_t
#define lw_float float
#define LW_AS_FLOAT(bits) std::bit_cast<float>(bits)
#define LW_AS_U32(value) std::bit_cast<std::uint32_t>(value)
#define LW_TO_F32(value) static_cast<float>(value)
#define LW_TO_I32(value) static_cast<std::int32_t>(value)
#define LW_TO_U32(value) static_cast<std::uint32_t>(value)
#define LW_TABLE_BEGIN(name, count) inline constexpr std::uint32_t name[count] = {
#define LW_TABLE_END \
  }                  \
  ;
#endif

// What decode files and traits stand in: the library's namespace in C++, nothing elsewhere. A text that overrides
// primitives and is linked with others that don't names a space of its own in LW_DECODE_SPACE, so that the linker takes
// neither's functions for the other's.
#if defined(LW_DECODE_SPACE)
#define LW_DECODE_BEGIN \
  namespace lanewise {  \
  inline namespace LW_DECODE_SPACE {
#define LW_DECODE_END \
  }                   \
  }
#elif defined(__cplusplus) && !defined(__METAL_VERSION__)
#define LW_DECODE_BEGIN namespace lanewise {
#define LW_DECODE_END }
#else
#define LW_DECODE_BEGIN
#define LW_DECODE_END
#endif

// Whether grid formats offer runs of 8 to 32 elements (runs.h) beside their quads: in C++20, and in lanes where a
// backend defines it as 1.
// A backend that looks eights up as nibbles (nibbles.h) defines this as 1.
#ifndef LW_NIBBLES
#define LW_NIBBLES 0
#endif
#ifndef LW_RUNS
#if defined(__cplusplus) && !defined(__METAL_VERSION__) && !defined(__CUDACC__) && !defined(LW_LANES) && \
    !defined(LW_DECODE_SPACE)
#define LW_RUNS 1
#else
#define LW_RUNS 0
#endif
#endif

LW_DECODE_BEGIN

// Where a field lies: in the 32-bit word that starts at `byte` of the block (any alignment, never past its end),
// shifted right by `shift`, under `mask`.
struct LwPart {
  lw_u32 byte;
  lw_u32 shift;
  lw_u32 mask;
};

LW_WHERE LwPart lw_part(lw_u32 byte, lw_u32 shift, lw_u32 mask) {
  LwPart part;
  part.byte = byte;
  part.shift = shift;
  part.mask = mask;
  return part;
}

// How a format's quad() ends, LW_..._QUAD_ENDS, for who takes that step elsewhere: by lw_bytes_add of MIN_CODE in every
// byte, by lw_table16 of its only part, or neither.
#define LW_ENDS_BY_ITSELF 0
#define LW_ENDS_BY_OFFSET 1
#define LW_ENDS_BY_TABLE 2

// The functions of a role that a format lacks, so that every decode file offers the same set.
#define LW_NO_SUB_SCALE(name)                                                    \
  LW_WHERE LwPart name##_sc_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0u); } \
  LW_FN lw_int name##_sc(lw_word) { return lw_int(1); }
#define LW_NO_MIN(name)                                                          \
  LW_WHERE LwPart name##_mn_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0u); } \
  LW_FN lw_int name##_mn(lw_word) { return lw_int(0); }                          \
  LW_WHERE LwPart name##_m_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0u); }  \
  LW_FN lw_float name##_m(lw_word) { return lw_float(0.0f); }

// Sum of two words byte by byte, each modulo 256.
#ifndef LW_HAVE_BYTES_ADD
LW_FN lw_word lw_bytes_add(lw_word a, lw_word b) {
  return ((a & 0x7F7F7F7Fu) + (b & 0x7F7F7F7Fu)) ^ ((a ^ b) & 0x80808080u);
}
#endif

// Bit i of the low four to bit 0 of byte i.
#ifndef LW_HAVE_SPREAD_BITS
LW_FN lw_word lw_spread_bits(lw_word bits) { return ((bits & 15u) * 0x00204081u) & 0x01010101u; }
#endif

// Bits first..first+3 of a word to bit `to` of bytes 0..3.
#ifndef LW_HAVE_SPREAD_BITS_TO
LW_FN lw_word lw_spread_bits_to(lw_word word, lw_u32 first, lw_u32 to) { return lw_spread_bits(word >> first) << to; }
#endif

// Crumb i (two bits) of the low byte to byte i.
#ifndef LW_HAVE_SPREAD_CRUMBS
LW_FN lw_word lw_spread_crumbs(lw_word crumbs) {
  lw_word pairs = (crumbs & 15u) | ((crumbs & 0xF0u) << 12u);
  return (pairs | (pairs << 6u)) & 0x03030303u;
}
#endif

// The same of the eight bits from bit `first` of a word on.
#ifndef LW_HAVE_SPREAD_CRUMBS_FROM
LW_FN lw_word lw_spread_crumbs_from(lw_word word, lw_u32 first) { return lw_spread_crumbs((word >> first) & 255u); }
#endif

// Bit `from` of a word moved to bit `to`, its neighbours with it.
LW_FN lw_word lw_shift_to(lw_word word, lw_u32 from, lw_u32 to) {
  return from >= to ? word >> (from - to) : word << (to - from);
}

// The field at bits `from` of each byte moved to bits `to`, where `mask` already lies: one shift instead of two.
LW_FN lw_word lw_move_bits(lw_word word, lw_u32 from, lw_u32 to, lw_u32 mask) {
  return lw_shift_to(word, from, to) & mask;
}

// Digit `place` (0..4, the most significant first) of each byte, a byte holding five base-3 digits as the fraction
// byte / 256: the digits before the wanted one leave at the top by a product modulo 256, then 3 * byte / 256 is it.
#ifndef LW_HAVE_TRITS
LW_FN lw_word lw_trits(lw_word bytes, lw_u32 place) {
  lw_u32 power = place < 4u ? (0x1B090301u >> (8u * place)) & 255u : 81u;
  lw_word even = ((bytes & 0x00FF00FFu) * power) & 0x00FF00FFu;
  lw_word odd = (((bytes >> 8u) & 0x00FF00FFu) * power) & 0x00FF00FFu;
  return (((even * 3u) >> 8u) & 0x00030003u) | ((odd * 3u) & 0x03000300u);
}
#endif

// Eight signs from a sign index of seven bits: the eighth makes the number of negative ones even.
#ifndef LW_HAVE_SIGN_INDEX
LW_FN lw_word lw_sign_index(lw_word index) {
  lw_word fold = index ^ (index >> 4u);
  return index | (((0x6996u >> (fold & 15u)) & 1u) << 7u);
}
#endif

// Byte i negated where bit i of the low four of `signs` is set.
#ifndef LW_HAVE_NEGATE
LW_FN lw_word lw_negate(lw_word bytes, lw_word signs) {
  lw_word ones = lw_spread_bits(signs);
  return lw_bytes_add(bytes ^ (ones * 255u), ones);
}
#endif

// Each byte (0..15) looked up in a table of 16 bytes, held in four words.
#ifndef LW_HAVE_TABLE16
LW_FN lw_word lw_table16_one(lw_word n, lw_word t0, lw_word t1, lw_word t2, lw_word t3) {
  lw_word low = (n & 4u) != 0u ? t1 : t0;
  lw_word high = (n & 4u) != 0u ? t3 : t2;
  return (((n & 8u) != 0u ? high : low) >> (8u * (n & 3u))) & 255u;
}
LW_FN lw_word lw_table16(lw_word n, lw_word t0, lw_word t1, lw_word t2, lw_word t3) {
  return lw_table16_one(n, t0, t1, t2, t3) | (lw_table16_one(n >> 8u, t0, t1, t2, t3) << 8u) |
         (lw_table16_one(n >> 16u, t0, t1, t2, t3) << 16u) | (lw_table16_one(n >> 24u, t0, t1, t2, t3) << 24u);
}
#endif

// A table's word with `offset` added to each byte, modulo 256.
LW_WHERE lw_u32 lw_offset_table(lw_u32 word, lw_u32 offset) {
  lw_u32 bytes = offset * 0x01010101u;
  return ((word & 0x7F7F7F7Fu) + (bytes & 0x7F7F7F7Fu)) ^ ((word ^ bytes) & 0x80808080u);
}

// The value of an IEEE half. Integer operations but for one exact product whose result is never subnormal, so that a
// device that flushes subnormals agrees. A NaN becomes the quiet NaN 0x7FC00000.
#ifndef LW_HAVE_HALF_TO_FLOAT
LW_FN lw_float lw_half_to_float(lw_word half_bits) {
  lw_word sign = (half_bits & 0x8000u) << 16u;
  lw_word exponent = (half_bits >> 10u) & 31u;
  lw_word mantissa = half_bits & 0x3FFu;
  lw_word bits = sign | ((exponent + 112u) << 23u) | (mantissa << 13u);
  if (exponent == 31u) bits = mantissa != 0u ? 0x7FC00000u : sign | 0x7F800000u;
  if (exponent == 0u) bits = sign | LW_AS_U32(LW_TO_F32(mantissa) * 5.9604644775390625e-8f);  // 2^-24
  return LW_AS_FLOAT(bits);
}
#endif

// Half the value of an unsigned E4M3 byte (bias 7); bit 7 is ignored. The byte 0x7F is 0, 0xFF the number it spells.
#ifndef LW_HAVE_UE4M3_HALVED
LW_FN lw_float lw_ue4m3_halved(lw_word byte) {
  lw_word exponent = (byte >> 3u) & 15u;
  lw_word mantissa = byte & 7u;
  lw_word bits = ((exponent + 119u) << 23u) | (mantissa << 20u);
  if (exponent == 0u) bits = LW_AS_U32(LW_TO_F32(mantissa) * 0.0009765625f);  // 2^-10
  if (byte == 0x7Fu) bits = 0u;
  return LW_AS_FLOAT(bits);
}
#endif

// code * 2^exponent for an int8 code and an exponent of -128 to 127, by integer operations, since the result may be
// subnormal: it is exact, or infinite.
#ifndef LW_HAVE_CODE_TIMES_POWER
LW_FN float lw_code_times_power(lw_i32 code, lw_i32 exponent) {
  if (code == 0) return 0.0f;
  lw_u32 bits = LW_AS_U32(LW_TO_F32(code));
  lw_u32 sign = bits & 0x80000000u;
  lw_u32 significand = (bits & 0x7FFFFFu) | 0x800000u;
  lw_i32 biased = LW_TO_I32((bits >> 23u) & 255u) + exponent;
  lw_u32 result = (LW_TO_U32(biased) << 23u) | (bits & 0x7FFFFFu);
  if (biased <= 0) result = significand >> LW_TO_U32(1 - biased);
  if (biased >= 255) result = 0x7F800000u;
  return LW_AS_FLOAT(sign | result);
}
#endif

// An int8 in the low byte, widened.
#ifndef LW_HAVE_SIGN_EXTEND8
LW_FN lw_int lw_sign_extend8(lw_word byte) { return LW_TO_I32((byte & 255u) ^ 128u) - 128; }
#endif

// Sum of the four products of signed bytes, plus `sum`.
#ifndef LW_HAVE_DOT4
LW_FN lw_int lw_dot4(lw_word a, lw_word b, lw_int sum) {
  return sum + lw_sign_extend8(a) * lw_sign_extend8(b) + lw_sign_extend8(a >> 8u) * lw_sign_extend8(b >> 8u) +
         lw_sign_extend8(a >> 16u) * lw_sign_extend8(b >> 16u) + lw_sign_extend8(a >> 24u) * lw_sign_extend8(b >> 24u);
}
#endif

// An entry of a grid table: a backend puts the table where its look-ups are cheap.
#ifndef LW_GRID
#define LW_GRID(name, index) name[index]
#endif

LW_DECODE_END

#endif  // LANEWISE_FORMATS_PRIMITIVES_H
