// Sixteen lanes on AVX-512 (F, BW, DQ, VL, VNNI, VBMI, GFNI, BITALG's vpopcntd): one lane a row. The types and
// primitives that decode files and the kernels are compiled for. Included by the target's own small header, which names
// LW_TARGET. Only units built with that target's flags include it, and no template of the standard library may be
// instantiated in them: the linker could keep this target's copy for everyone.

#include <immintrin.h>

#include <cstdint>
#include <utility>

#define LW_LANES 16
#define LW_AI inline __attribute__((always_inline))

namespace lanewise::LW_TARGET {

typedef std::uint32_t V32u __attribute__((vector_size(64)));
typedef std::int32_t V32i __attribute__((vector_size(64)));
typedef std::uint8_t V8u __attribute__((vector_size(64)));
typedef float V32f __attribute__((vector_size(64)));

#include "backends/cpu/simd/unroll.inc.h"

/// 32 registers hold a chunk of codes beside its sums; as many sums as there may be at once.
/// With so many tokens at most, codes go from W through registers to their products.
inline constexpr int register_tokens = 2;
/// Where the codes of a chunk are made as they are multiplied, since all of them would not fit the registers.
inline constexpr bool streams_codes = false;
/// The largest unsigned code that dot_chunk() takes.
inline constexpr unsigned most_code = 255;
inline constexpr int most_sums = 16;
/// The byte products are of unsigned codes; those of tiles may be of either.
inline constexpr bool unsigned_codes = !LW_HAVE_TILES;
/// dot_pairs() is one product. Where sub-scales are folded into the codes, it is of no use.
inline constexpr bool pair_products = !LW_HAVE_TILES;

struct Word {
  V32u v;
  LW_AI Word() = default;
  LW_AI Word(V32u vector) : v(vector) {}
  LW_AI Word(__m512i vector) : v((V32u)vector) {}
  LW_AI Word(std::uint32_t scalar) : v((V32u)_mm512_set1_epi32((int)scalar)) {}
  [[nodiscard]] LW_AI __m512i raw() const { return (__m512i)v; }
};
struct Int {
  V32i v;
  LW_AI Int() = default;
  LW_AI Int(V32i vector) : v(vector) {}
  LW_AI Int(__m512i vector) : v((V32i)vector) {}
  LW_AI Int(std::int32_t scalar) : v((V32i)_mm512_set1_epi32(scalar)) {}
  [[nodiscard]] LW_AI __m512i raw() const { return (__m512i)v; }
};
struct Float {
  V32f v;
  LW_AI Float() = default;
  LW_AI Float(V32f vector) : v(vector) {}
  LW_AI Float(float scalar) : v((V32f)_mm512_set1_ps(scalar)) {}
  [[nodiscard]] LW_AI __m512 raw() const { return (__m512)v; }
};

LW_AI Word operator&(Word a, Word b) { return a.v & b.v; }
LW_AI Word operator|(Word a, Word b) { return a.v | b.v; }
LW_AI Word operator^(Word a, Word b) { return a.v ^ b.v; }
LW_AI Word operator~(Word a) { return ~a.v; }
LW_AI Word operator+(Word a, Word b) { return a.v + b.v; }
LW_AI Word operator-(Word a, Word b) { return a.v - b.v; }
LW_AI Word operator*(Word a, Word b) { return a.v * b.v; }
LW_AI Word operator<<(Word a, std::uint32_t n) { return a.v << n; }
LW_AI Word operator>>(Word a, std::uint32_t n) { return a.v >> n; }
LW_AI Int operator+(Int a, Int b) { return (V32i)((V32u)a.v + (V32u)b.v); }
LW_AI Int operator-(Int a, Int b) { return (V32i)((V32u)a.v - (V32u)b.v); }
LW_AI Int operator*(Int a, Int b) { return (V32i)((V32u)a.v * (V32u)b.v); }
LW_AI Int operator<<(Int a, std::uint32_t n) { return (V32i)((V32u)a.v << n); }
LW_AI Int operator>>(Int a, std::uint32_t n) { return a.v >> n; }
LW_AI Float operator+(Float a, Float b) { return a.v + b.v; }
LW_AI Float operator*(Float a, Float b) { return a.v * b.v; }
LW_AI Float operator-(Float a) { return -a.v; }

LW_AI Word to_word(Int a) { return (V32u)a.v; }
LW_AI Int to_int(Word a) { return (V32i)a.v; }
LW_AI Float to_float(Int a) { return (V32f)_mm512_cvtepi32_ps(a.raw()); }
LW_AI Float as_float(Word a) { return (V32f)a.v; }
/// a * b + c, rounded once; used only where a * b is exact.
LW_AI Float fused(Float a, Float b, Float c) { return (V32f)_mm512_fmadd_ps(a.raw(), b.raw(), c.raw()); }
LW_AI Float zero_float() { return (V32f)_mm512_setzero_ps(); }
LW_AI Int zero_int() { return (V32i)_mm512_setzero_si512(); }

LW_AI Word load_words(const std::uint8_t* at) { return _mm512_loadu_si512(at); }
/// Sixteen 16-bit or 8-bit fields, widened.
LW_AI Word load_halves(const std::uint8_t* at) { return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)at)); }
LW_AI Word load_bytes(const std::uint8_t* at) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)at)); }
/// Words 0 to 3 at byte `at` of sixteen rows, a row a lane: rows j, 4+j, 8+j and 12+j in one register, then 4 x 4 words
/// transposed within each quarter. The loads insert as they load; only the eight unpacks need the shuffle port.
LW_AI void load_rows(const std::uint8_t* const* rows, std::uint64_t at, Word* out) {
  __m512i z[4];
  unroll<0, 4>([&](auto j) __attribute__((always_inline)) {
    z[j] = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i*)(rows[j] + at)));
    z[j] = _mm512_inserti32x4(z[j], _mm_loadu_si128((const __m128i*)(rows[4 + j] + at)), 1);
    z[j] = _mm512_inserti32x4(z[j], _mm_loadu_si128((const __m128i*)(rows[8 + j] + at)), 2);
    z[j] = _mm512_inserti32x4(z[j], _mm_loadu_si128((const __m128i*)(rows[12 + j] + at)), 3);
  });
  const __m512i t0 = _mm512_unpacklo_epi32(z[0], z[1]);
  const __m512i t1 = _mm512_unpackhi_epi32(z[0], z[1]);
  const __m512i t2 = _mm512_unpacklo_epi32(z[2], z[3]);
  const __m512i t3 = _mm512_unpackhi_epi32(z[2], z[3]);
  out[0] = _mm512_unpacklo_epi64(t0, t2);
  out[1] = _mm512_unpackhi_epi64(t0, t2);
  out[2] = _mm512_unpacklo_epi64(t1, t3);
  out[3] = _mm512_unpackhi_epi64(t1, t3);
}
LW_AI void store_words(std::uint8_t* at, Word a) { _mm512_storeu_si512(at, a.raw()); }
LW_AI Int broadcast(const std::int32_t* at) { return Int(*at); }
LW_AI Float broadcast(const float* at) { return Float(*at); }

/// sums[side * Columns + c] += the unsigned codes (at most `Most`) of chunk `side`, `Quads` quads each, * column c of
/// x, whose bytes start at x + 256 * c; between(q) after the products of the q-th quads. The broadcast of four signed
/// bytes is part of the instruction: the compiler would emit one of its own, 3 to 13 % more cycles from two tokens on.
/// Volatile keeps the products and the prefetches in program order. Joined: the sums of columns 2t and 2t + 1 only
/// count as low + 256 * high.
template <int Quads, int Columns, int Sides, unsigned Most, bool Joined, class Between>
LW_AI void dot_chunk(const Word* codes, const std::int8_t* x, Int* sums, Between between) {
  unroll<0, Quads>([&](auto q) __attribute__((always_inline)) {
    unroll<0, Sides>([&](auto side) __attribute__((always_inline)) {
      unroll<0, Columns>([&](auto c) __attribute__((always_inline)) {
        const V32u code = codes[side * Quads + q].v;
        V32i& sum = sums[side * Columns + c].v;
        const auto* four = (const std::int32_t*)(x + c * 256 + (side * Quads + q) * 4);
        asm volatile("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(code), "m"(*four));
      });
    });
    between(q);
  });
}
/// Two small unsigned integers, 16 bits each.
LW_AI Word pair_of(Int low, Int high) { return (V32u)low.v | ((V32u)high.v << 16); }
/// sum + a pair times a pair of signed 16-bit integers.
LW_AI Int dot_pairs(Int sum, Word pair, const std::int32_t* x) {
  asm("vpdpwssd %2%{1to16%}, %1, %0" : "+v"(sum.v) : "v"(pair.v), "m"(*x));
  return sum;
}
LW_AI Int dot_pairs(Int sum, Word pair, Word x) { return _mm512_dpwssd_epi32(sum.raw(), pair.raw(), x.raw()); }
LW_AI void prefetch(const std::uint8_t* at) { asm volatile("prefetcht1 %0" : : "m"(*at)); }
LW_AI void prefetch_near(const std::uint8_t* at) { asm volatile("prefetcht0 %0" : : "m"(*at)); }

/// 2^(biased - 127), +0 below 2^-126, +infinity above 2^90.
LW_AI Float biased_power(Int biased) {
  const __mmask16 finite = _mm512_cmple_epi32_mask(biased.raw(), _mm512_set1_epi32(90 + 127));
  const __m512i raised = _mm512_max_epi32(biased.raw(), _mm512_setzero_si512());
  return (V32f)_mm512_mask_slli_epi32(_mm512_set1_epi32(0x7F800000), finite, raised, 23);
}
/// Any NaN as 0x7FC00000.
LW_AI Float canonical(Float a) {
  const __mmask16 nan = _mm512_cmp_ps_mask(a.raw(), a.raw(), _CMP_UNORD_Q);
  return (V32f)_mm512_mask_mov_epi32(_mm512_castps_si512(a.raw()), nan, _mm512_set1_epi32(0x7FC00000));
}
LW_AI Float load_floats(const float* at) { return (V32f)_mm512_loadu_ps(at); }
/// A weight as the arithmetic takes it: 0 below 2^-63, infinite from 2^63 on.
LW_AI Float limited(Float a) {
  const __m512i bits = _mm512_castps_si512(a.raw());
  const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFFFF));
  const __mmask16 least = _mm512_cmpge_epi32_mask(magnitude, _mm512_set1_epi32(64 << 23));
  const __mmask16 most = _mm512_cmpge_epi32_mask(magnitude, _mm512_set1_epi32(190 << 23));
  const __mmask16 finite = _mm512_cmple_epi32_mask(magnitude, _mm512_set1_epi32(0x7F800000));
  // Infinity of the weight's sign; a NaN stays one.
  const __m512i infinite = _mm512_or_si512(_mm512_xor_si512(bits, magnitude), _mm512_set1_epi32(0x7F800000));
  return (V32f)_mm512_mask_mov_epi32(_mm512_maskz_mov_epi32(least, bits), most & finite, infinite);
}
/// Whether limited() changes none of the 64 weights at `at`, of 2 bytes (BF16) or 4; a zero counts as changed.
template <int Bytes>
LW_AI bool within_limits(const std::uint8_t* at) {
  if constexpr (Bytes == 2) {
    __mmask32 within = ~__mmask32{0};
    unroll<0, 2>([&](auto v) __attribute__((always_inline)) {
      const __m512i magnitude = _mm512_and_si512(_mm512_loadu_si512(at + v * 64), _mm512_set1_epi16(0x7FFF));
      const __m512i above = _mm512_sub_epi16(magnitude, _mm512_set1_epi16(64 << 7));
      within &= _mm512_cmplt_epu16_mask(above, _mm512_set1_epi16((190 - 64) << 7));
    });
    return within == ~__mmask32{0};
  } else {
    __mmask16 within = 0xFFFF;
    unroll<0, 4>([&](auto v) __attribute__((always_inline)) {
      const __m512i magnitude = _mm512_and_si512(_mm512_loadu_si512(at + v * 64), _mm512_set1_epi32(0x7FFFFFFF));
      const __m512i above = _mm512_sub_epi32(magnitude, _mm512_set1_epi32(64 << 23));
      within &= _mm512_cmplt_epu32_mask(above, _mm512_set1_epi32((190 - 64) << 23));
    });
    return within == 0xFFFF;
  }
}
/// Sums of the lanes of `Count` vectors, by halves.
template <int Count>
LW_AI void fold16(const Float* a, float* out) {
  if constexpr (Count == 4) {
    // All four at once: the halves of two of them side by side, then the quarters of all.
    __m512 halves[2];
    unroll<0, 2>([&](auto i) __attribute__((always_inline)) {
      const __m512 low = _mm512_shuffle_f32x4(a[2 * i].raw(), a[2 * i + 1].raw(), 0x44);
      const __m512 high = _mm512_shuffle_f32x4(a[2 * i].raw(), a[2 * i + 1].raw(), 0xEE);
      halves[i] = _mm512_add_ps(low, high);
    });
    const __m512 four = _mm512_add_ps(_mm512_shuffle_f32x4(halves[0], halves[1], 0x88),
                                      _mm512_shuffle_f32x4(halves[0], halves[1], 0xDD));
    const __m512 two = _mm512_add_ps(four, _mm512_permute_ps(four, 0x4E));
    const __m512 one = _mm512_add_ps(two, _mm512_permute_ps(two, 0xB1));
    out[0] = _mm512_cvtss_f32(one);
    out[1] = _mm_cvtss_f32(_mm512_extractf32x4_ps(one, 1));
    out[2] = _mm_cvtss_f32(_mm512_extractf32x4_ps(one, 2));
    out[3] = _mm_cvtss_f32(_mm512_extractf32x4_ps(one, 3));
  } else {
    unroll<0, Count>([&](auto i) __attribute__((always_inline)) {
      const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a[i].raw()), _mm512_extractf32x8_ps(a[i].raw(), 1));
      const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
      const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
      out[i] = _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    });
  }
}
LW_AI void store(float* at, Float a) { _mm512_storeu_ps(at, a.raw()); }

}  // namespace lanewise::LW_TARGET

#define lw_word ::lanewise::LW_TARGET::Word
#define lw_int ::lanewise::LW_TARGET::Int
#define lw_float ::lanewise::LW_TARGET::Float
#define LW_TO_I32(value) ::lanewise::LW_TARGET::to_int(value)
#define LW_AS_FLOAT(bits) ::lanewise::LW_TARGET::as_float(bits)

#define LW_HAVE_BYTES_ADD
#define LW_HAVE_SPREAD_BITS
#define LW_HAVE_SPREAD_BITS_TO
#define LW_HAVE_SPREAD_CRUMBS
#define LW_HAVE_SPREAD_CRUMBS_FROM
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

// The compiler folds two such sums with constants into one, so an offset that a format subtracts and a kernel adds
// again costs nothing.
static LW_AI lw_word lw_bytes_add(lw_word a, lw_word b) { return (V32u)((V8u)a.v + (V8u)b.v); }
// A multishift's control: byte i of a word gets the eight bits from bit `first` + i * `step` of that word on. Bits
// outside the word are the neighbour's: where they may come in, the reader ignores them.
constexpr long long lw_bit_starts(int first, int step) {
  unsigned long long control = 0;
  for (int i = 0; i < 8; ++i) {
    const int bit = first + i % 4 * step + i / 4 * 32;
    control |= (unsigned long long)(bit & 63) << (8 * i);
  }
  return (long long)control;
}
static LW_AI __m512i lw_bits_from(lw_word word, int first, int step) {
  return _mm512_multishift_epi64_epi8(_mm512_set1_epi64(lw_bit_starts(first, step)), word.raw());
}
static LW_AI lw_word lw_spread_bits_to(lw_word word, std::uint32_t first, std::uint32_t to) {
  return lw_word(lw_bits_from(word, (int)first - (int)to, 1)) & (0x01010101u << to);
}
static LW_AI lw_word lw_spread_bits(lw_word bits) { return lw_spread_bits_to(bits, 0, 0); }
static LW_AI lw_word lw_spread_crumbs_from(lw_word word, std::uint32_t first) {
  return lw_word(lw_bits_from(word, (int)first, 2)) & 0x03030303u;
}
static LW_AI lw_word lw_spread_crumbs(lw_word crumbs) { return lw_spread_crumbs_from(crumbs, 0); }
// In 16 bits: byte * power * 256 leaves the wanted fraction, and the high half of its product with 3 is the digit; with
// 3 * 256, the digit stands in the high byte, above what is left.
static LW_AI lw_word lw_trits(lw_word bytes, std::uint32_t place) {
  const int power = place < 4 ? (int)((0x1B090301u >> (8 * place)) & 255u) : 81;
  const __m512i even =
      _mm512_mulhi_epu16(_mm512_mullo_epi16(bytes.raw(), _mm512_set1_epi16((short)(power << 8))), _mm512_set1_epi16(3));
  const __m512i high = _mm512_and_si512(bytes.raw(), _mm512_set1_epi16((short)0xFF00));
  const __m512i odd =
      _mm512_mulhi_epu16(_mm512_mullo_epi16(high, _mm512_set1_epi16((short)power)), _mm512_set1_epi16(768));
  // The high byte of the one, the low byte of the other.
  return _mm512_ternarylogic_epi32(odd, even, _mm512_set1_epi16((short)0xFF00), 0xE4);
}
static LW_AI lw_word lw_sign_index(lw_word index) {
  return index | (lw_word(_mm512_popcnt_epi32(index.raw())) << 31u) >> 24u;
}
static LW_AI lw_word lw_negate(lw_word bytes, lw_word signs) {
  const __m512i places = lw_bits_from(signs, 0, 1);
  const __mmask64 negative = _mm512_test_epi8_mask(places, _mm512_set1_epi8(1));
  return _mm512_mask_sub_epi8(bytes.raw(), negative, _mm512_setzero_si512(), bytes.raw());
}
static LW_AI lw_word lw_table16(lw_word n, std::uint32_t t0, std::uint32_t t1, std::uint32_t t2, std::uint32_t t3) {
  return _mm512_shuffle_epi8(_mm512_set4_epi32((int)t3, (int)t2, (int)t1, (int)t0), n.raw());
}
static LW_AI lw_float lw_half_to_float(lw_word half_bits) {
  return (V32f)_mm512_cvtph_ps(_mm512_cvtepi32_epi16(half_bits.raw()));
}
static LW_AI lw_float lw_ue4m3_halved(lw_word byte) {
  const lw_word low = byte & 0x7Fu;
  const __m512i normal = ((low << 20u) + (119u << 23)).raw();
  const __m512 subnormal = _mm512_mul_ps(_mm512_cvtepi32_ps(low.raw()), _mm512_set1_ps(0.0009765625F));
  const __mmask16 small = _mm512_cmplt_epu32_mask(low.raw(), _mm512_set1_epi32(8));
  const __mmask16 kept = _mm512_cmpneq_epu32_mask(byte.raw(), _mm512_set1_epi32(0x7F));
  return (V32f)_mm512_maskz_mov_epi32(kept, _mm512_mask_mov_epi32(normal, small, _mm512_castps_si512(subnormal)));
}
static LW_AI lw_int lw_sign_extend8(lw_word byte) { return _mm512_srai_epi32(_mm512_slli_epi32(byte.raw(), 24), 24); }
static LW_AI lw_word lw_gather(const std::uint32_t* table, lw_word index) {
  // The compiler leaves in `out` what was there, whose making the gather would then wait for.
  __m512i out;
  asm("vpxord %0, %0, %0\n\tkxnorw %%k1, %%k1, %%k1\n\tvpgatherdd (%1,%2,4), %0%{%%k1%}"
      : "=&v"(out)
      : "r"(table), "v"(index.raw())
      : "k1");
  return out;
}

}  // namespace lanewise

#include "backends/cpu/simd/avx512_runs.inc.h"
