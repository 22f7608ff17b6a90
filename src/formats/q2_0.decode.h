// Q2_0: 64 codes of 2 bits, one fp16 d. Bytes 0..1 d; byte 2+j holds elements 4*j to 4*j+3, lowest bits first; code q
// - 1: a stored 3 gives 2.
#ifndef LANEWISE_FORMATS_Q2_0_DECODE_H
#define LANEWISE_FORMATS_Q2_0_DECODE_H
#include "primitives.h"

#define LW_Q2_0_ELEMENTS 64
#define LW_Q2_0_BYTES 18
#define LW_Q2_0_GROUP 64
#define LW_Q2_0_DGROUP 64
#define LW_Q2_0_QUAD_PARTS 1
#define LW_Q2_0_SC_PARTS 0
#define LW_Q2_0_MN_PARTS 0
#define LW_Q2_0_D_PARTS 1
#define LW_Q2_0_M_PARTS 0
#define LW_Q2_0_MIN_CODE -1
#define LW_Q2_0_QUAD_ENDS LW_ENDS_BY_OFFSET
#define LW_Q2_0_RAW_CODES 0
#define LW_Q2_0_MAX_CODE 2
#define LW_Q2_0_MAX_SC 1

LW_DECODE_BEGIN
LW_WHERE LwPart q2_0_quad_part(lw_u32 quad, lw_u32) { return lw_part(2u + 4u * (quad >> 2u), 8u * (quad & 3u), 255u); }
LW_FN lw_word q2_0_quad_from(lw_word, lw_word word, lw_u32 shift) {
  return lw_bytes_add(lw_spread_crumbs_from(word, shift), 0xFFFFFFFFu);
}
LW_FN lw_word q2_0_quad(lw_u32, lw_word p0, lw_word, lw_word) { return q2_0_quad_from(p0, p0, 0u); }
LW_NO_SUB_SCALE(q2_0)
LW_WHERE LwPart q2_0_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float q2_0_d(lw_word raw) { return lw_half_to_float(raw); }
LW_NO_MIN(q2_0)
LW_DECODE_END

#endif
