// Q4_K: 256 codes of 4 bits in 8 groups of 32; d and dmin fp16, 6-bit sub-scales and sub-mins.
// Bytes 0..1 d, 2..3 dmin; 4..15 the twelve scale bytes; 16+32*p+j: element j of group 2p low, of group 2p+1 high.
// Scale bytes s: group g < 4 has sc = s[g] & 63, mn = s[g+4] & 63; group g >= 4 has its low four bits in s[g+4]
// (sc low, mn high) and its high two bits atop s[g-4] (sc) and s[g] (mn).
#ifndef LANEWISE_FORMATS_Q4_K_DECODE_H
#define LANEWISE_FORMATS_Q4_K_DECODE_H
#include "primitives.h"

#define LW_Q4_K_ELEMENTS 256
#define LW_Q4_K_BYTES 144
#define LW_Q4_K_GROUP 32
#define LW_Q4_K_DGROUP 256
#define LW_Q4_K_QUAD_PARTS 1
#define LW_Q4_K_SC_PARTS 2
#define LW_Q4_K_MN_PARTS 2
#define LW_Q4_K_D_PARTS 1
#define LW_Q4_K_M_PARTS 1
#define LW_Q4_K_MIN_CODE 0
#define LW_Q4_K_QUAD_ENDS LW_ENDS_BY_ITSELF
#define LW_Q4_K_RAW_CODES 1
#define LW_Q4_K_MAX_CODE 15
#define LW_Q4_K_MAX_SC 63

LW_DECODE_BEGIN
LW_WHERE LwPart q4_K_quad_part(lw_u32 quad, lw_u32) {
  return lw_part(16u + 32u * (quad >> 4u) + 4u * (quad & 7u), ((quad >> 3u) & 1u) * 4u, 0x0F0F0F0Fu);
}
LW_FN lw_word q4_K_quad(lw_u32, lw_word p0, lw_word, lw_word) { return p0; }
LW_WHERE LwPart q4_K_sc_part(lw_u32 group, lw_u32 i) {
  if (group < 4u) return lw_part(4u, 8u * group, i == 0u ? 63u : 0u);
  return i == 0u ? lw_part(12u, 8u * (group - 4u), 15u) : lw_part(4u, 8u * (group - 4u) + 6u, 3u);
}
LW_FN lw_int q4_K_sc(lw_word raw) { return LW_TO_I32(raw); }
LW_WHERE LwPart q4_K_mn_part(lw_u32 group, lw_u32 i) {
  if (group < 4u) return lw_part(8u, 8u * group, i == 0u ? 63u : 0u);
  return i == 0u ? lw_part(12u, 8u * (group - 4u) + 4u, 15u) : lw_part(8u, 8u * (group - 4u) + 6u, 3u);
}
LW_FN lw_int q4_K_mn(lw_word raw) { return LW_TO_I32(raw); }
LW_WHERE LwPart q4_K_d_part(lw_u32, lw_u32) { return lw_part(0u, 0u, 0xFFFFu); }
LW_FN lw_float q4_K_d(lw_word raw) { return lw_half_to_float(raw); }
LW_WHERE LwPart q4_K_m_part(lw_u32, lw_u32) { return lw_part(0u, 16u, 0xFFFFu); }
LW_FN lw_float q4_K_m(lw_word raw) { return -lw_half_to_float(raw); }
LW_DECODE_END

#endif
