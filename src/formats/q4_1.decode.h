// Q4_1: 32 codes of 4 bits, fp16 d and m. Bytes 0..1 d, 2..3 m; byte 4+j holds element j low, element 16+j high; code
// q, the min is m itself.
#ifndef LANEWISE_FORMATS_Q4_1_DECODE_H
#define LANEWISE_FORMATS_Q4_1_DECODE_H
#include "primitives.h"

#define LW_Q4_1_ELEMENTS 32
#define LW_Q4_1_BYTES 20
#define LW_Q4_1_GROUP 32
#define LW_Q4_1_DGROUP 32
#define LW_Q4_1_QUAD_PARTS 1
#define LW_Q4_1_SC_PARTS 0
#define LW_Q4_1_MN_PARTS 0
#define LW_Q4_1_D_PARTS 1
#define LW_Q4_1_M_PARTS 1
#define LW_Q4_1_MIN_CODE 0
#define LW_Q4_1_QUAD_ENDS LW_ENDS_BY_ITSELF
#define LW_Q4_1_RAW_CODES 1
#define LW_Q4_1_MAX_CODE 15
#define LW_Q4_1_MAX_SC 1

LW_DECODE_BEGIN
LW_WHERE LwPart q4_1_quad_part(lw_u32 quad, lw_u32) {
  return lw_part(4u + 4u * (quad & 3u), (quad >> 2u) * 4u, 0x0F0F0F0Fu);
}
LW_FN lw_word q4_1_quad(lw_u32, lw_word p0, lw_word, lw_word) { return p0; }
LW_NO_SUB_SCALE(q4_1)
LW_WHERE LwPart q4_1_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float q4_1_d(lw_word raw) { return lw_half_to_float(raw); }
LW_WHERE LwPart q4_1_mn_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0u); }
LW_FN lw_int q4_1_mn(lw_word) { return lw_int(1); }
LW_WHERE LwPart q4_1_m_part(lw_u32, lw_u32) { return lw_part(0u, 16u, 0xFFFFu); }
LW_FN lw_float q4_1_m(lw_word raw) { return lw_half_to_float(raw); }
LW_DECODE_END

#endif
