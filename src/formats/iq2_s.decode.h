// IQ2_S: 256 codes in 16 groups of 16, each eight of them an entry of a grid of 1024 and eight sign bits; one fp16 d.
// Bytes 0..1 d; byte 2+l the low eight bits of the entry of the l-th eight, byte 34+l its signs, byte 66+l/4 the high
// two bits of the entry at bits 2*(l mod 4); byte 74+g/2 the s of group g, even ones low. sc is 2s + 1, the scale
// d/8.
#ifndef LANEWISE_FORMATS_IQ2_S_DECODE_H
#define LANEWISE_FORMATS_IQ2_S_DECODE_H
#include "primitives.h"
#include "tables/iq2_s_grid.h"

#define LW_IQ2_S_ELEMENTS 256
#define LW_IQ2_S_BYTES 82
#define LW_IQ2_S_GROUP 16
#define LW_IQ2_S_DGROUP 256
#define LW_IQ2_S_QUAD_PARTS 3
#define LW_IQ2_S_SC_PARTS 1
#define LW_IQ2_S_MN_PARTS 0
#define LW_IQ2_S_D_PARTS 1
#define LW_IQ2_S_M_PARTS 0
#define LW_IQ2_S_MIN_CODE -43
#define LW_IQ2_S_QUAD_ENDS LW_ENDS_BY_ITSELF
#define LW_IQ2_S_RAW_CODES 0
#define LW_IQ2_S_MAX_CODE 43
#define LW_IQ2_S_MAX_SC 31
// The grid, for who keeps a copy of it elsewhere.
#define LW_IQ2_S_TABLE lw_iq2_s_grid
#define LW_IQ2_S_TABLE_WORDS LW_IQ2_S_GRID_WORDS

LW_DECODE_BEGIN
LW_WHERE LwPart iq2_s_quad_part(lw_u32 quad, lw_u32 i) {
  if (i == 0u) return lw_part(2u + 4u * (quad >> 3u), 8u * ((quad >> 1u) & 3u), 255u);
  if (i == 1u) return lw_part(66u + 4u * (quad >> 5u), 2u * ((quad >> 1u) & 15u), 3u);
  return lw_part(34u + 4u * (quad >> 3u), 4u * (quad & 7u), 15u);
}
LW_FN lw_word iq2_s_quad(lw_u32 quad, lw_word p0, lw_word p1, lw_word p2) {
  return lw_negate(LW_GRID(lw_iq2_s_grid, 2u * (p0 | (p1 << 8u)) + (quad & 1u)), p2);
}
LW_WHERE LwPart iq2_s_sc_part(lw_u32 group, lw_u32) {
  return lw_part(74u + 4u * (group >> 3u), 4u * (group & 7u), 15u);
}
LW_FN lw_int iq2_s_sc(lw_word raw) { return LW_TO_I32(2u * raw + 1u); }
LW_WHERE LwPart iq2_s_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float iq2_s_d(lw_word raw) { return lw_half_to_float(raw) * 0.125f; }
LW_NO_MIN(iq2_s)
LW_DECODE_END

#if LW_NIBBLES
#include "nibbles.h"

#define LW_IQ2_S_EIGHTS LW_IQ2_S_GRID_ENTRIES

LW_DECODE_BEGIN
LW_WHERE lw_u32 iq2_s_eight_codes(lw_u32 flipped) { return flipped != 0u ? LW_IQ2_CODES_FLIPPED : LW_IQ2_CODES_PLAIN; }
LW_FN lw_word iq2_s_grid_entry(lw_u32 entry) {
  return lw_iq2_eight(lw_iq2_s_grid[2u * entry], lw_iq2_s_grid[2u * entry + 1u]);
}
LW_DECODE_END
#endif

#if LW_RUNS
#include "iq2_runs.h"

#define LW_IQ2_S_RUN 8
#define LW_IQ2_S_RUN_PARTS 3
#define LW_IQ2_S_RUN_MOST lw_iq2_s_run_most

LW_DECODE_BEGIN
inline constexpr int lw_iq2_s_run_most = lw_most_of_grid<2>(lw_iq2_s_grid);
inline constexpr auto lw_iq2_s_eights = lw_iq2_eights(lw_iq2_s_grid);

// Whole words: low bits of entries, their high bits, signs.
LW_WHERE LwPart iq2_s_run_part(lw_u32 run, lw_u32 i) {
  if (i == 0u) return lw_part(2u + 4u * (run >> 2u), 0u, 0xFFFFFFFFu);
  if (i == 1u) return lw_part(66u + 4u * (run >> 4u), 0u, 0xFFFFFFFFu);
  return lw_part(34u + 4u * (run >> 2u), 0u, 0xFFFFFFFFu);
}
LW_FN LwRun8 iq2_s_run(lw_u32 run, lw_word p0, lw_word p1, lw_word p2) {
  lw_word entry = lw_byte_of(p0, run & 3u) | (lw_shift_to(p1, 2u * (run & 15u), 8u) & 0x300u);
  return lw_iq2_run8(LW_GRID(lw_iq2_s_eights.word, entry), p2, 8u * (run & 3u));
}
LW_DECODE_END
#endif

#endif
