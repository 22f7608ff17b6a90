// Q8_0: 32 signed bytes, one fp16 d. Bytes 0..1 d; byte 2+j is element j.
#ifndef LANEWISE_FORMATS_Q8_0_DECODE_H
#define LANEWISE_FORMATS_Q8_0_DECODE_H
#include "primitives.h"

#define LW_Q8_0_ELEMENTS 32
#define LW_Q8_0_BYTES 34
#define LW_Q8_0_GROUP 32
#define LW_Q8_0_DGROUP 32
#define LW_Q8_0_QUAD_PARTS 1
#define LW_Q8_0_SC_PARTS 0
#define LW_Q8_0_MN_PARTS 0
#define LW_Q8_0_D_PARTS 1
#define LW_Q8_0_M_PARTS 0
#define LW_Q8_0_MIN_CODE -128
#define LW_Q8_0_QUAD_ENDS LW_ENDS_BY_ITSELF
#define LW_Q8_0_RAW_CODES 0
#define LW_Q8_0_MAX_CODE 127
#define LW_Q8_0_MAX_SC 1

LW_DECODE_BEGIN
LW_WHERE LwPart q8_0_quad_part(lw_u32 quad, lw_u32) { return lw_part(2u + 4u * quad, 0u, 0xFFFFFFFFu); }
LW_FN lw_word q8_0_quad(lw_u32, lw_word p0, lw_word, lw_word) { return p0; }
LW_NO_SUB_SCALE(q8_0)
LW_WHERE LwPart q8_0_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float q8_0_d(lw_word raw) { return lw_half_to_float(raw); }
LW_NO_MIN(q8_0)
LW_DECODE_END

#endif
