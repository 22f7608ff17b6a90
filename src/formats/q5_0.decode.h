// Q5_0: 32 codes of 5 bits, one fp16 d. Bytes 0..1 d; 2..5 the fifth bits, bit j of element j; byte 6+j holds the low
// four bits of element j low, of element 16+j high; code q - 16.
#ifndef LANEWISE_FORMATS_Q5_0_DECODE_H
#define LANEWISE_FORMATS_Q5_0_DECODE_H
#include "primitives.h"

#define LW_Q5_0_ELEMENTS 32
#define LW_Q5_0_BYTES 22
#define LW_Q5_0_GROUP 32
#define LW_Q5_0_DGROUP 32
#define LW_Q5_0_QUAD_PARTS 2
#define LW_Q5_0_SC_PARTS 0
#define LW_Q5_0_MN_PARTS 0
#define LW_Q5_0_D_PARTS 1
#define LW_Q5_0_M_PARTS 0
#define LW_Q5_0_MIN_CODE -16
#define LW_Q5_0_QUAD_ENDS LW_ENDS_BY_OFFSET
#define LW_Q5_0_RAW_CODES 0
#define LW_Q5_0_MAX_CODE 15
#define LW_Q5_0_MAX_SC 1

LW_DECODE_BEGIN
LW_WHERE LwPart q5_0_quad_part(lw_u32 quad, lw_u32 i) {
  return i == 0u ? lw_part(6u + 4u * (quad & 3u), (quad >> 2u) * 4u, 0x0F0F0F0Fu) : lw_part(2u, 4u * quad, 15u);
}
// A clear fifth bit means q - 16 < 0: the high nibble is all ones.
LW_FN lw_word q5_0_quad_from(lw_word p0, lw_word word, lw_u32 shift) {
  return lw_bytes_add(p0 | lw_spread_bits_to(word, shift, 4u), 0xF0F0F0F0u);
}
LW_FN lw_word q5_0_quad(lw_u32, lw_word p0, lw_word p1, lw_word) { return q5_0_quad_from(p0, p1, 0u); }
LW_NO_SUB_SCALE(q5_0)
LW_WHERE LwPart q5_0_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float q5_0_d(lw_word raw) { return lw_half_to_float(raw); }
LW_NO_MIN(q5_0)
LW_DECODE_END

#endif
