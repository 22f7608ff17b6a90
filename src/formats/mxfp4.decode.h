// MXFP4: 32 codes of 4 bits (E2M1, doubled), one exponent byte. Byte 0 E, the scale is 2^(E-128); byte 1+j holds
// element j low, element 16+j high.
#ifndef LANEWISE_FORMATS_MXFP4_DECODE_H
#define LANEWISE_FORMATS_MXFP4_DECODE_H
#include "primitives.h"

#define LW_MXFP4_ELEMENTS 32
#define LW_MXFP4_BYTES 17
#define LW_MXFP4_GROUP 32
#define LW_MXFP4_DGROUP 32
#define LW_MXFP4_QUAD_PARTS 1
#define LW_MXFP4_SC_PARTS 0
#define LW_MXFP4_MN_PARTS 0
#define LW_MXFP4_D_PARTS 1
#define LW_MXFP4_M_PARTS 0
#define LW_MXFP4_MIN_CODE -12
#define LW_MXFP4_QUAD_ENDS LW_ENDS_BY_TABLE
#define LW_MXFP4_RAW_CODES 0
#define LW_MXFP4_MAX_CODE 12
#define LW_MXFP4_MAX_SC 1

LW_DECODE_BEGIN
LW_WHERE LwPart mxfp4_quad_part(lw_u32 quad, lw_u32) {
  return lw_part(1u + 4u * (quad & 3u), (quad >> 2u) * 4u, 0x0F0F0F0Fu);
}
// 0 1 2 3 4 6 8 12 and their negatives.
LW_FN lw_word mxfp4_quad(lw_u32, lw_word p0, lw_word, lw_word, lw_u32 offset) {
  return lw_table16(p0, lw_offset_table(0x03020100u, offset), lw_offset_table(0x0C080604u, offset),
                    lw_offset_table(0xFDFEFF00u, offset), lw_offset_table(0xF4F8FAFCu, offset));
}
LW_FN lw_word mxfp4_quad(lw_u32 quad, lw_word p0, lw_word p1, lw_word p2) { return mxfp4_quad(quad, p0, p1, p2, 0u); }
LW_NO_SUB_SCALE(mxfp4)
LW_WHERE LwPart mxfp4_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFu); }
LW_FN lw_int mxfp4_exponent(lw_word raw) { return LW_TO_I32(raw) - 128; }
LW_NO_MIN(mxfp4)
LW_DECODE_END

#endif
