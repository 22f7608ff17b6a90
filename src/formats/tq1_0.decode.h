// TQ1_0: 256 ternary codes, five a byte in base 3, one fp16 d. Byte j of 0..31 holds elements 32*n+j, byte 32+j of
// 32..47 elements 160+16*n+j (n in 0..4, the most significant digit first), byte 48+j of 48..51 elements 240+4*n+j (n
// in 0..3); 52..53 d. code digit - 1. A part serves five quads.
#ifndef LANEWISE_FORMATS_TQ1_0_DECODE_H
#define LANEWISE_FORMATS_TQ1_0_DECODE_H
#include "primitives.h"

#define LW_TQ1_0_ELEMENTS 256
#define LW_TQ1_0_BYTES 54
#define LW_TQ1_0_GROUP 256
#define LW_TQ1_0_DGROUP 256
#define LW_TQ1_0_QUAD_PARTS 1
#define LW_TQ1_0_SC_PARTS 0
#define LW_TQ1_0_MN_PARTS 0
#define LW_TQ1_0_D_PARTS 1
#define LW_TQ1_0_M_PARTS 0
#define LW_TQ1_0_MIN_CODE -1
#define LW_TQ1_0_QUAD_ENDS LW_ENDS_BY_OFFSET
#define LW_TQ1_0_RAW_CODES 0
#define LW_TQ1_0_MAX_CODE 1
#define LW_TQ1_0_MAX_SC 1

LW_DECODE_BEGIN
LW_WHERE LwPart tq1_0_quad_part(lw_u32 quad, lw_u32) {
  lw_u32 byte = quad < 40u ? 4u * (quad & 7u) : (quad < 60u ? 32u + 4u * (quad & 3u) : 48u);
  return lw_part(byte, 0u, 0xFFFFFFFFu);
}
LW_FN lw_word tq1_0_quad(lw_u32 quad, lw_word p0, lw_word, lw_word) {
  lw_u32 place = quad < 40u ? quad >> 3u : (quad < 60u ? (quad - 40u) >> 2u : quad - 60u);
  return lw_bytes_add(lw_trits(p0, place), 0xFFFFFFFFu);
}
LW_NO_SUB_SCALE(tq1_0)
LW_WHERE LwPart tq1_0_d_part(lw_u32, lw_u32) { return lw_part(50u, 16u, 0xFFFFu); }
LW_FN lw_float tq1_0_d(lw_word raw) { return lw_half_to_float(raw); }
LW_NO_MIN(tq1_0)
LW_DECODE_END

#endif
