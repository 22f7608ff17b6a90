// IQ1_M: 256 codes in 16 groups of 16, each eight of them an entry of a grid of 2048 and a shift; one fp16 d,
// scattered. Byte l of 0..31 the low eight bits of the entry of the l-th eight; byte 32+l/2 its high three bits and,
// above them, the shift (set: -1/8), even eights low; the 16-bit numbers at 48, 50, 52, 54 hold the s of four groups
// each at bits 0, 3, 6, 9, and in their top four bits, lowest first, the bits of d. A value is grid + shift, so the
// code is 8*grid - 1 or + 1; sc is 2s + 1, the scale d/8.
#ifndef LANEWISE_FORMATS_IQ1_M_DECODE_H
#define LANEWISE_FORMATS_IQ1_M_DECODE_H
#include "primitives.h"
#include "tables/iq1_grid.h"

#define LW_IQ1_M_ELEMENTS 256
#define LW_IQ1_M_BYTES 56
#define LW_IQ1_M_GROUP 16
#define LW_IQ1_M_DGROUP 256
#define LW_IQ1_M_QUAD_PARTS 3
#define LW_IQ1_M_SC_PARTS 1
#define LW_IQ1_M_MN_PARTS 0
#define LW_IQ1_M_D_PARTS 4
#define LW_IQ1_M_M_PARTS 0
#define LW_IQ1_M_MIN_CODE -9
#define LW_IQ1_M_QUAD_ENDS LW_ENDS_BY_ITSELF
#define LW_IQ1_M_RAW_CODES 0
#define LW_IQ1_M_MAX_CODE 9
#define LW_IQ1_M_MAX_SC 15
// The grid, for who keeps a copy of it elsewhere.
#define LW_IQ1_M_TABLE lw_iq1_grid
#define LW_IQ1_M_TABLE_WORDS LW_IQ1_GRID_WORDS

LW_DECODE_BEGIN
LW_WHERE LwPart iq1_m_quad_part(lw_u32 quad, lw_u32 i) {
  if (i == 0u) return lw_part(4u * (quad >> 3u), 8u * ((quad >> 1u) & 3u), 255u);
  if (i == 1u) return lw_part(32u + 4u * (quad >> 4u), 4u * ((quad >> 1u) & 7u), 7u);
  return lw_part(32u + 4u * (quad >> 4u), 4u * ((quad >> 1u) & 7u) + 3u, 1u);
}
// The grid holds value + 1 in nibbles, so that a code 8 * value +- 1 is 8 * nibble - 8 +- 1.
LW_FN lw_word iq1_m_quad(lw_u32 quad, lw_word p0, lw_word p1, lw_word p2) {
  lw_word nibbles = (LW_GRID(lw_iq1_grid, p0 | (p1 << 8u)) >> (4u * (quad & 1u))) & 0x0F0F0F0Fu;
  return lw_bytes_add(nibbles << 3u, 0xF9F9F9F9u ^ (p2 * 0x0E0E0E0Eu));
}
LW_WHERE LwPart iq1_m_sc_part(lw_u32 group, lw_u32) {
  return lw_part(48u + 4u * (group >> 3u), 16u * ((group >> 2u) & 1u) + 3u * (group & 3u), 7u);
}
LW_FN lw_int iq1_m_sc(lw_word raw) { return LW_TO_I32(2u * raw + 1u); }
LW_WHERE LwPart iq1_m_d_part(lw_u32, lw_u32 i) { return lw_part(48u + 4u * (i >> 1u), 16u * (i & 1u) + 12u, 15u); }
LW_FN lw_float iq1_m_d(lw_word raw) { return lw_half_to_float(raw) * 0.125f; }
LW_NO_MIN(iq1_m)
LW_DECODE_END

#if LW_NIBBLES
#include "nibbles.h"

#define LW_IQ1_M_EIGHTS LW_IQ1_GRID_ENTRIES

LW_DECODE_BEGIN
LW_WHERE lw_u32 iq1_m_eight_codes(lw_u32 flipped) { return flipped != 0u ? LW_IQ1_CODES_FLIPPED : LW_IQ1_CODES_PLAIN; }
LW_FN lw_word iq1_m_grid_entry(lw_u32 entry) { return lw_iq1_eight(lw_iq1_grid[entry]); }
LW_DECODE_END
#endif

#if LW_RUNS
#include "iq1_runs.h"

#define LW_IQ1_M_RUN 8
#define LW_IQ1_M_RUN_PARTS 2
#define LW_IQ1_M_RUN_MOST lw_iq1_m_run_most

LW_DECODE_BEGIN
inline constexpr int lw_iq1_m_run_most = 72;
LW_WHERE LwPart iq1_m_run_part(lw_u32 run, lw_u32 i) {
  return lw_part(i == 0u ? 4u * (run >> 2u) : 32u + 4u * (run >> 3u), 0u, 0xFFFFFFFFu);
}
LW_FN LwRun8 iq1_m_run(lw_u32 run, lw_word p0, lw_word p1, lw_word) {
  lw_u32 nibble = 4u * (run & 7u);
  lw_word high = lw_shift_to(p1, nibble, 8u) & 0x700u;
  return lw_iq1_run8(lw_byte_of(p0, run & 3u) | high, p1, nibble + 3u);
}
LW_DECODE_END
#endif

#endif
