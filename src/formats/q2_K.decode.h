// Q2_K: 256 codes of 2 bits in 16 groups of 16; d and dmin fp16, 4-bit sub-scales and sub-mins. Byte g is the sub-
// scale (low) and sub-min (high) of group g; byte 16+32*h+j holds elements 128*h+32*s+j at bits 2s; 80..81 d, 82..83
// dmin.
#ifndef LANEWISE_FORMATS_Q2_K_DECODE_H
#define LANEWISE_FORMATS_Q2_K_DECODE_H
#include "primitives.h"

#define LW_Q2_K_ELEMENTS 256
#define LW_Q2_K_BYTES 84
#define LW_Q2_K_GROUP 16
#define LW_Q2_K_DGROUP 256
#define LW_Q2_K_QUAD_PARTS 1
#define LW_Q2_K_SC_PARTS 1
#define LW_Q2_K_MN_PARTS 1
#define LW_Q2_K_D_PARTS 1
#define LW_Q2_K_M_PARTS 1
#define LW_Q2_K_MIN_CODE 0
#define LW_Q2_K_QUAD_ENDS LW_ENDS_BY_ITSELF
#define LW_Q2_K_RAW_CODES 1
#define LW_Q2_K_MAX_CODE 3
#define LW_Q2_K_MAX_SC 15

LW_DECODE_BEGIN
LW_WHERE LwPart q2_K_quad_part(lw_u32 quad, lw_u32) {
  return lw_part(16u + 32u * (quad >> 5u) + 4u * (quad & 7u), ((quad >> 3u) & 3u) * 2u, 0x03030303u);
}
LW_FN lw_word q2_K_quad(lw_u32, lw_word p0, lw_word, lw_word) { return p0; }
LW_WHERE LwPart q2_K_sc_part(lw_u32 group, lw_u32) { return lw_part(group & ~3u, 8u * (group & 3u), 15u); }
LW_FN lw_int q2_K_sc(lw_word raw) { return LW_TO_I32(raw); }
LW_WHERE LwPart q2_K_mn_part(lw_u32 group, lw_u32) { return lw_part(group & ~3u, 8u * (group & 3u) + 4u, 15u); }
LW_FN lw_int q2_K_mn(lw_word raw) { return LW_TO_I32(raw); }
LW_WHERE LwPart q2_K_d_part(lw_u32, lw_u32) { return lw_part(80u, 0u, 0xFFFFu); }
LW_FN lw_float q2_K_d(lw_word raw) { return lw_half_to_float(raw); }
LW_WHERE LwPart q2_K_m_part(lw_u32, lw_u32) { return lw_part(80u, 16u, 0xFFFFu); }
LW_FN lw_float q2_K_m(lw_word raw) { return -lw_half_to_float(raw); }
LW_DECODE_END

#endif
