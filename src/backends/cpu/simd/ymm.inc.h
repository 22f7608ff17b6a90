// Sixteen lanes in two 256-bit registers: AVX2, FMA and F16C, with AVX-VNNI where LW_HAVE_AVXVNNI is 1. Included by the
// target's own small header, which names LW_TARGET. The rules of avx512.inc.h hold here too.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#define LW_LANES 16
#define LW_AI inline __attribute__((always_inline))

namespace lanewise::LW_TARGET {

typedef std::uint32_t V32u __attribute__((vector_size(32)));
typedef std::int32_t V32i __attribute__((vector_size(32)));
typedef std::uint8_t V8u __attribute__((vector_size(32)));
typedef float V32f __attribute__((vector_size(32)));

#include "backends/cpu/simd/unroll.inc.h"

/// Of one token codes go from W to their products as they are made (avx512.inc.h).
inline constexpr int register_tokens = 1;
inline constexpr bool streams_codes = true;
#if LW_HAVE_AVXVNNI
inline constexpr unsigned most_code = 255;
#else
inline constexpr unsigned most_code = 127;  // above, a product takes twice the steps
#endif
inline constexpr int most_sums = 4;
/// The byte products are of unsigned codes.
inline constexpr bool unsigned_codes = true;
/// dot_pairs() is one product.
inline constexpr bool pair_products = true;

struct Word {
  V32u v[2];
  LW_AI Word() = default;
  LW_AI Word(V32u a, V32u b) : v{a, b} {}
  LW_AI Word(__m256i a, __m256i b) : v{(V32u)a, (V32u)b} {}
  LW_AI Word(std::uint32_t scalar) : v{(V32u)_mm256_set1_epi32((int)scalar), (V32u)_mm256_set1_epi32((int)scalar)} {}
  [[nodiscard]] LW_AI __m256i raw(int i) const { return (__m256i)v[i]; }
};
struct Int {
  V32i v[2];
  LW_AI Int() = default;
  LW_AI Int(V32i a, V32i b) : v{a, b} {}
  LW_AI Int(__m256i a, __m256i b) : v{(V32i)a, (V32i)b} {}
  LW_AI Int(std::int32_t scalar) : v{(V32i)_mm256_set1_epi32(scalar), (V32i)_mm256_set1_epi32(scalar)} {}
  [[nodiscard]] LW_AI __m256i raw(int i) const { return (__m256i)v[i]; }
};
struct Float {
  V32f v[2];
  LW_AI Float() = default;
  LW_AI Float(V32f a, V32f b) : v{a, b} {}
  LW_AI Float(float scalar) : v{(V32f)_mm256_set1_ps(scalar), (V32f)_mm256_set1_ps(scalar)} {}
  [[nodiscard]] LW_AI __m256 raw(int i) const { return (__m256)v[i]; }
};

LW_AI Word operator&(Word a, Word b) { return {a.v[0] & b.v[0], a.v[1] & b.v[1]}; }
LW_AI Word operator|(Word a, Word b) { return {a.v[0] | b.v[0], a.v[1] | b.v[1]}; }
LW_AI Word operator^(Word a, Word b) { return {a.v[0] ^ b.v[0], a.v[1] ^ b.v[1]}; }
LW_AI Word operator~(Word a) { return {~a.v[0], ~a.v[1]}; }
LW_AI Word operator+(Word a, Word b) { return {a.v[0] + b.v[0], a.v[1] + b.v[1]}; }
LW_AI Word operator-(Word a, Word b) { return {a.v[0] - b.v[0], a.v[1] - b.v[1]}; }
LW_AI Word operator*(Word a, Word b) { return {a.v[0] * b.v[0], a.v[1] * b.v[1]}; }
LW_AI Word operator<<(Word a, std::uint32_t n) { return {a.v[0] << n, a.v[1] << n}; }
LW_AI Word operator>>(Word a, std::uint32_t n) { return {a.v[0] >> n, a.v[1] >> n}; }
LW_AI V32i wrap(V32u v) { return (V32i)v; }
LW_AI V32u bits(V32i v) { return (V32u)v; }
LW_AI Int operator+(Int a, Int b) { return {wrap(bits(a.v[0]) + bits(b.v[0])), wrap(bits(a.v[1]) + bits(b.v[1]))}; }
LW_AI Int operator-(Int a, Int b) { return {wrap(bits(a.v[0]) - bits(b.v[0])), wrap(bits(a.v[1]) - bits(b.v[1]))}; }
LW_AI Int operator*(Int a, Int b) { return {wrap(bits(a.v[0]) * bits(b.v[0])), wrap(bits(a.v[1]) * bits(b.v[1]))}; }
LW_AI Int operator<<(Int a, std::uint32_t n) { return {wrap(bits(a.v[0]) << n), wrap(bits(a.v[1]) << n)}; }
LW_AI Int operator>>(Int a, std::uint32_t n) { return {a.v[0] >> n, a.v[1] >> n}; }
LW_AI Float operator+(Float a, Float b) { return {a.v[0] + b.v[0], a.v[1] + b.v[1]}; }
LW_AI Float operator*(Float a, Float b) { return {a.v[0] * b.v[0], a.v[1] * b.v[1]}; }
LW_AI Float operator-(Float a) { return {-a.v[0], -a.v[1]}; }

LW_AI Float as_float(Word a) { return {(V32f)a.v[0], (V32f)a.v[1]}; }
LW_AI Word to_word(Int a) { return {(V32u)a.v[0], (V32u)a.v[1]}; }
LW_AI Int to_int(Word a) { return {wrap(a.v[0]), wrap(a.v[1])}; }
LW_AI Float to_float(Int a) { return {(V32f)_mm256_cvtepi32_ps(a.raw(0)), (V32f)_mm256_cvtepi32_ps(a.raw(1))}; }
/// a * b + c, rounded once; used only where a * b is exact.
LW_AI Float fused(Float a, Float b, Float c) {
  return {(V32f)_mm256_fmadd_ps(a.raw(0), b.raw(0), c.raw(0)), (V32f)_mm256_fmadd_ps(a.raw(1), b.raw(1), c.raw(1))};
}
LW_AI Float zero_float() { return Float(0.0F); }
LW_AI Int zero_int() { return Int(0); }

LW_AI Word load_words(const std::uint8_t* at) {
  return {_mm256_loadu_si256((const __m256i*)at), _mm256_loadu_si256((const __m256i*)(at + 32))};
}
/// Sixteen 16-bit or 8-bit fields, widened.
LW_AI Word load_halves(const std::uint8_t* at) {
  return {_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)at)),
          _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)(at + 16)))};
}
LW_AI Word load_bytes(const std::uint8_t* at) {
  return {_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)at)),
          _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)(at + 8)))};
}
/// Words 0 to 3 at byte `at` of sixteen rows, a row a lane: of each eight, rows j and 4+j in one register, then 4 x 4
/// words transposed within each half.
LW_AI void load_rows(const std::uint8_t* const* rows, std::uint64_t at, Word* out) {
  unroll<0, 2>([&](auto h) __attribute__((always_inline)) {
    __m256i z[4];
    unroll<0, 4>([&](auto j) __attribute__((always_inline)) {
      z[j] = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)(rows[8 * h + j] + at)));
      z[j] = _mm256_inserti128_si256(z[j], _mm_loadu_si128((const __m128i*)(rows[8 * h + 4 + j] + at)), 1);
    });
    const __m256i t0 = _mm256_unpacklo_epi32(z[0], z[1]);
    const __m256i t1 = _mm256_unpackhi_epi32(z[0], z[1]);
    const __m256i t2 = _mm256_unpacklo_epi32(z[2], z[3]);
    const __m256i t3 = _mm256_unpackhi_epi32(z[2], z[3]);
    out[0].v[h] = (V32u)_mm256_unpacklo_epi64(t0, t2);
    out[1].v[h] = (V32u)_mm256_unpackhi_epi64(t0, t2);
    out[2].v[h] = (V32u)_mm256_unpacklo_epi64(t1, t3);
    out[3].v[h] = (V32u)_mm256_unpackhi_epi64(t1, t3);
  });
}
LW_AI void store_words(std::uint8_t* at, Word a) {
  _mm256_storeu_si256((__m256i*)at, a.raw(0));
  _mm256_storeu_si256((__m256i*)(at + 32), a.raw(1));
}
LW_AI Int broadcast(const std::int32_t* at) { return Int(*at); }
LW_AI Float broadcast(const float* at) { return Float(*at); }
LW_AI __m256i four_bytes(const std::int8_t* x) { return _mm256_set1_epi32(*(const std::int32_t*)x); }

/// sums[c] += the unsigned codes of `Quads` quads (at most `Most`) * column c of x, whose bytes start at x + 256 * c;
/// between(q) once for each quad. One chunk at a time: two would need more registers than there are. `codes` are in
/// memory or made as codes[q] asks for them; then, with few columns, each quad meets all of them at once. Joined: the
/// sums of columns 2t and 2t + 1 only count as low + 256 * high.
template <int Quads, int Columns, int Sides, unsigned Most, bool Joined, class Codes, class Between>
LW_AI void dot_chunk(const Codes& codes, const std::int8_t* x, Int* sums, Between between) {
  static_assert(Sides == 1);
  constexpr bool few = Columns <= 2;
#if LW_HAVE_AVXVNNI
  const auto add = [&](auto c, auto q, const Word& code) __attribute__((always_inline)) {
    const __m256i row = four_bytes(x + c * 256 + q * 4);
    sums[c] = {_mm256_dpbusd_avx_epi32(sums[c].raw(0), code.raw(0), row),
               _mm256_dpbusd_avx_epi32(sums[c].raw(1), code.raw(1), row)};
    if constexpr (c == 0) between(q);
  };
  if constexpr (few) {
    unroll<0, Quads>([&](auto q) __attribute__((always_inline)) {
      const Word& code = codes[q];
      unroll<0, Columns>([&](auto c) __attribute__((always_inline)) { add(c, q, code); });
    });
  } else {
    unroll<0, Columns>([&](auto c) __attribute__((always_inline)) {
      unroll<0, Quads>([&](auto q) __attribute__((always_inline)) { add(c, q, codes[q]); });
    });
  }
#else
  if constexpr (Most <= 127) {
    // maddubs saturates its sums of two products at 32767: with codes of at most 127 it can't. As many quads as stay
    // below that are summed in 16 bits before they are widened.
    constexpr int safe = 32767 / static_cast<int>(Most * 256);
    constexpr int run = safe < Quads ? (safe < 1 ? 1 : safe) : Quads;
    const auto add = [&](auto c, auto q, const Word& code, __m256i* short_sums) __attribute__((always_inline)) {
      const __m256i row = four_bytes(x + c * 256 + q * 4);
      unroll<0, 2>([&](auto h) __attribute__((always_inline)) {
        const __m256i products = _mm256_maddubs_epi16(code.raw(h), row);
        short_sums[h] = q % run == 0 ? products : _mm256_add_epi16(short_sums[h], products);
      });
      if constexpr (c == 0) between(q);
    };
    const auto widen = [&](auto c, const __m256i* short_sums) __attribute__((always_inline)) {
      const __m256i ones = _mm256_set1_epi16(1);
      sums[c] = sums[c] + Int(_mm256_madd_epi16(short_sums[0], ones), _mm256_madd_epi16(short_sums[1], ones));
    };
    unroll<0, (Quads + run - 1) / run>([&](auto i) __attribute__((always_inline)) {
      constexpr int begin = i * run;
      constexpr int end = begin + run < Quads ? begin + run : Quads;
      if constexpr (few) {
        __m256i short_sums[Columns][2];
        unroll<begin, end>([&](auto q) __attribute__((always_inline)) {
          const Word& code = codes[q];
          unroll<0, Columns>([&](auto c) __attribute__((always_inline)) { add(c, q, code, short_sums[c]); });
        });
        unroll<0, Columns>([&](auto c) __attribute__((always_inline)) { widen(c, short_sums[c]); });
      } else {
        unroll<0, Columns>([&](auto c) __attribute__((always_inline)) {
          __m256i short_sums[2];
          unroll<begin, end>([&](auto q) __attribute__((always_inline)) { add(c, q, codes[q], short_sums); });
          widen(c, short_sums);
        });
      }
    });
  } else {
    // Eight-bit codes: even and odd bytes widened, products of 16 bits. Two planes that are joined anyway are joined
    // here, as 16-bit elements of x, and the low column gets the sum of both.
    const __m256i low_byte = _mm256_set1_epi16(255);
    unroll<0, Quads>([&](auto q) __attribute__((always_inline)) {
      const Word& code = codes[q];
      const __m256i even[2] = {_mm256_and_si256(code.raw(0), low_byte), _mm256_and_si256(code.raw(1), low_byte)};
      const __m256i odd[2] = {_mm256_srli_epi16(code.raw(0), 8), _mm256_srli_epi16(code.raw(1), 8)};
      unroll<0, Joined ? Columns / 2 : Columns>([&](auto n) __attribute__((always_inline)) {
        constexpr std::ptrdiff_t c = Joined ? 2 * n : n;
        const __m256i row = four_bytes(x + c * 256 + q * 4);
        __m256i row_odd = _mm256_srai_epi16(row, 8);
        __m256i row_even = _mm256_srai_epi16(_mm256_slli_epi16(row, 8), 8);
        if constexpr (Joined) {
          const __m256i high = four_bytes(x + (c + 1) * 256 + q * 4);
          row_odd = _mm256_add_epi16(row_odd, _mm256_andnot_si256(low_byte, high));
          row_even = _mm256_add_epi16(row_even, _mm256_slli_epi16(high, 8));
        }
        unroll<0, 2>([&](auto h) __attribute__((always_inline)) {
          const __m256i products =
              _mm256_add_epi32(_mm256_madd_epi16(even[h], row_even), _mm256_madd_epi16(odd[h], row_odd));
          sums[c].v[h] = (V32i)_mm256_add_epi32(sums[c].raw(h), products);
        });
      });
      between(q);
    });
  }
#endif
}
/// Two small unsigned integers, 16 bits each.
LW_AI Word pair_of(Int low, Int high) { return to_word(low) | (to_word(high) << 16); }
/// sum + a pair times a pair of signed 16-bit integers.
LW_AI Int dot_pairs(Int sum, Word pair, const std::int32_t* x) {
  const __m256i row = _mm256_set1_epi32(*x);
  return sum + Int(_mm256_madd_epi16(pair.raw(0), row), _mm256_madd_epi16(pair.raw(1), row));
}
LW_AI Int dot_pairs(Int sum, Word pair, Word x) {
  return sum + Int(_mm256_madd_epi16(pair.raw(0), x.raw(0)), _mm256_madd_epi16(pair.raw(1), x.raw(1)));
}
LW_AI void prefetch(const std::uint8_t* at) { asm volatile("prefetcht1 %0" : : "m"(*at)); }
LW_AI void prefetch_near(const std::uint8_t* at) { asm volatile("prefetcht0 %0" : : "m"(*at)); }

LW_AI __m256 biased_power_half(__m256i biased) {
  const __m256i raised = _mm256_max_epi32(biased, _mm256_setzero_si256());
  const __m256i above = _mm256_cmpgt_epi32(biased, _mm256_set1_epi32(90 + 127));
  return _mm256_castsi256_ps(_mm256_blendv_epi8(_mm256_slli_epi32(raised, 23), _mm256_set1_epi32(0x7F800000), above));
}
/// 2^(biased - 127), +0 below 2^-126, +infinity above 2^90.
LW_AI Float biased_power(Int biased) {
  return {(V32f)biased_power_half(biased.raw(0)), (V32f)biased_power_half(biased.raw(1))};
}
LW_AI __m256 canonical_half(__m256 a) {
  const __m256 nan = _mm256_cmp_ps(a, a, _CMP_UNORD_Q);
  return _mm256_blendv_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(0x7FC00000)), nan);
}
/// Any NaN as 0x7FC00000.
LW_AI Float canonical(Float a) { return {(V32f)canonical_half(a.raw(0)), (V32f)canonical_half(a.raw(1))}; }
LW_AI Float load_floats(const float* at) { return {(V32f)_mm256_loadu_ps(at), (V32f)_mm256_loadu_ps(at + 8)}; }
LW_AI __m256 limited_half(__m256 a) {
  const __m256i bits = _mm256_castps_si256(a);
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
  const __m256i least = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32((64 << 23) - 1));
  const __m256i most = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32((190 << 23) - 1));
  const __m256i nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7F800000));
  const __m256i infinite = _mm256_or_si256(_mm256_xor_si256(bits, magnitude), _mm256_set1_epi32(0x7F800000));
  return _mm256_castsi256_ps(
      _mm256_blendv_epi8(_mm256_and_si256(least, bits), infinite, _mm256_andnot_si256(nan, most)));
}
/// A weight as the arithmetic takes it: 0 below 2^-63, infinite from 2^63 on; a NaN stays one.
LW_AI Float limited(Float a) { return {(V32f)limited_half(a.raw(0)), (V32f)limited_half(a.raw(1))}; }
/// Whether limited() changes none of the 64 weights at `at`, of 2 bytes (BF16) or 4; a zero counts as changed.
template <int Bytes>
LW_AI bool within_limits(const std::uint8_t* at) {
  __m256i beyond = _mm256_setzero_si256();
  unroll<0, 2 * Bytes>([&](auto v) __attribute__((always_inline)) {
    const __m256i weights = _mm256_loadu_si256((const __m256i*)(at + v * 32));
    if constexpr (Bytes == 2) {
      const __m256i magnitude = _mm256_and_si256(weights, _mm256_set1_epi16(0x7FFF));
      const __m256i above = _mm256_sub_epi16(magnitude, _mm256_set1_epi16(64 << 7));
      beyond = _mm256_or_si256(beyond, _mm256_subs_epu16(above, _mm256_set1_epi16(((190 - 64) << 7) - 1)));
    } else {
      const __m256i magnitude = _mm256_and_si256(weights, _mm256_set1_epi32(0x7FFFFFFF));
      const __m256i least = _mm256_set1_epi32(64 << 23);
      const __m256i most = _mm256_set1_epi32((190 << 23) - 1);
      beyond = _mm256_or_si256(beyond, _mm256_cmpgt_epi32(least, magnitude));
      beyond = _mm256_or_si256(beyond, _mm256_cmpgt_epi32(magnitude, most));
    }
  });
  return _mm256_testz_si256(beyond, beyond) != 0;
}
/// Sums of the lanes of `Count` vectors, by halves.
template <int Count>
LW_AI void fold16(const Float* a, float* out) {
  unroll<0, Count>([&](auto i) __attribute__((always_inline)) {
    const __m256 eight = _mm256_add_ps(a[i].raw(0), a[i].raw(1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    out[i] = _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  });
}
LW_AI void store(float* at, Float a) {
  _mm256_storeu_ps(at, a.raw(0));
  _mm256_storeu_ps(at + 8, a.raw(1));
}

}  // namespace lanewise::LW_TARGET

#define lw_word ::lanewise::LW_TARGET::Word
#define lw_int ::lanewise::LW_TARGET::Int
#define lw_float ::lanewise::LW_TARGET::Float
#define LW_TO_I32(value) ::lanewise::LW_TARGET::to_int(value)
#define LW_AS_FLOAT(bits) ::lanewise::LW_TARGET::as_float(bits)

#define LW_HAVE_BYTES_ADD
#define LW_HAVE_SPREAD_BITS
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

static LW_AI lw_word lw_bytes_add(lw_word a, lw_word b) {
  return {(V32u)((V8u)a.v[0] + (V8u)b.v[0]), (V32u)((V8u)a.v[1] + (V8u)b.v[1])};
}
// All ones in byte i where bit i of the low four is set.
static LW_AI __m256i lw_bit_mask(__m256i nibble) {
  const __m256i places = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0, 0, 0, 0, 4, 4, 4, 4, 8,
                                          8, 8, 8, 12, 12, 12, 12);
  const __m256i bit = _mm256_set1_epi32(0x08040201);
  return _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(nibble, places), bit), bit);
}
static LW_AI lw_word lw_spread_bits(lw_word nibble) {
  return lw_word(lw_bit_mask(nibble.raw(0)), lw_bit_mask(nibble.raw(1))) & 0x01010101u;
}
static LW_AI __m256i lw_negate_half(__m256i bytes, __m256i signs) {
  const __m256i mask = lw_bit_mask(signs);
  return _mm256_sub_epi8(_mm256_xor_si256(bytes, mask), mask);
}
static LW_AI lw_word lw_negate(lw_word bytes, lw_word signs) {
  return {lw_negate_half(bytes.raw(0), signs.raw(0)), lw_negate_half(bytes.raw(1), signs.raw(1))};
}
// In 16 bits: byte * power * 256 leaves the wanted fraction in the high byte, and its product with 3 the digit above.
static LW_AI __m256i lw_trits_half(__m256i bytes, int power) {
  const __m256i three = _mm256_set1_epi16(3);
  const __m256i even = _mm256_mulhi_epu16(_mm256_mullo_epi16(bytes, _mm256_set1_epi16((short)(power << 8))), three);
  const __m256i high = _mm256_and_si256(bytes, _mm256_set1_epi16((short)0xFF00));
  const __m256i odd = _mm256_mulhi_epu16(_mm256_mullo_epi16(high, _mm256_set1_epi16((short)power)), three);
  return _mm256_or_si256(even, _mm256_slli_epi16(odd, 8));
}
static LW_AI lw_word lw_trits(lw_word bytes, std::uint32_t place) {
  const int power = place < 4 ? (int)((0x1B090301u >> (8 * place)) & 255u) : 81;
  return {lw_trits_half(bytes.raw(0), power), lw_trits_half(bytes.raw(1), power)};
}
static LW_AI lw_word lw_sign_index(lw_word index) {
  const lw_word fold = (index ^ (index >> 4u)) & 15u;
  const __m256i parities = _mm256_set1_epi32(0x6996);
  const lw_word odd(_mm256_srlv_epi32(parities, fold.raw(0)), _mm256_srlv_epi32(parities, fold.raw(1)));
  return index | ((odd & 1u) << 7u);
}
static LW_AI lw_word lw_table16(lw_word n, std::uint32_t t0, std::uint32_t t1, std::uint32_t t2, std::uint32_t t3) {
  const __m256i table = _mm256_setr_epi32((int)t0, (int)t1, (int)t2, (int)t3, (int)t0, (int)t1, (int)t2, (int)t3);
  return {_mm256_shuffle_epi8(table, n.raw(0)), _mm256_shuffle_epi8(table, n.raw(1))};
}
static LW_AI lw_float lw_half_to_float(lw_word half_bits) {
  // The pack works within 128-bit halves: its quarters stand in the order 0, 2, 1, 3.
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(half_bits.raw(0), half_bits.raw(1)), 0xD8);
  return {(V32f)_mm256_cvtph_ps(_mm256_castsi256_si128(packed)),
          (V32f)_mm256_cvtph_ps(_mm256_extracti128_si256(packed, 1))};
}
static LW_AI __m256i lw_ue4m3_half(__m256i byte) {
  const __m256i low = _mm256_and_si256(byte, _mm256_set1_epi32(0x7F));
  const __m256i normal = _mm256_add_epi32(_mm256_slli_epi32(low, 20), _mm256_set1_epi32(119 << 23));
  const __m256 subnormal = _mm256_mul_ps(_mm256_cvtepi32_ps(low), _mm256_set1_ps(0.0009765625F));
  const __m256i small = _mm256_cmpgt_epi32(_mm256_set1_epi32(8), low);
  const __m256i none = _mm256_cmpeq_epi32(byte, _mm256_set1_epi32(0x7F));
  return _mm256_andnot_si256(none, _mm256_blendv_epi8(normal, _mm256_castps_si256(subnormal), small));
}
static LW_AI lw_float lw_ue4m3_halved(lw_word byte) {
  return {(V32f)lw_ue4m3_half(byte.raw(0)), (V32f)lw_ue4m3_half(byte.raw(1))};
}
static LW_AI lw_int lw_sign_extend8(lw_word byte) {
  return {_mm256_srai_epi32(_mm256_slli_epi32(byte.raw(0), 24), 24),
          _mm256_srai_epi32(_mm256_slli_epi32(byte.raw(1), 24), 24)};
}
static LW_AI lw_word lw_gather(const std::uint32_t* table, lw_word index) {
  return {_mm256_i32gather_epi32((const int*)table, index.raw(0), 4),
          _mm256_i32gather_epi32((const int*)table, index.raw(1), 4)};
}

}  // namespace lanewise
