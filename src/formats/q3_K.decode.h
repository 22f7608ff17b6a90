// Q3_K: 256 codes of 3 bits in 16 groups of 16; one fp16 d, 6-bit sub-scales. Byte j of 0..31 holds the third bit of
// element 32*b+j at bit b; byte 32+32*h+j the low two bits of elements 128*h+32*s+j at bits 2s; 96..107 the sub-
// scales: low four bits of group g in byte 96+g mod 8 (g < 8 low, else high), high two in byte 104+g mod 4 at bits
// 2*(g div 4); 108..109 d. code q - 4; sc is the stored number - 32.
#ifndef LANEWISE_FORMATS_Q3_K_DECODE_H
#define LANEWISE_FORMATS_Q3_K_DECODE_H
#include "primitives.h"

#define LW_Q3_K_ELEMENTS 256
#define LW_Q3_K_BYTES 110
#define LW_Q3_K_GROUP 16
#define LW_Q3_K_DGROUP 256
#define LW_Q3_K_QUAD_PARTS 2
#define LW_Q3_K_SC_PARTS 2
#define LW_Q3_K_MN_PARTS 0
#define LW_Q3_K_D_PARTS 1
#define LW_Q3_K_M_PARTS 0
#define LW_Q3_K_MIN_CODE -4
#define LW_Q3_K_QUAD_ENDS LW_ENDS_BY_OFFSET
#define LW_Q3_K_RAW_CODES 0
#define LW_Q3_K_MAX_CODE 3
#define LW_Q3_K_MAX_SC 32

LW_DECODE_BEGIN
LW_WHERE LwPart q3_K_quad_part(lw_u32 quad, lw_u32 i) {
  return i == 0u ? lw_part(32u + 32u * (quad >> 5u) + 4u * (quad & 7u), ((quad >> 3u) & 3u) * 2u, 0x03030303u)
                 : lw_part(4u * (quad & 7u), quad >> 3u, 0x01010101u);
}
LW_FN lw_word q3_K_quad_from(lw_word p0, lw_word word, lw_u32 shift) {
  return lw_bytes_add(p0 | lw_move_bits(word, shift, 2u, 0x04040404u), 0xFCFCFCFCu);
}
LW_FN lw_word q3_K_quad(lw_u32, lw_word p0, lw_word p1, lw_word) { return q3_K_quad_from(p0, p1, 0u); }
LW_WHERE LwPart q3_K_sc_part(lw_u32 group, lw_u32 i) {
  return i == 0u ? lw_part(96u + (group & 4u), 8u * (group & 3u) + 4u * (group >> 3u), 15u)
                 : lw_part(104u, 8u * (group & 3u) + 2u * (group >> 2u), 3u);
}
LW_FN lw_int q3_K_sc(lw_word raw) { return LW_TO_I32(raw) - 32; }
LW_WHERE LwPart q3_K_d_part(lw_u32, lw_u32) { return lw_part(106u, 16u, 0xFFFFu); }
LW_FN lw_float q3_K_d(lw_word raw) { return lw_half_to_float(raw); }
LW_NO_MIN(q3_K)
LW_DECODE_END

#endif
