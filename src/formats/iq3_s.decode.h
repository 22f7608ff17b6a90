// IQ3_S: 256 codes in 8 groups of 32, each four of them an entry of a grid of 512 and four sign bits; one fp16 d.
// Bytes 0..1 d; byte 2+q the low eight bits of the entry of the q-th four, byte 66+q/8 its ninth at bit q mod 8; byte
// 74+q/2 the signs, even fours low; byte 106+g/2 the s of group g, even ones low. sc is 2s + 1.
#ifndef LANEWISE_FORMATS_IQ3_S_DECODE_H
#define LANEWISE_FORMATS_IQ3_S_DECODE_H
#include "primitives.h"
#include "tables/iq3_s_grid.h"

#define LW_IQ3_S_ELEMENTS 256
#define LW_IQ3_S_BYTES 110
#define LW_IQ3_S_GROUP 32
#define LW_IQ3_S_DGROUP 256
#define LW_IQ3_S_QUAD_PARTS 3
#define LW_IQ3_S_SC_PARTS 1
#define LW_IQ3_S_MN_PARTS 0
#define LW_IQ3_S_D_PARTS 1
#define LW_IQ3_S_M_PARTS 0
#define LW_IQ3_S_MIN_CODE -15
#define LW_IQ3_S_QUAD_ENDS LW_ENDS_BY_ITSELF
#define LW_IQ3_S_RAW_CODES 0
#define LW_IQ3_S_MAX_CODE 15
#define LW_IQ3_S_MAX_SC 31
// The grid, for who keeps a copy of it elsewhere.
#define LW_IQ3_S_TABLE lw_iq3_s_grid
#define LW_IQ3_S_TABLE_WORDS LW_IQ3_S_GRID_WORDS

LW_DECODE_BEGIN
LW_WHERE LwPart iq3_s_quad_part(lw_u32 quad, lw_u32 i) {
  if (i == 0u) return lw_part(2u + 4u * (quad >> 2u), 8u * (quad & 3u), 255u);
  if (i == 1u) return lw_part(66u + 4u * (quad >> 5u), quad & 31u, 1u);
  return lw_part(74u + 4u * (quad >> 3u), 4u * (quad & 7u), 15u);
}
LW_FN lw_word iq3_s_quad(lw_u32, lw_word p0, lw_word p1, lw_word p2) {
  return lw_negate(LW_GRID(lw_iq3_s_grid, p0 | (p1 << 8u)), p2);
}
LW_WHERE LwPart iq3_s_sc_part(lw_u32 group, lw_u32) { return lw_part(106u, 4u * group, 15u); }
LW_FN lw_int iq3_s_sc(lw_word raw) { return LW_TO_I32(2u * raw + 1u); }
LW_WHERE LwPart iq3_s_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float iq3_s_d(lw_word raw) { return lw_half_to_float(raw); }
LW_NO_MIN(iq3_s)
LW_DECODE_END

#if LW_NIBBLES
#define LW_IQ3_S_EIGHTS 0

LW_DECODE_BEGIN
LW_WHERE lw_u32 iq3_s_eight_codes(lw_u32) { return 0u; }
LW_FN lw_word iq3_s_grid_entry(lw_u32 entry) { return lw_iq3_s_grid[entry]; }
LW_DECODE_END
#endif

#if LW_RUNS
#include "iq3_runs.h"

#define LW_IQ3_S_RUN 16
#define LW_IQ3_S_RUN_PARTS 3
#define LW_IQ3_S_RUN_MOST lw_iq3_s_run_most

LW_DECODE_BEGIN
inline constexpr int lw_iq3_s_run_most = 2 * lw_most_of_grid<1>(lw_iq3_s_grid);
// 1, 3, .. 15.
constexpr lw_u32 lw_iq3_s_place(lw_u32 value) { return value >> 1u; }
constexpr lw_u32 lw_iq3_s_value(lw_u32 place) { return 2u * place + 1u; }
inline constexpr auto lw_iq3_s_first = lw_iq3_pairs(lw_iq3_s_grid, 0u, lw_iq3_s_place);
inline constexpr auto lw_iq3_s_second = lw_iq3_pairs(lw_iq3_s_grid, 2u, lw_iq3_s_place);
inline constexpr auto lw_iq3_s_codes = lw_iq3_codes(lw_iq3_s_value);

LW_WHERE LwPart iq3_s_run_part(lw_u32 run, lw_u32 i) {
  if (i == 0u) return lw_part(2u + 4u * run, 0u, 0xFFFFFFFFu);
  if (i == 1u) return lw_part(66u + 4u * (run >> 3u), 0u, 0xFFFFFFFFu);
  return lw_part(74u + 4u * (run >> 1u), 0u, 0xFFFFFFFFu);
}
LW_FN LwRun16 iq3_s_run(lw_u32 run, lw_word p0, lw_word p1, lw_word p2) {
  lw_u32 at = 4u * (run & 7u);
  return lw_iq3_run16(lw_iq3_s_codes.byte, lw_look_up512(lw_iq3_s_first.byte, p0, p1, at),
                      lw_look_up512(lw_iq3_s_second.byte, p0, p1, at), p2, run & 1u);
}
LW_DECODE_END
#endif

#endif
