// A format as rows16_kernel.h sees it: constants and functions of its decode file, compiled for vectors.
#pragma once

#include <cstdint>

#define LW_ROWS16_HALF(name)                               \
  static LW_AI Float d(Word raw) { return name##_d(raw); } \
  static constexpr bool exponent_scale = false;
#define LW_ROWS16_EXP(name)                                            \
  static LW_AI Int exponent(Word raw) { return name##_exponent(raw); } \
  static constexpr bool exponent_scale = true;

#define LW_ROWS16_FORMAT(name, NAME, kind, min)                                                                    \
  namespace LW_TARGET {                                                                                            \
  struct NAME {                                                                                                    \
    static constexpr std::uint32_t elements = LW_##NAME##_ELEMENTS, bytes = LW_##NAME##_BYTES;                     \
    static constexpr int group = LW_##NAME##_GROUP, dgroup = LW_##NAME##_DGROUP;                                   \
    static constexpr std::uint32_t quad_parts = LW_##NAME##_QUAD_PARTS, sc_parts = LW_##NAME##_SC_PARTS;           \
    static constexpr std::uint32_t mn_parts = LW_##NAME##_MN_PARTS, d_parts = LW_##NAME##_D_PARTS;                 \
    static constexpr std::uint32_t m_parts = LW_##NAME##_M_PARTS;                                                  \
    static constexpr bool has_min = (min) != 0;                                                                    \
    static constexpr std::uint32_t lead = name##_quad_part(0u, 0u).byte % 4u;                                      \
    static constexpr std::uint32_t bias_log = rows16_bias_log(LW_##NAME##_MIN_CODE);                               \
    static constexpr std::uint32_t bias = LW_##NAME##_MIN_CODE < 0 ? 1u << bias_log : 0u;                          \
    static constexpr unsigned max_code = LW_##NAME##_MAX_CODE;                                                     \
    static_assert(LW_##NAME##_MAX_CODE + static_cast<int>(bias) <= 255, "unsigned codes must fit a byte");         \
    static constexpr bool joinable =                                                                               \
        rows16_joinable(dgroup, LW_##NAME##_MIN_CODE, LW_##NAME##_MAX_CODE, LW_##NAME##_MAX_SC);                   \
    static constexpr LwPart quad_part(int index, int i) { return name##_quad_part(unsigned(index), unsigned(i)); } \
    static constexpr LwPart sc_part(int index, int i) { return name##_sc_part(unsigned(index), unsigned(i)); }     \
    static constexpr LwPart mn_part(int index, int i) { return name##_mn_part(unsigned(index), unsigned(i)); }     \
    static constexpr LwPart d_part(int index, int i) { return name##_d_part(unsigned(index), unsigned(i)); }       \
    static constexpr LwPart m_part(int index, int i) { return name##_m_part(unsigned(index), unsigned(i)); }       \
    static LW_AI Word quad(int q, Word p0, Word p1, Word p2) { return name##_quad(unsigned(q), p0, p1, p2); }      \
    static LW_AI Int sc(Word raw) { return name##_sc(raw); }                                                       \
    static LW_AI Int mn(Word raw) { return name##_mn(raw); }                                                       \
    static LW_AI Float m(Word raw) { return name##_m(raw); }                                                       \
    LW_ROWS16_##kind(name)                                                                                         \
  };                                                                                                               \
  }

namespace lanewise {

/// log2 of the least power of two that makes a code of at least `least` non-negative.
constexpr std::uint32_t rows16_bias_log(int least) {
  std::uint32_t log = 0;
  while ((1 << log) < -least) ++log;
  return log;
}
/// Whether every |J_p| is at most 2^24 and every joined sum below 2^31: then F is the whole integer, rounded once.
constexpr bool rows16_joinable(int dgroup, int least, int most, int scale) {
  const int magnitude = -least > most ? -least : most;
  return static_cast<long long>(dgroup) * magnitude * scale <= 65536;
}

}  // namespace lanewise
