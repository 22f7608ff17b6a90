// IQ2_XXS: 256 codes in 8 groups of 32, each eight of them an entry of a grid of 256 and a sign index; one fp16 d.
// Bytes 0..1 d; of group g, byte 2+8*g+l the entry of its l-th eight, and the word at 6+8*g the sign index of that
// eight at bits 7l (7 bits) and s at bits 28..31. sc is 2s + 1, the scale d/8.
#ifndef LANEWISE_FORMATS_IQ2_XXS_DECODE_H
#define LANEWISE_FORMATS_IQ2_XXS_DECODE_H
#include "primitives.h"
#include "tables/iq2_xxs_grid.h"

#define LW_IQ2_XXS_ELEMENTS 256
#define LW_IQ2_XXS_BYTES 66
#define LW_IQ2_XXS_GROUP 32
#define LW_IQ2_XXS_DGROUP 256
#define LW_IQ2_XXS_QUAD_PARTS 2
#define LW_IQ2_XXS_SC_PARTS 1
#define LW_IQ2_XXS_MN_PARTS 0
#define LW_IQ2_XXS_D_PARTS 1
#define LW_IQ2_XXS_M_PARTS 0
#define LW_IQ2_XXS_MIN_CODE -43
#define LW_IQ2_XXS_QUAD_ENDS LW_ENDS_BY_ITSELF
#define LW_IQ2_XXS_RAW_CODES 0
#define LW_IQ2_XXS_MAX_CODE 43
#define LW_IQ2_XXS_MAX_SC 31
// The grid, for who keeps a copy of it elsewhere.
#define LW_IQ2_XXS_TABLE lw_iq2_xxs_grid
#define LW_IQ2_XXS_TABLE_WORDS LW_IQ2_XXS_GRID_WORDS

LW_DECODE_BEGIN
LW_WHERE LwPart iq2_xxs_quad_part(lw_u32 quad, lw_u32 i) {
  if (i == 0u) return lw_part(2u + 8u * (quad >> 3u), 8u * ((quad >> 1u) & 3u), 255u);
  return lw_part(6u + 8u * (quad >> 3u), 7u * ((quad >> 1u) & 3u), 127u);
}
LW_FN lw_word iq2_xxs_quad(lw_u32 quad, lw_word p0, lw_word p1, lw_word) {
  return lw_negate(LW_GRID(lw_iq2_xxs_grid, 2u * p0 + (quad & 1u)), lw_sign_index(p1) >> (4u * (quad & 1u)));
}
LW_WHERE LwPart iq2_xxs_sc_part(lw_u32 group, lw_u32) { return lw_part(6u + 8u * group, 28u, 15u); }
LW_FN lw_int iq2_xxs_sc(lw_word raw) { return LW_TO_I32(2u * raw + 1u); }
LW_WHERE LwPart iq2_xxs_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float iq2_xxs_d(lw_word raw) { return lw_half_to_float(raw) * 0.125f; }
LW_NO_MIN(iq2_xxs)
LW_DECODE_END

#if LW_NIBBLES
#include "nibbles.h"

#define LW_IQ2_XXS_EIGHTS LW_IQ2_XXS_GRID_ENTRIES

LW_DECODE_BEGIN
LW_WHERE lw_u32 iq2_xxs_eight_codes(lw_u32 flipped) {
  return flipped != 0u ? LW_IQ2_CODES_FLIPPED : LW_IQ2_CODES_PLAIN;
}
LW_FN lw_word iq2_xxs_grid_entry(lw_u32 entry) {
  return lw_iq2_eight(lw_iq2_xxs_grid[2u * entry], lw_iq2_xxs_grid[2u * entry + 1u]);
}
LW_DECODE_END
#endif

#if LW_RUNS
#include "iq2_runs.h"

#define LW_IQ2_XXS_RUN 32
#define LW_IQ2_XXS_RUN_PARTS 2
#define LW_IQ2_XXS_RUN_MOST lw_iq2_xxs_run_most

LW_DECODE_BEGIN
inline constexpr int lw_iq2_xxs_run_most = lw_most_of_grid<2>(lw_iq2_xxs_grid);
// The crumbs of an entry's first and of its last four values, lowest first.
constexpr lw_u32 lw_iq2_xxs_crumbs(lw_u32 word) {
  return lw_iq2_crumb(word & 255u) | lw_iq2_crumb(word >> 8u & 255u) << 2u | lw_iq2_crumb(word >> 16u & 255u) << 4u |
         lw_iq2_crumb(word >> 24u) << 6u;
}
inline constexpr LwBytes<256> lw_iq2_xxs_first =
    lw_make_bytes<256>([](lw_u32 entry) { return lw_iq2_xxs_crumbs(lw_iq2_xxs_grid[entry << 1u]); });
inline constexpr LwBytes<256> lw_iq2_xxs_last =
    lw_make_bytes<256>([](lw_u32 entry) { return lw_iq2_xxs_crumbs(lw_iq2_xxs_grid[entry << 1u | 1u]); });
// Of two crumbs under two signs, the code of the first and of the second.
inline constexpr LwBytes<64> lw_iq2_xxs_even =
    lw_make_bytes<64>([](lw_u32 n) { return lw_iq2_code(n & 3u, n >> 4u & 1u); });
inline constexpr LwBytes<64> lw_iq2_xxs_odd =
    lw_make_bytes<64>([](lw_u32 n) { return lw_iq2_code(n >> 2u & 3u, n >> 5u); });

LW_WHERE LwPart iq2_xxs_run_part(lw_u32 run, lw_u32 i) {
  return lw_part((i == 0u ? 2u : 6u) + 8u * run, 0u, 0xFFFFFFFFu);
}
LW_FN LwRun32 iq2_xxs_run(lw_u32, lw_word p0, lw_word p1, lw_word) {
  lw_word first = lw_look_up256(lw_iq2_xxs_first.byte, p0);
  lw_word last = lw_look_up256(lw_iq2_xxs_last.byte, p0);
  lw_word signs = lw_four_sign_indices(p1);
  lw_word codes01 = lw_put_bits(first, 15u, signs, 0u, 4u, 5u);
  lw_word codes23 = lw_put_bits(first >> 4u, 15u, signs, 2u, 4u, 5u);
  lw_word codes45 = lw_put_bits(last, 15u, signs, 4u, 4u, 5u);
  lw_word codes67 = lw_put_bits(last >> 4u, 15u, signs, 6u, 4u, 5u);
  LwRun32 run;
  run.word[0] = lw_look_up64(lw_iq2_xxs_even.byte, codes01);
  run.word[1] = lw_look_up64(lw_iq2_xxs_odd.byte, codes01);
  run.word[2] = lw_look_up64(lw_iq2_xxs_even.byte, codes23);
  run.word[3] = lw_look_up64(lw_iq2_xxs_odd.byte, codes23);
  run.word[4] = lw_look_up64(lw_iq2_xxs_even.byte, codes45);
  run.word[5] = lw_look_up64(lw_iq2_xxs_odd.byte, codes45);
  run.word[6] = lw_look_up64(lw_iq2_xxs_even.byte, codes67);
  run.word[7] = lw_look_up64(lw_iq2_xxs_odd.byte, codes67);
  return run;
}
LW_DECODE_END
#endif

#endif
