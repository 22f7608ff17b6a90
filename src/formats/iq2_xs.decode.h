// IQ2_XS: 256 codes in 16 groups of 16, each eight of them an entry of a grid of 512 and a sign index; one fp16 d.
// Bytes 0..1 d; the 16-bit number at 2+2*l holds the entry (low 9 bits) and sign index (high 7) of the l-th eight;
// byte 66+g/2 the s of group g, even ones low. sc is 2s + 1, the scale d/8.
#ifndef LANEWISE_FORMATS_IQ2_XS_DECODE_H
#define LANEWISE_FORMATS_IQ2_XS_DECODE_H
#include "primitives.h"
#include "tables/iq2_xs_grid.h"

#define LW_IQ2_XS_ELEMENTS 256
#define LW_IQ2_XS_BYTES 74
#define LW_IQ2_XS_GROUP 16
#define LW_IQ2_XS_DGROUP 256
#define LW_IQ2_XS_QUAD_PARTS 2
#define LW_IQ2_XS_SC_PARTS 1
#define LW_IQ2_XS_MN_PARTS 0
#define LW_IQ2_XS_D_PARTS 1
#define LW_IQ2_XS_M_PARTS 0
#define LW_IQ2_XS_MIN_CODE -43
#define LW_IQ2_XS_QUAD_ENDS LW_ENDS_BY_ITSELF
#define LW_IQ2_XS_RAW_CODES 0
#define LW_IQ2_XS_MAX_CODE 43
#define LW_IQ2_XS_MAX_SC 31
// The grid, for who keeps a copy of it elsewhere.
#define LW_IQ2_XS_TABLE lw_iq2_xs_grid
#define LW_IQ2_XS_TABLE_WORDS LW_IQ2_XS_GRID_WORDS

LW_DECODE_BEGIN
LW_WHERE LwPart iq2_xs_quad_part(lw_u32 quad, lw_u32 i) {
  if (i == 0u) return lw_part(2u + 4u * (quad >> 2u), 16u * ((quad >> 1u) & 1u), 511u);
  return lw_part(2u + 4u * (quad >> 2u), 16u * ((quad >> 1u) & 1u) + 9u, 127u);
}
LW_FN lw_word iq2_xs_quad(lw_u32 quad, lw_word p0, lw_word p1, lw_word) {
  return lw_negate(LW_GRID(lw_iq2_xs_grid, 2u * p0 + (quad & 1u)), lw_sign_index(p1) >> (4u * (quad & 1u)));
}
LW_WHERE LwPart iq2_xs_sc_part(lw_u32 group, lw_u32) {
  return lw_part(66u + 4u * (group >> 3u), 4u * (group & 7u), 15u);
}
LW_FN lw_int iq2_xs_sc(lw_word raw) { return LW_TO_I32(2u * raw + 1u); }
LW_WHERE LwPart iq2_xs_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float iq2_xs_d(lw_word raw) { return lw_half_to_float(raw) * 0.125f; }
LW_NO_MIN(iq2_xs)
LW_DECODE_END

#if LW_NIBBLES
#include "nibbles.h"

#define LW_IQ2_XS_EIGHTS LW_IQ2_XS_GRID_ENTRIES

LW_DECODE_BEGIN
LW_WHERE lw_u32 iq2_xs_eight_codes(lw_u32 flipped) { return flipped != 0u ? LW_IQ2_CODES_FLIPPED : LW_IQ2_CODES_PLAIN; }
LW_FN lw_word iq2_xs_grid_entry(lw_u32 entry) {
  return lw_iq2_eight(lw_iq2_xs_grid[2u * entry], lw_iq2_xs_grid[2u * entry + 1u]);
}
LW_DECODE_END
#endif

#if LW_RUNS
#include "iq2_runs.h"

#define LW_IQ2_XS_RUN 8
#define LW_IQ2_XS_RUN_PARTS 1
#define LW_IQ2_XS_RUN_MOST lw_iq2_xs_run_most

LW_DECODE_BEGIN
inline constexpr int lw_iq2_xs_run_most = lw_most_of_grid<2>(lw_iq2_xs_grid);
inline constexpr auto lw_iq2_xs_eights = lw_iq2_eights(lw_iq2_xs_grid);

// The word of two numbers: a number's upper byte is all but a sign index.
LW_WHERE LwPart iq2_xs_run_part(lw_u32 run, lw_u32) { return lw_part(2u + 4u * (run >> 1u), 0u, 0xFFFFFFFFu); }
LW_FN LwRun8 iq2_xs_run(lw_u32 run, lw_word p0, lw_word, lw_word) {
  lw_u32 at = 16u * (run & 1u);
  return lw_iq2_run8(LW_GRID(lw_iq2_xs_eights.word, (p0 >> at) & 511u), lw_bytes_sign_index(p0), at + 8u);
}
LW_DECODE_END
#endif

#endif
