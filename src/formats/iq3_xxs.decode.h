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
#define LW_IQ3_XXS_RAW_CODES 0
#define LW_IQ3_XXS_MAX_CODE 62
#define LW_IQ3_XXS_MAX_SC 31

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

#endif
