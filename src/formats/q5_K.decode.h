// Q5_K: 256 codes of 5 bits in 8 groups of 32; d and dmin fp16, 6-bit sub-scales and sub-mins. Bytes 0..1 d, 2..3
// dmin; 4..15 the twelve scale bytes, as in Q4_K; byte 16+j holds the fifth bit of element j of group g at bit g;
// byte 48+32*p+j the low four bits: element j of group 2p low, of group 2p+1 high.
#ifndef LANEWISE_FORMATS_Q5_K_DECODE_H
#define LANEWISE_FORMATS_Q5_K_DECODE_H
#include "primitives.h"

#define LW_Q5_K_ELEMENTS 256
#define LW_Q5_K_BYTES 176
#define LW_Q5_K_GROUP 32
#define LW_Q5_K_DGROUP 256
#define LW_Q5_K_QUAD_PARTS 2
#define LW_Q5_K_SC_PARTS 2
#define LW_Q5_K_MN_PARTS 2
#define LW_Q5_K_D_PARTS 1
#define LW_Q5_K_M_PARTS 1
#define LW_Q5_K_MIN_CODE 0
#define LW_Q5_K_QUAD_ENDS LW_ENDS_BY_ITSELF
#define LW_Q5_K_RAW_CODES 0
#define LW_Q5_K_MAX_CODE 31
#define LW_Q5_K_MAX_SC 63

LW_DECODE_BEGIN
LW_WHERE LwPart q5_K_quad_part(lw_u32 quad, lw_u32 i) {
  return i == 0u ? lw_part(48u + 32u * (quad >> 4u) + 4u * (quad & 7u), ((quad >> 3u) & 1u) * 4u, 0x0F0F0F0Fu)
                 : lw_part(16u + 4u * (quad & 7u), quad >> 3u, 0x01010101u);
}
LW_FN lw_word q5_K_quad_from(lw_word p0, lw_word word, lw_u32 shift) {
  return p0 | lw_move_bits(word, shift, 4u, 0x10101010u);
}
LW_FN lw_word q5_K_quad(lw_u32, lw_word p0, lw_word p1, lw_word) { return q5_K_quad_from(p0, p1, 0u); }
LW_WHERE LwPart q5_K_sc_part(lw_u32 group, lw_u32 i) {
  if (group < 4u) return lw_part(4u, 8u * group, i == 0u ? 63u : 0u);
  return i == 0u ? lw_part(12u, 8u * (group - 4u), 15u) : lw_part(4u, 8u * (group - 4u) + 6u, 3u);
}
LW_FN lw_int q5_K_sc(lw_word raw) { return LW_TO_I32(raw); }
LW_WHERE LwPart q5_K_mn_part(lw_u32 group, lw_u32 i) {
  if (group < 4u) return lw_part(8u, 8u * group, i == 0u ? 63u : 0u);
  return i == 0u ? lw_part(12u, 8u * (group - 4u) + 4u, 15u) : lw_part(8u, 8u * (group - 4u) + 6u, 3u);
}
LW_FN lw_int q5_K_mn(lw_word raw) { return LW_TO_I32(raw); }
LW_WHERE LwPart q5_K_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float q5_K_d(lw_word raw) { return lw_half_to_float(raw); }
LW_WHERE LwPart q5_K_m_part(lw_u32, lw_u32) { return lw_part(0u, 16u, 0xFFFFu); }
LW_FN lw_float q5_K_m(lw_word raw) { return -lw_half_to_float(raw); }
LW_DECODE_END

#endif
