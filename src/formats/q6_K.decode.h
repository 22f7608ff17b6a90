// Q6_K: 256 codes of 6 bits in 16 groups of 16; one fp16 d, signed bytes as sub-scales. Byte 64*h+j of 0..127 holds
// the low four bits of element 128*h+j low, of element 128*h+64+j high; byte 128+32*h+j the high two bits of elements
// 128*h+32*s+j at bits 2s; 192+g the sub-scale of group g; 208..209 d. code q - 32.
#ifndef LANEWISE_FORMATS_Q6_K_DECODE_H
#define LANEWISE_FORMATS_Q6_K_DECODE_H
#include "primitives.h"

#define LW_Q6_K_ELEMENTS 256
#define LW_Q6_K_BYTES 210
#define LW_Q6_K_GROUP 16
#define LW_Q6_K_DGROUP 256
#define LW_Q6_K_QUAD_PARTS 2
#define LW_Q6_K_SC_PARTS 1
#define LW_Q6_K_MN_PARTS 0
#define LW_Q6_K_D_PARTS 1
#define LW_Q6_K_M_PARTS 0
#define LW_Q6_K_MIN_CODE -32
#define LW_Q6_K_QUAD_ENDS LW_ENDS_BY_OFFSET
#define LW_Q6_K_RAW_CODES 0
#define LW_Q6_K_MAX_CODE 31
#define LW_Q6_K_MAX_SC 128

LW_DECODE_BEGIN
LW_WHERE LwPart q6_K_quad_part(lw_u32 quad, lw_u32 i) {
  return i == 0u ? lw_part(64u * (quad >> 5u) + 4u * (quad & 15u), ((quad >> 4u) & 1u) * 4u, 0x0F0F0F0Fu)
                 : lw_part(128u + 32u * (quad >> 5u) + 4u * (quad & 7u), ((quad >> 3u) & 3u) * 2u, 0x03030303u);
}
LW_FN lw_word q6_K_quad_from(lw_word p0, lw_word word, lw_u32 shift) {
  return lw_bytes_add(p0 | lw_move_bits(word, shift, 4u, 0x30303030u), 0xE0E0E0E0u);
}
LW_FN lw_word q6_K_quad(lw_u32, lw_word p0, lw_word p1, lw_word) { return q6_K_quad_from(p0, p1, 0u); }
LW_WHERE LwPart q6_K_sc_part(lw_u32 group, lw_u32) { return lw_part(192u + (group & ~3u), 8u * (group & 3u), 255u); }
LW_FN lw_int q6_K_sc(lw_word raw) { return lw_sign_extend8(raw); }
LW_WHERE LwPart q6_K_d_part(lw_u32, lw_u32) { return lw_part(206u, 16u, 0xFFFFu); }
LW_FN lw_float q6_K_d(lw_word raw) { return lw_half_to_float(raw); }
LW_NO_MIN(q6_K)
LW_DECODE_END

#endif
