// IQ4_XS: 256 indices of 4 bits into the table of IQ4_NL, in 8 groups of 32; one fp16 d, 6-bit sub-scales. Bytes 0..1
// d; 2..3 the high two bits of sub-scale g at bit 2g; 4..7 the low four, at bit 4g; byte 8+16*g+j holds element j of
// group g low, element 16+j high. sc is the stored number - 32.
#ifndef LANEWISE_FORMATS_IQ4_XS_DECODE_H
#define LANEWISE_FORMATS_IQ4_XS_DECODE_H
#include "primitives.h"

#define LW_IQ4_XS_ELEMENTS 256
#define LW_IQ4_XS_BYTES 136
#define LW_IQ4_XS_GROUP 32
#define LW_IQ4_XS_DGROUP 256
#define LW_IQ4_XS_QUAD_PARTS 1
#define LW_IQ4_XS_SC_PARTS 2
#define LW_IQ4_XS_MN_PARTS 0
#define LW_IQ4_XS_D_PARTS 1
#define LW_IQ4_XS_M_PARTS 0
#define LW_IQ4_XS_MIN_CODE -127
#define LW_IQ4_XS_QUAD_ENDS LW_ENDS_BY_TABLE
#define LW_IQ4_XS_RAW_CODES 0
#define LW_IQ4_XS_MAX_CODE 113
#define LW_IQ4_XS_MAX_SC 32

LW_DECODE_BEGIN
LW_WHERE LwPart iq4_xs_quad_part(lw_u32 quad, lw_u32) {
  return lw_part(8u + 16u * (quad >> 3u) + 4u * (quad & 3u), ((quad >> 2u) & 1u) * 4u, 0x0F0F0F0Fu);
}
// -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113.
LW_FN lw_word iq4_xs_quad(lw_u32, lw_word p0, lw_word, lw_word, lw_u32 offset) {
  return lw_table16(p0, lw_offset_table(0xBFAD9881u, offset), lw_offset_table(0xF6EADDCFu, offset),
                    lw_offset_table(0x26190D01u, offset), lw_offset_table(0x71594535u, offset));
}
LW_FN lw_word iq4_xs_quad(lw_u32 quad, lw_word p0, lw_word p1, lw_word p2) { return iq4_xs_quad(quad, p0, p1, p2, 0u); }
LW_WHERE LwPart iq4_xs_sc_part(lw_u32 group, lw_u32 i) {
  return i == 0u ? lw_part(4u, 4u * group, 15u) : lw_part(0u, 16u + 2u * group, 3u);
}
LW_FN lw_int iq4_xs_sc(lw_word raw) { return LW_TO_I32(raw) - 32; }
LW_WHERE LwPart iq4_xs_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float iq4_xs_d(lw_word raw) { return lw_half_to_float(raw); }
LW_NO_MIN(iq4_xs)
LW_DECODE_END

#endif
