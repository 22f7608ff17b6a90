// Q1_0: 128 codes of one bit, one fp16 d. Bytes 0..1 d; byte 2+j holds elements 8*j to 8*j+7, lowest bit first; a set
// bit is +1, a clear one -1.
#ifndef LANEWISE_FORMATS_Q1_0_DECODE_H
#define LANEWISE_FORMATS_Q1_0_DECODE_H
#include "primitives.h"

#define LW_Q1_0_ELEMENTS 128
#define LW_Q1_0_BYTES 18
#define LW_Q1_0_GROUP 128
#define LW_Q1_0_DGROUP 128
#define LW_Q1_0_QUAD_PARTS 1
#define LW_Q1_0_SC_PARTS 0
#define LW_Q1_0_MN_PARTS 0
#define LW_Q1_0_D_PARTS 1
#define LW_Q1_0_M_PARTS 0
#define LW_Q1_0_MIN_CODE -1
#define LW_Q1_0_QUAD_ENDS LW_ENDS_BY_OFFSET
#define LW_Q1_0_RAW_CODES 0
#define LW_Q1_0_MAX_CODE 1
#define LW_Q1_0_MAX_SC 1

LW_DECODE_BEGIN
LW_WHERE LwPart q1_0_quad_part(lw_u32 quad, lw_u32) { return lw_part(2u + 4u * (quad >> 3u), 4u * (quad & 7u), 15u); }
LW_FN lw_word q1_0_quad_from(lw_word, lw_word word, lw_u32 shift) {
  return lw_bytes_add(lw_spread_bits_to(word, shift, 1u), 0xFFFFFFFFu);
}
LW_FN lw_word q1_0_quad(lw_u32, lw_word p0, lw_word, lw_word) { return q1_0_quad_from(p0, p0, 0u); }
LW_NO_SUB_SCALE(q1_0)
LW_WHERE LwPart q1_0_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float q1_0_d(lw_word raw) { return lw_half_to_float(raw); }
LW_NO_MIN(q1_0)
LW_DECODE_END

#endif
