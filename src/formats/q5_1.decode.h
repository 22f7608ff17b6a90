// Q5_1: 32 codes of 5 bits, fp16 d and m. Bytes 0..1 d, 2..3 m; 4..7 the fifth bits, bit j of element j; byte 8+j
// holds the low four bits of element j low, of element 16+j high; code q, the min is m itself.
#ifndef LANEWISE_FORMATS_Q5_1_DECODE_H
#define LANEWISE_FORMATS_Q5_1_DECODE_H
#include "primitives.h"

#define LW_Q5_1_ELEMENTS 32
#define LW_Q5_1_BYTES 24
#define LW_Q5_1_GROUP 32
#define LW_Q5_1_DGROUP 32
#define LW_Q5_1_QUAD_PARTS 2
#define LW_Q5_1_SC_PARTS 0
#define LW_Q5_1_MN_PARTS 0
#define LW_Q5_1_D_PARTS 1
#define LW_Q5_1_M_PARTS 1
#define LW_Q5_1_MIN_CODE 0
#define LW_Q5_1_QUAD_ENDS LW_ENDS_BY_ITSELF
#define LW_Q5_1_RAW_CODES 0
#define LW_Q5_1_MAX_CODE 31
#define LW_Q5_1_MAX_SC 1

LW_DECODE_BEGIN
LW_WHERE LwPart q5_1_quad_part(lw_u32 quad, lw_u32 i) {
  return i == 0u ? lw_part(8u + 4u * (quad & 3u), (quad >> 2u) * 4u, 0x0F0F0F0Fu) : lw_part(4u, 4u * quad, 15u);
}
LW_FN lw_word q5_1_quad_from(lw_word p0, lw_word word, lw_u32 shift) { return p0 | lw_spread_bits_to(word, shift, 4u); }
LW_FN lw_word q5_1_quad(lw_u32, lw_word p0, lw_word p1, lw_word) { return q5_1_quad_from(p0, p1, 0u); }
LW_NO_SUB_SCALE(q5_1)
LW_WHERE LwPart q5_1_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float q5_1_d(lw_word raw) { return lw_half_to_float(raw); }
LW_WHERE LwPart q5_1_mn_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0u); }
LW_FN lw_int q5_1_mn(lw_word) { return lw_int(1); }
LW_WHERE LwPart q5_1_m_part(lw_u32, lw_u32) { return lw_part(0u, 16u, 0xFFFFu); }
LW_FN lw_float q5_1_m(lw_word raw) { return lw_half_to_float(raw); }
LW_DECODE_END

#endif
