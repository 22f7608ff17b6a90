// The primitives of formats/runs.h on AVX-512 (VBMI's byte permutation and multishift, GFNI's bit matrices): the part
// of avx512.inc.h that only grid formats read. Of 64-byte vectors, a look-up in 64 bytes (vpermb), a multishift and a
// shuffle take port 5, a bit matrix, a shift and the making of a mask port 0, logic either.

namespace lanewise::LW_TARGET {

/// Lane i is i; each lane, by its low four bits, one of sixteen.
LW_AI Word lane_numbers() { return V32u{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }
LW_AI Int look_up_lanes(Int table, Word n) { return _mm512_permutexvar_epi32(n.raw(), table.raw()); }
LW_AI Float look_up_lanes(Float table, Word n) { return (V32f)_mm512_permutexvar_ps(n.raw(), table.raw()); }
/// A word that stays in a register: compilers take a second load for as cheap, but gathers need every load.
LW_AI Word hold(Word a) {
  asm("" : "+v"(a.v));
  return a;
}
/// A value whose making stays where it is among products and prefetches.
LW_AI Word pin(Word a) {
  asm volatile("" : "+v"(a.v));
  return a;
}
LW_AI Int pin(Int a) {
  asm volatile("" : "+v"(a.v));
  return a;
}
/// A float that is an integer.
LW_AI Int whole(Float a) { return (V32i)_mm512_cvtps_epi32(a.raw()); }

}  // namespace lanewise::LW_TARGET

#define LW_RUNS 1
#define LW_HAVE_BYTE_OF
#define LW_HAVE_LOOK_UP64
#define LW_HAVE_LOOK_UP256
#define LW_HAVE_LOOK_UP512
#define LW_HAVE_BYTES_SIGN_INDEX
#define LW_HAVE_FOUR_SIGN_INDICES
#define LW_HAVE_PUT_SIGNS
#define LW_HAVE_PUT_BIT
#define LW_HAVE_NIBBLES_APART
#define LW_HAVE_PUT_BITS

namespace lanewise {

// A bit matrix: bit i of a byte's product is the parity of the byte's bits `row` of i.
template <class Row>
constexpr long long lw_bit_matrix(Row row) {
  unsigned long long matrix = 0;
  for (int i = 0; i < 8; ++i) matrix |= (unsigned long long)(row(i) & 255) << (8 * (7 - i));
  return (long long)matrix;
}
static LW_AI __m512i lw_times_matrix(__m512i bytes, long long matrix) {
  return _mm512_gf2p8affine_epi64_epi8(bytes, _mm512_set1_epi64(matrix), 0);
}
static LW_AI __m512i lw_each_byte(std::uint32_t value) { return _mm512_set1_epi32((int)(value * 0x01010101u)); }

static LW_AI lw_word lw_byte_of(lw_word word, std::uint32_t i) {
  if (i == 0) return word & 255u;
  if (i == 3) return word >> 24u;
  const int control = (int)(0x80808000u | i);
  const __m512i places = _mm512_set4_epi32(control + 12, control + 8, control + 4, control);
  return _mm512_shuffle_epi8(word.raw(), places);
}
static LW_AI lw_word lw_look_up64(const std::uint8_t (&table)[64], lw_word n) {
  return _mm512_permutexvar_epi8(n.raw(), _mm512_load_si512(table));
}
// The four (or eight) look-ups of which each byte keeps one: those of its index's upper bits come last.
static LW_AI __m512i lw_quarter(__m512i others, __mmask64 chosen, const std::uint8_t* table, __m512i n) {
  return _mm512_mask_permutexvar_epi8(others, chosen, n, _mm512_load_si512(table));
}
static LW_AI lw_word lw_look_up256(const std::uint8_t (&table)[256], lw_word n) {
  const __m512i index = n.raw();
  const __mmask64 bit6 = _mm512_movepi8_mask(_mm512_add_epi8(index, index));
  const __mmask64 bit7 = _mm512_movepi8_mask(index);
  __m512i out = _mm512_permutexvar_epi8(index, _mm512_load_si512(table));
  out = lw_quarter(out, bit6, table + 64, index);
  out = lw_quarter(out, bit7, table + 128, index);
  return lw_quarter(out, bit6 & bit7, table + 192, index);
}
static LW_AI lw_word lw_look_up512(const std::uint8_t (&table)[512], lw_word n, lw_word ninths, std::uint32_t at) {
  const __m512i index = n.raw();
  const __mmask64 bit6 = _mm512_movepi8_mask(_mm512_add_epi8(index, index));
  const __mmask64 bit7 = _mm512_movepi8_mask(index);
  const __mmask64 bit8 = _mm512_movepi8_mask(lw_bits_from(ninths, (int)at - 7, 1));
  __m512i out = _mm512_permutexvar_epi8(index, _mm512_load_si512(table));
  __m512i high = _mm512_permutexvar_epi8(index, _mm512_load_si512(table + 256));
  out = lw_quarter(out, bit6, table + 64, index);
  high = lw_quarter(high, bit6, table + 320, index);
  out = lw_quarter(out, bit7, table + 128, index);
  high = lw_quarter(high, bit7, table + 384, index);
  out = lw_quarter(out, bit6 & bit7, table + 192, index);
  high = lw_quarter(high, bit6 & bit7, table + 448, index);
  return _mm512_mask_mov_epi8(out, bit8, high);
}
static LW_AI __m512i lw_sign_matrix(__m512i bytes) {
  return lw_times_matrix(bytes, lw_bit_matrix([](int i) { return i < 7 ? 2 << i : 0xFE; }));
}
static LW_AI lw_word lw_bytes_sign_index(lw_word bytes) { return lw_sign_matrix(bytes.raw()); }
static LW_AI lw_word lw_four_sign_indices(lw_word word) { return lw_sign_matrix(lw_bits_from(word, -1, 7)); }
static LW_AI lw_word lw_put_signs(lw_word bytes, lw_word signs, std::uint32_t at) {
  return _mm512_ternarylogic_epi32(bytes.raw(), lw_bits_from(signs, (int)at - 1, 1), lw_each_byte(0x22), 0xF8);
}
static LW_AI lw_word lw_put_bit(lw_word bytes, lw_word word, std::uint32_t at, std::uint32_t to) {
  return _mm512_ternarylogic_epi32(bytes.raw(), lw_bits_from(word, (int)at - (int)to, 0), lw_each_byte(1u << to), 0xF8);
}
static LW_AI lw_word lw_nibbles_apart(lw_word word, std::uint32_t half) {
  return lw_bits_from(word, (int)(16 * half), 4);
}
static LW_AI lw_word lw_put_bits(lw_word bytes, std::uint32_t mask, lw_word bits, std::uint32_t first,
                                 std::uint32_t low, std::uint32_t high) {
  const __m512i pair = lw_times_matrix(bits.raw(), lw_bit_matrix([=](int i) {
                                         return i == (int)low ? 1 << first : i == (int)high ? 2 << first : 0;
                                       }));
  return _mm512_ternarylogic_epi32(bytes.raw(), lw_each_byte(mask), pair, 0xEA);
}

}  // namespace lanewise
