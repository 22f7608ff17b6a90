// IQ3_XXS: 256 codes in 8 groups of 32, each four of them an entry of a grid of 256, each eight sharing a sign index;
// one fp16 d. Bytes 0..1 d; byte 2+q the entry of the q-th four; the word at 66+4*g holds the sign index of the l-th
// eight of group g at bits 7l (7 bits) and s at bits 28..31. sc is 2s + 1, the scale d/4.
#ifndef LANEWISE_FORMATS_IQ3_XXS_DECODE_H
#define LANEWISE_FORMATS_IQ3_XXS_DECODE_H
#include "primitives.h"
#include "tables/iq3_xxs_grid.h"

#define LW_IQ3_XXS_ELEMENTS 256
#define LW_IQ3_XXS_BYTES 98
#define LW_IQ3_XXS_GROUP 32
#define LW_IQ3_XXS_DGROUP 256
#define LW_IQ3_XXS_QUAD_PARTS 2
#define LW_IQ3_XXS_SC_PARTS 1
#define LW_IQ3_XXS_MN_PARTS 0
#define LW_IQ3_XXS_D_PARTS 1
#define LW_IQ3_XXS_M_PARTS 0
#define LW_IQ3_XXS_MIN_CODE -62
#define LW_IQ3_XXS_QUAD_ENDS LW_ENDS_BY_ITSELF
#define LW_IQ3_XXS_RAW_CODES 0
#define LW_IQ3_XXS_MAX_CODE 62
#define LW_IQ3_XXS_MAX_SC 31
// The grid, for who keeps a copy of it elsewhere.
#define LW_IQ3_XXS_TABLE lw_iq3_xxs_grid
#define LW_IQ3_XXS_TABLE_WORDS LW_IQ3_XXS_GRID_WORDS

LW_DECODE_BEGIN
LW_WHERE LwPart iq3_xxs_quad_part(lw_u32 quad, lw_u32 i) {
  if (i == 0u) return lw_part(2u + 4u * (quad >> 2u), 8u * (quad & 3u), 255u);
  return lw_part(66u + 4u * (quad >> 3u), 7u * ((quad >> 1u) & 3u), 127u);
}
LW_FN lw_word iq3_xxs_quad(lw_u32 quad, lw_word p0, lw_word p1, lw_word) {
  return lw_negate(LW_GRID(lw_iq3_xxs_grid, p0), lw_sign_index(p1) >> (4u * (quad & 1u)));
}
LW_WHERE LwPart iq3_xxs_sc_part(lw_u32 group, lw_u32) { return lw_part(66u + 4u * group, 28u, 15u); }
LW_FN lw_int iq3_xxs_sc(lw_word raw) { return LW_TO_I32(2u * raw + 1u); }
LW_WHERE LwPart iq3_xxs_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float iq3_xxs_d(lw_word raw) { return lw_half_to_float(raw) * 0.25f; }
LW_NO_MIN(iq3_xxs)
LW_DECODE_END

#if LW_NIBBLES
#define LW_IQ3_XXS_EIGHTS 0

LW_DECODE_BEGIN
LW_WHERE lw_u32 iq3_xxs_eight_codes(lw_u32) { return 0u; }
LW_FN lw_word iq3_xxs_grid_entry(lw_u32 entry) { return lw_iq3_xxs_grid[entry]; }
LW_DECODE_END
#endif

#if LW_RUNS
#include "iq3_runs.h"

#define LW_IQ3_XXS_RUN 16
#define LW_IQ3_XXS_RUN_PARTS 2
#define LW_IQ3_XXS_RUN_MOST lw_iq3_xxs_run_most

LW_DECODE_BEGIN
inline constexpr int lw_iq3_xxs_run_most = 2 * lw_most_of_grid<1>(lw_iq3_xxs_grid);
// 4, 12, .. 52, 62.
constexpr lw_u32 lw_iq3_xxs_place(lw_u32 value) { return value >> 3u; }
constexpr lw_u32 lw_iq3_xxs_value(lw_u32 place) { return place == 7u ? 62u : 8u * place + 4u; }
inline constexpr auto lw_iq3_xxs_first = lw_iq3_pairs(lw_iq3_xxs_grid, 0u, lw_iq3_xxs_place);
inline constexpr auto lw_iq3_xxs_second = lw_iq3_pairs(lw_iq3_xxs_grid, 2u, lw_iq3_xxs_place);
inline constexpr auto lw_iq3_xxs_codes = lw_iq3_codes(lw_iq3_xxs_value);

LW_WHERE LwPart iq3_xxs_run_part(lw_u32 run, lw_u32 i) {
  return lw_part(i == 0u ? 2u + 4u * run : 66u + 4u * (run >> 1u), 0u, 0xFFFFFFFFu);
}
LW_FN LwRun16 iq3_xxs_run(lw_u32 run, lw_word p0, lw_word p1, lw_word) {
  return lw_iq3_run16(lw_iq3_xxs_codes.byte, lw_look_up256(lw_iq3_xxs_first.byte, p0),
                      lw_look_up256(lw_iq3_xxs_second.byte, p0), lw_four_sign_indices(p1), run & 1u);
}
LW_DECODE_END
#endif

#endif
