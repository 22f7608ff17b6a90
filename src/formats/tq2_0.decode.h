// TQ2_0: 256 codes of 2 bits, one fp16 d. Byte 32*h+j of 0..63 holds elements 128*h+32*s+j at bits 2s; 64..65 d. code
// q - 1: a stored 3 gives 2.
#ifndef LANEWISE_FORMATS_TQ2_0_DECODE_H
#define LANEWISE_FORMATS_TQ2_0_DECODE_H
#include "primitives.h"

#define LW_TQ2_0_ELEMENTS 256
#define LW_TQ2_0_BYTES 66
#define LW_TQ2_0_GROUP 256
#define LW_TQ2_0_DGROUP 256
#define LW_TQ2_0_QUAD_PARTS 1
#define LW_TQ2_0_SC_PARTS 0
#define LW_TQ2_0_MN_PARTS 0
#define LW_TQ2_0_D_PARTS 1
#define LW_TQ2_0_M_PARTS 0
#define LW_TQ2_0_MIN_CODE -1
#define LW_TQ2_0_QUAD_ENDS LW_ENDS_BY_OFFSET
#define LW_TQ2_0_RAW_CODES 1
#define LW_TQ2_0_MAX_CODE 2
#define LW_TQ2_0_MAX_SC 1

LW_DECODE_BEGIN
LW_WHERE LwPart tq2_0_quad_part(lw_u32 quad, lw_u32) {
  return lw_part(32u * (quad >> 5u) + 4u * (quad & 7u), ((quad >> 3u) & 3u) * 2u, 0x03030303u);
}
LW_FN lw_word tq2_0_quad(lw_u32, lw_word p0, lw_word, lw_word) { return lw_bytes_add(p0, 0xFFFFFFFFu); }
LW_NO_SUB_SCALE(tq2_0)
LW_WHERE LwPart tq2_0_d_part(lw_u32, lw_u32) { return lw_part(62u, 16u, 0xFFFFu); }
LW_FN lw_float tq2_0_d(lw_word raw) { return lw_half_to_float(raw); }
LW_NO_MIN(tq2_0)
LW_DECODE_END

#endif
