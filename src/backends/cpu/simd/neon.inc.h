// Sixteen lanes in four 128-bit registers: Armv8.2's NEON with the dot products of dotprod, and those of i8mm where
// LW_HAVE_I8MM is 1. Included by the target's own small header, which names LW_TARGET. The rules of avx512.inc.h hold
// here too.
#include <arm_neon.h>

#include <cstdint>
#include <utility>

#define LW_LANES 16
#define LW_AI inline __attribute__((always_inline))

namespace lanewise::LW_TARGET {

typedef std::uint32_t V32u __attribute__((vector_size(16)));
typedef std::int32_t V32i __attribute__((vector_size(16)));
typedef std::uint8_t V8u __attribute__((vector_size(16)));
typedef float V32f __attribute__((vector_size(16)));

#include "backends/cpu/simd/unroll.inc.h"

/// Of 32 registers a chunk of codes alone would take all.
/// No window goes through registers alone (avx512.inc.h).
inline constexpr int register_tokens = 0;
inline constexpr bool streams_codes = false;
inline constexpr unsigned most_code = 255;
inline constexpr int most_sums = 4;
/// dotprod multiplies bytes of the same sign; i8mm unsigned codes by signed bytes, which spares the additions that make
/// codes signed.
inline constexpr bool unsigned_codes = LW_HAVE_I8MM;
/// There is no dot product of 16-bit pairs.
inline constexpr bool pair_products = false;

struct Word {
  V32u v[4];
  LW_AI Word() = default;
  LW_AI Word(V32u a, V32u b, V32u c, V32u d) : v{a, b, c, d} {}
  LW_AI Word(std::uint32_t scalar) : Word(four(scalar), four(scalar), four(scalar), four(scalar)) {}
  static LW_AI V32u four(std::uint32_t scalar) { return (V32u)vdupq_n_u32(scalar); }
};
struct Int {
  V32i v[4];
  LW_AI Int() = default;
  LW_AI Int(V32i a, V32i b, V32i c, V32i d) : v{a, b, c, d} {}
  LW_AI Int(std::int32_t scalar) : Int(four(scalar), four(scalar), four(scalar), four(scalar)) {}
  static LW_AI V32i four(std::int32_t scalar) { return (V32i)vdupq_n_s32(scalar); }
};
struct Float {
  V32f v[4];
  LW_AI Float() = default;
  LW_AI Float(V32f a, V32f b, V32f c, V32f d) : v{a, b, c, d} {}
  LW_AI Float(float scalar) : Float(four(scalar), four(scalar), four(scalar), four(scalar)) {}
  static LW_AI V32f four(float scalar) { return (V32f)vdupq_n_f32(scalar); }
};

// A function of vectors applied to the four of its arguments.
#define LW_FOUR1(f, a) \
  { f((a).v[0]), f((a).v[1]), f((a).v[2]), f((a).v[3]) }
#define LW_FOUR2(f, a, b) \
  { f((a).v[0], (b).v[0]), f((a).v[1], (b).v[1]), f((a).v[2], (b).v[2]), f((a).v[3], (b).v[3]) }
#define LW_OPERATOR(type, op, four)                                                      \
  LW_AI type operator op(type a, type b) {                                               \
    return {(four)((V32u)a.v[0] op(V32u) b.v[0]), (four)((V32u)a.v[1] op(V32u) b.v[1]),  \
            (four)((V32u)a.v[2] op(V32u) b.v[2]), (four)((V32u)a.v[3] op(V32u) b.v[3])}; \
  }
LW_OPERATOR(Word, &, V32u)
LW_OPERATOR(Word, |, V32u)
LW_OPERATOR(Word, ^, V32u)
LW_OPERATOR(Word, +, V32u)
LW_OPERATOR(Word, -, V32u)
LW_OPERATOR(Word, *, V32u)
LW_OPERATOR(Int, +, V32i)
LW_OPERATOR(Int, -, V32i)
LW_OPERATOR(Int, *, V32i)
#undef LW_OPERATOR
LW_AI Word operator~(Word a) { return {~a.v[0], ~a.v[1], ~a.v[2], ~a.v[3]}; }
LW_AI Word operator<<(Word a, std::uint32_t n) { return {a.v[0] << n, a.v[1] << n, a.v[2] << n, a.v[3] << n}; }
LW_AI Word operator>>(Word a, std::uint32_t n) { return {a.v[0] >> n, a.v[1] >> n, a.v[2] >> n, a.v[3] >> n}; }
LW_AI V32i wrap(V32u v) { return (V32i)v; }
LW_AI Int to_int(Word a) { return LW_FOUR1(wrap, a); }
LW_AI V32u bits(V32i v) { return (V32u)v; }
LW_AI Word to_word(Int a) { return LW_FOUR1(bits, a); }
LW_AI Int operator<<(Int a, std::uint32_t n) { return to_int(to_word(a) << n); }
LW_AI Int operator>>(Int a, std::uint32_t n) {
  const int by = (int)n;
  return {a.v[0] >> by, a.v[1] >> by, a.v[2] >> by, a.v[3] >> by};
}
LW_AI Float operator+(Float a, Float b) { return {a.v[0] + b.v[0], a.v[1] + b.v[1], a.v[2] + b.v[2], a.v[3] + b.v[3]}; }
LW_AI Float operator*(Float a, Float b) { return {a.v[0] * b.v[0], a.v[1] * b.v[1], a.v[2] * b.v[2], a.v[3] * b.v[3]}; }
LW_AI Float operator-(Float a) { return {-a.v[0], -a.v[1], -a.v[2], -a.v[3]}; }

LW_AI V32f as_float(V32u a) { return (V32f)a; }
LW_AI Float as_float(Word a) { return LW_FOUR1(as_float, a); }
LW_AI V32f to_float(V32i a) { return (V32f)vcvtq_f32_s32((int32x4_t)a); }
LW_AI Float to_float(Int a) { return LW_FOUR1(to_float, a); }
LW_AI V32f fused(V32f a, V32f b, V32f c) { return (V32f)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
/// a * b + c, rounded once; used only where a * b is exact.
LW_AI Float fused(Float a, Float b, Float c) {
  return {fused(a.v[0], b.v[0], c.v[0]), fused(a.v[1], b.v[1], c.v[1]), fused(a.v[2], b.v[2], c.v[2]),
          fused(a.v[3], b.v[3], c.v[3])};
}
LW_AI Float zero_float() { return Float(0.0F); }
LW_AI Int zero_int() { return Int(0); }

LW_AI V32u load_four(const std::uint8_t* at) { return (V32u)vld1q_u8(at); }
LW_AI Word load_words(const std::uint8_t* at) {
  return {load_four(at), load_four(at + 16), load_four(at + 32), load_four(at + 48)};
}
/// Sixteen 16-bit or 8-bit fields, widened.
LW_AI Word widened(uint16x8_t low, uint16x8_t high) {
  return {(V32u)vmovl_u16(vget_low_u16(low)), (V32u)vmovl_high_u16(low), (V32u)vmovl_u16(vget_low_u16(high)),
          (V32u)vmovl_high_u16(high)};
}
LW_AI Word load_halves(const std::uint8_t* at) {
  return widened(vreinterpretq_u16_u8(vld1q_u8(at)), vreinterpretq_u16_u8(vld1q_u8(at + 16)));
}
LW_AI Word load_bytes(const std::uint8_t* at) {
  const uint8x16_t all = vld1q_u8(at);
  return widened(vmovl_u8(vget_low_u8(all)), vmovl_high_u8(all));
}
/// Words 0 to 3 at byte `at` of sixteen rows, a row a lane: 4 x 4 words of four rows transposed at a time.
LW_AI void load_rows(const std::uint8_t* const* rows, std::uint64_t at, Word* out) {
  unroll<0, 4>([&](auto h) __attribute__((always_inline)) {
    uint32x4_t z[4];
    unroll<0, 4>([&](auto j)
                     __attribute__((always_inline)) { z[j] = vreinterpretq_u32_u8(vld1q_u8(rows[4 * h + j] + at)); });
    const uint64x2_t even[2] = {vreinterpretq_u64_u32(vtrn1q_u32(z[0], z[1])),
                                vreinterpretq_u64_u32(vtrn1q_u32(z[2], z[3]))};
    const uint64x2_t odd[2] = {vreinterpretq_u64_u32(vtrn2q_u32(z[0], z[1])),
                               vreinterpretq_u64_u32(vtrn2q_u32(z[2], z[3]))};
    out[0].v[h] = (V32u)vtrn1q_u64(even[0], even[1]);
    out[1].v[h] = (V32u)vtrn1q_u64(odd[0], odd[1]);
    out[2].v[h] = (V32u)vtrn2q_u64(even[0], even[1]);
    out[3].v[h] = (V32u)vtrn2q_u64(odd[0], odd[1]);
  });
}
LW_AI void store_words(std::uint8_t* at, Word a) {
  for (int i = 0; i < 4; ++i) vst1q_u8(at + 16 * i, (uint8x16_t)a.v[i]);
}
LW_AI Int broadcast(const std::int32_t* at) { return Int(*at); }
LW_AI Float broadcast(const float* at) { return Float(*at); }

// sum += the four codes of each lane * bytes 4 * lane to 4 * lane + 3 of x: the broadcast is part of the instruction.
#if LW_HAVE_I8MM
#define LW_DOT(sum, codes, x, lane) sum = (V32i)vusdotq_laneq_s32((int32x4_t)sum, (uint8x16_t)(codes), x, lane)
#else
#define LW_DOT(sum, codes, x, lane) sum = (V32i)vdotq_laneq_s32((int32x4_t)sum, (int8x16_t)(codes), x, lane)
#endif

/// sums[c] += the codes of `Quads` quads * column c of x, whose bytes start at x + 256 * c, for rows 4 * i to 4 * i
/// + 7. The codes of four quads and the sums of eight columns take 24 registers of 32.
template <int Quads, int Columns>
LW_AI void dot_eight_rows(const Word* codes, const std::int8_t* x, Int* sums, int i) {
  V32i low[Columns];
  V32i high[Columns];
  unroll<0, Columns>([&](auto c) __attribute__((always_inline)) {
    low[c] = sums[c].v[i];
    high[c] = sums[c].v[i + 1];
  });
  unroll<0, Quads / 4>([&](auto four) __attribute__((always_inline)) {
    const Word* code = codes + four * 4;
    unroll<0, Columns>([&](auto c) __attribute__((always_inline)) {
      const int8x16_t row = vld1q_s8(x + c * 256 + four * 16);
      LW_DOT(low[c], code[0].v[i], row, 0);
      LW_DOT(high[c], code[0].v[i + 1], row, 0);
      LW_DOT(low[c], code[1].v[i], row, 1);
      LW_DOT(high[c], code[1].v[i + 1], row, 1);
      LW_DOT(low[c], code[2].v[i], row, 2);
      LW_DOT(high[c], code[2].v[i + 1], row, 2);
      LW_DOT(low[c], code[3].v[i], row, 3);
      LW_DOT(high[c], code[3].v[i + 1], row, 3);
    });
  });
  unroll<0, Columns>([&](auto c) __attribute__((always_inline)) {
    sums[c].v[i] = low[c];
    sums[c].v[i + 1] = high[c];
  });
}
/// Sums of more columns than registers hold lie in memory; one copy of the text serves all kernels of so many columns.
template <int Quads, int Columns>
__attribute__((noinline)) void dot_columns(const Word* codes, const std::int8_t* x, Int* sums) {
  constexpr int run = Columns % 8 == 0 ? 8 : 6;
  static_assert(Columns % run == 0);
#pragma GCC unroll 1
  for (int c = 0; c < Columns; c += run) {
#pragma GCC unroll 1
    for (int i = 0; i < 4; i += 2) dot_eight_rows<Quads, run>(codes, x + c * 256, sums + c, i);
  }
}
/// The same for all rows; between(q) once for each quad.
template <int Quads, int Columns, int Sides, unsigned Most, bool Joined, class Between>
LW_AI void dot_chunk(const Word* codes, const std::int8_t* x, Int* sums, Between between) {
  static_assert(Sides == 1 && Quads % 4 == 0);
  unroll<0, Quads>([&](auto q) __attribute__((always_inline)) { between(q); });
  if constexpr (Columns > 4) {
    dot_columns<Quads, Columns>(codes, x, sums);
  } else {
    dot_eight_rows<Quads, Columns>(codes, x, sums, 0);
    dot_eight_rows<Quads, Columns>(codes, x, sums, 2);
  }
}
#undef LW_DOT

/// Two small unsigned integers, 16 bits each.
LW_AI Word pair_of(Int low, Int high) { return to_word(low) | (to_word(high) << 16); }
LW_AI V32i dot_pairs(V32i sum, V32u pair, int16x8_t x) {
  const auto halves = (int16x8_t)pair;
  const int32x4_t low = vmull_s16(vget_low_s16(halves), vget_low_s16(x));
  return (V32i)vaddq_s32((int32x4_t)sum, vpaddq_s32(low, vmull_high_s16(halves, x)));
}
/// sum + a pair times a pair of signed 16-bit integers.
LW_AI Int dot_pairs(Int sum, Word pair, Word x) {
  return {dot_pairs(sum.v[0], pair.v[0], (int16x8_t)x.v[0]), dot_pairs(sum.v[1], pair.v[1], (int16x8_t)x.v[1]),
          dot_pairs(sum.v[2], pair.v[2], (int16x8_t)x.v[2]), dot_pairs(sum.v[3], pair.v[3], (int16x8_t)x.v[3])};
}
LW_AI Int dot_pairs(Int sum, Word pair, const std::int32_t* x) { return dot_pairs(sum, pair, Word((std::uint32_t)*x)); }
LW_AI void prefetch(const std::uint8_t* at) { asm volatile("prfm pldl2keep, [%0]" : : "r"(at)); }
LW_AI void prefetch_near(const std::uint8_t* at) { asm volatile("prfm pldl1keep, [%0]" : : "r"(at)); }

LW_AI V32f biased_power(V32i biased) {
  const int32x4_t raised = vmaxq_s32((int32x4_t)biased, vdupq_n_s32(0));
  const uint32x4_t above = vcgtq_s32((int32x4_t)biased, vdupq_n_s32(90 + 127));
  return (V32f)vbslq_s32(above, vdupq_n_s32(0x7F800000), vshlq_n_s32(raised, 23));
}
/// 2^(biased - 127), +0 below 2^-126, +infinity above 2^90.
LW_AI Float biased_power(Int biased) { return LW_FOUR1(biased_power, biased); }
LW_AI V32f canonical(V32f a) {
  const uint32x4_t number = vceqq_f32((float32x4_t)a, (float32x4_t)a);
  return (V32f)vbslq_u32(number, (uint32x4_t)a, vdupq_n_u32(0x7FC00000u));
}
/// Any NaN as 0x7FC00000.
LW_AI Float canonical(Float a) { return LW_FOUR1(canonical, a); }
LW_AI void store(float* at, Float a) {
  for (int i = 0; i < 4; ++i) vst1q_f32(at + 4 * i, (float32x4_t)a.v[i]);
}

}  // namespace lanewise::LW_TARGET

#define lw_word ::lanewise::LW_TARGET::Word
#define lw_int ::lanewise::LW_TARGET::Int
#define lw_float ::lanewise::LW_TARGET::Float
#define LW_TO_I32(value) ::lanewise::LW_TARGET::to_int(value)
#define LW_AS_FLOAT(bits) ::lanewise::LW_TARGET::as_float(bits)

#define LW_HAVE_BYTES_ADD
#define LW_HAVE_SPREAD_BITS
#define LW_HAVE_SPREAD_CRUMBS
#define LW_HAVE_TRITS
#define LW_HAVE_SIGN_INDEX
#define LW_HAVE_NEGATE
#define LW_HAVE_TABLE16
#define LW_HAVE_HALF_TO_FLOAT
#define LW_HAVE_UE4M3_HALVED
#define LW_HAVE_CODE_TIMES_POWER
#define LW_HAVE_SIGN_EXTEND8
#define LW_HAVE_DOT4
#define LW_GRID(name, index) lw_gather(name, index)

namespace lanewise {

using LW_TARGET::V32f;
using LW_TARGET::V32i;
using LW_TARGET::V32u;
using LW_TARGET::V8u;

static LW_AI V32u lw_bytes_add(V32u a, V32u b) { return (V32u)((V8u)a + (V8u)b); }
static LW_AI lw_word lw_bytes_add(lw_word a, lw_word b) { return LW_FOUR2(lw_bytes_add, a, b); }
// The lowest byte of each lane in all four of its bytes.
static LW_AI uint8x16_t lw_low_bytes(V32u a) {
  const uint8x16_t places = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
  return vqtbl1q_u8((uint8x16_t)a, places);
}
static LW_AI V32u lw_spread_bits(V32u bits) {
  const int8x16_t down = {0, -1, -2, -3, 0, -1, -2, -3, 0, -1, -2, -3, 0, -1, -2, -3};
  return (V32u)vandq_u8(vshlq_u8(lw_low_bytes(bits), down), vdupq_n_u8(1));
}
static LW_AI lw_word lw_spread_bits(lw_word bits) { return LW_FOUR1(lw_spread_bits, bits); }
static LW_AI V32u lw_spread_crumbs(V32u crumbs) {
  const int8x16_t down = {0, -2, -4, -6, 0, -2, -4, -6, 0, -2, -4, -6, 0, -2, -4, -6};
  return (V32u)vandq_u8(vshlq_u8(lw_low_bytes(crumbs), down), vdupq_n_u8(3));
}
static LW_AI lw_word lw_spread_crumbs(lw_word crumbs) { return LW_FOUR1(lw_spread_crumbs, crumbs); }
static LW_AI V32u lw_negate(V32u bytes, V32u signs) {
  const uint8x16_t bit = {1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8};
  const uint8x16_t negative = vtstq_u8(lw_low_bytes(signs), bit);
  return (V32u)vsubq_u8(veorq_u8((uint8x16_t)bytes, negative), negative);
}
static LW_AI lw_word lw_negate(lw_word bytes, lw_word signs) { return LW_FOUR2(lw_negate, bytes, signs); }
// byte * power leaves the wanted fraction. The digit is 3 * fraction / 256: the top two bits of the mean of it and its
// half, 3 * fraction / 4.
static LW_AI V32u lw_trits(V32u bytes, std::uint8_t power) {
  const uint8x16_t fraction = vmulq_u8((uint8x16_t)bytes, vdupq_n_u8(power));
  return (V32u)vshrq_n_u8(vhaddq_u8(fraction, vshrq_n_u8(fraction, 1)), 6);
}
static LW_AI lw_word lw_trits(lw_word bytes, std::uint32_t place) {
  const auto power = (std::uint8_t)(place < 4 ? (0x1B090301u >> (8 * place)) & 255u : 81u);
  return {lw_trits(bytes.v[0], power), lw_trits(bytes.v[1], power), lw_trits(bytes.v[2], power),
          lw_trits(bytes.v[3], power)};
}
static LW_AI V32u lw_sign_index(V32u index) {
  return (V32u)vsliq_n_u8((uint8x16_t)index, vcntq_u8((uint8x16_t)index), 7);
}
static LW_AI lw_word lw_sign_index(lw_word index) { return LW_FOUR1(lw_sign_index, index); }
static LW_AI lw_word lw_table16(lw_word n, std::uint32_t t0, std::uint32_t t1, std::uint32_t t2, std::uint32_t t3) {
  const auto table = (uint8x16_t)V32u{t0, t1, t2, t3};
  const auto look_up = [table](V32u four) __attribute__((always_inline)) {
    return (V32u)vqtbl1q_u8(table, (uint8x16_t)four);
  };
  return LW_FOUR1(look_up, n);
}
// Exact, subnormal halves too: FPCR is 0 (base/float_env.h). A NaN keeps its payload; outputs are made canonical.
static LW_AI V32f lw_half_to_float(V32u half_bits) {
  return (V32f)vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32((uint32x4_t)half_bits)));
}
static LW_AI lw_float lw_half_to_float(lw_word half_bits) { return LW_FOUR1(lw_half_to_float, half_bits); }
static LW_AI V32f lw_ue4m3_halved(V32u byte) {
  const uint32x4_t low = (uint32x4_t)(byte & 0x7Fu);
  const uint32x4_t normal = vaddq_u32(vshlq_n_u32(low, 20), vdupq_n_u32(119u << 23));
  const float32x4_t subnormal = vmulq_f32(vcvtq_f32_u32(low), vdupq_n_f32(0.0009765625F));
  const uint32x4_t small = vcltq_u32(low, vdupq_n_u32(8));
  const uint32x4_t none = vceqq_u32((uint32x4_t)byte, vdupq_n_u32(0x7F));
  return (V32f)vbicq_u32(vbslq_u32(small, vreinterpretq_u32_f32(subnormal), normal), none);
}
static LW_AI lw_float lw_ue4m3_halved(lw_word byte) { return LW_FOUR1(lw_ue4m3_halved, byte); }
static LW_AI V32i lw_sign_extend8(V32u byte) { return (V32i)(byte << 24u) >> 24; }
static LW_AI lw_int lw_sign_extend8(lw_word byte) { return LW_FOUR1(lw_sign_extend8, byte); }
// NEON has no gather: a load for each lane.
static LW_AI lw_word lw_gather(const std::uint32_t* table, lw_word index) {
  const auto look_up = [table](V32u four) __attribute__((always_inline)) {
    return V32u{table[four[0]], table[four[1]], table[four[2]], table[four[3]]};
  };
  return LW_FOUR1(look_up, index);
}

}  // namespace lanewise

#undef LW_FOUR1
#undef LW_FOUR2
