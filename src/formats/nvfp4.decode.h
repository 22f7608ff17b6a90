// NVFP4: 64 codes of 4 bits (E2M1, doubled) in 4 groups of 16, each with a scale byte (E4M3, halved). Byte g of 0..3
// the scale of group g; byte 4+8*g+j holds element j of group g low, element 8+j high.
#ifndef LANEWISE_FORMATS_NVFP4_DECODE_H
#define LANEWISE_FORMATS_NVFP4_DECODE_H
#include "primitives.h"

#define LW_NVFP4_ELEMENTS 64
#define LW_NVFP4_BYTES 36
#define LW_NVFP4_GROUP 16
#define LW_NVFP4_DGROUP 16
#define LW_NVFP4_QUAD_PARTS 1
#define LW_NVFP4_SC_PARTS 0
#define LW_NVFP4_MN_PARTS 0
#define LW_NVFP4_D_PARTS 1
#define LW_NVFP4_M_PARTS 0
#define LW_NVFP4_MIN_CODE -12
#define LW_NVFP4_QUAD_ENDS LW_ENDS_BY_TABLE
#define LW_NVFP4_RAW_CODES 0
#define LW_NVFP4_MAX_CODE 12
#define LW_NVFP4_MAX_SC 1

LW_DECODE_BEGIN
LW_WHERE LwPart nvfp4_quad_part(lw_u32 quad, lw_u32) {
  return lw_part(4u + 8u * (quad >> 2u) + 4u * (quad & 1u), ((quad >> 1u) & 1u) * 4u, 0x0F0F0F0Fu);
}
// 0 1 2 3 4 6 8 12 and their negatives.
LW_FN lw_word nvfp4_quad(lw_u32, lw_word p0, lw_word, lw_word, lw_u32 offset) {
  return lw_table16(p0, lw_offset_table(0x03020100u, offset), lw_offset_table(0x0C080604u, offset),
                    lw_offset_table(0xFDFEFF00u, offset), lw_offset_table(0xF4F8FAFCu, offset));
}
LW_FN lw_word nvfp4_quad(lw_u32 quad, lw_word p0, lw_word p1, lw_word p2) { return nvfp4_quad(quad, p0, p1, p2, 0u); }
LW_NO_SUB_SCALE(nvfp4)
LW_WHERE LwPart nvfp4_d_part(lw_u32 dgroup, lw_u32) { return lw_part(0u, 8u * dgroup, 255u); }
LW_FN lw_float nvfp4_d(lw_word raw) { return lw_ue4m3_halved(raw); }
LW_NO_MIN(nvfp4)
LW_DECODE_END

#endif
