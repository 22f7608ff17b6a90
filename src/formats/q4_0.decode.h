// Q4_0: 32 codes of 4 bits, one fp16 d. Bytes 0..1 d; byte 2+j holds element j low, element 16+j high; code q - 8.
#ifndef LANEWISE_FORMATS_Q4_0_DECODE_H
#define LANEWISE_FORMATS_Q4_0_DECODE_H
#include "primitives.h"

#define LW_Q4_0_ELEMENTS 32
#define LW_Q4_0_BYTES 18
#define LW_Q4_0_GROUP 32
#define LW_Q4_0_DGROUP 32
#define LW_Q4_0_QUAD_PARTS 1
#define LW_Q4_0_SC_PARTS 0
#define LW_Q4_0_MN_PARTS 0
#define LW_Q4_0_D_PARTS 1
#define LW_Q4_0_M_PARTS 0
#define LW_Q4_0_MIN_CODE -8
#define LW_Q4_0_QUAD_ENDS LW_ENDS_BY_OFFSET
#define LW_Q4_0_RAW_CODES 1
#define LW_Q4_0_MAX_CODE 7
#define LW_Q4_0_MAX_SC 1

LW_DECODE_BEGIN
LW_WHERE LwPart q4_0_quad_part(lw_u32 quad, lw_u32) {
  return lw_part(2u + 4u * (quad & 3u), (quad >> 2u) * 4u, 0x0F0F0F0Fu);
}
LW_FN lw_word q4_0_quad(lw_u32, lw_word p0, lw_word, lw_word) { return lw_bytes_add(p0, 0xF8F8F8F8u); }
LW_NO_SUB_SCALE(q4_0)
LW_WHERE LwPart q4_0_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float q4_0_d(lw_word raw) { return lw_half_to_float(raw); }
LW_NO_MIN(q4_0)
LW_DECODE_END

#endif
