// IQ4_NL: 32 indices of 4 bits into a table of 16 values, one fp16 d. Bytes 0..1 d; byte 2+j holds element j low,
// element 16+j high.
#ifndef LANEWISE_FORMATS_IQ4_NL_DECODE_H
#define LANEWISE_FORMATS_IQ4_NL_DECODE_H
#include "primitives.h"

#define LW_IQ4_NL_ELEMENTS 32
#define LW_IQ4_NL_BYTES 18
#define LW_IQ4_NL_GROUP 32
#define LW_IQ4_NL_DGROUP 32
#define LW_IQ4_NL_QUAD_PARTS 1
#define LW_IQ4_NL_SC_PARTS 0
#define LW_IQ4_NL_MN_PARTS 0
#define LW_IQ4_NL_D_PARTS 1
#define LW_IQ4_NL_M_PARTS 0
#define LW_IQ4_NL_MIN_CODE -127
#define LW_IQ4_NL_QUAD_ENDS LW_ENDS_BY_TABLE
#define LW_IQ4_NL_RAW_CODES 0
#define LW_IQ4_NL_MAX_CODE 113
#define LW_IQ4_NL_MAX_SC 1

LW_DECODE_BEGIN
LW_WHERE LwPart iq4_nl_quad_part(lw_u32 quad, lw_u32) {
  return lw_part(2u + 4u * (quad & 3u), (quad >> 2u) * 4u, 0x0F0F0F0Fu);
}
// -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113.
LW_FN lw_word iq4_nl_quad(lw_u32, lw_word p0, lw_word, lw_word, lw_u32 offset) {
  return lw_table16(p0, lw_offset_table(0xBFAD9881u, offset), lw_offset_table(0xF6EADDCFu, offset),
                    lw_offset_table(0x26190D01u, offset), lw_offset_table(0x71594535u, offset));
}
LW_FN lw_word iq4_nl_quad(lw_u32 quad, lw_word p0, lw_word p1, lw_word p2) { return iq4_nl_quad(quad, p0, p1, p2, 0u); }
LW_NO_SUB_SCALE(iq4_nl)
LW_WHERE LwPart iq4_nl_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float iq4_nl_d(lw_word raw) { return lw_half_to_float(raw); }
LW_NO_MIN(iq4_nl)
LW_DECODE_END

#endif
