// What traits.h says of each format, as a macro for one of them: for units that are compiled for one format and need no
// other's tables.
#pragma once

#include "formats/formats.h"
#include "formats/primitives.h"

LW_DECODE_BEGIN

template <Format F>
struct Traits;

// Part counts and functions of a quantised format; see primitives.h for the roles.
#define LW_TRAITS_CODES(name, NAME)                                                                              \
  static constexpr lw_u32 quad_parts = LW_##NAME##_QUAD_PARTS;                                                   \
  static constexpr lw_u32 sc_parts = LW_##NAME##_SC_PARTS;                                                       \
  static constexpr lw_u32 mn_parts = LW_##NAME##_MN_PARTS;                                                       \
  static constexpr lw_u32 d_parts = LW_##NAME##_D_PARTS;                                                         \
  static constexpr lw_u32 m_parts = LW_##NAME##_M_PARTS;                                                         \
  LW_MEMBER_WHERE LwPart quad_part(lw_u32 quad, lw_u32 i) { return name##_quad_part(quad, i); }                  \
  LW_MEMBER_FN lw_word quad(lw_u32 q, lw_word p0, lw_word p1, lw_word p2) { return name##_quad(q, p0, p1, p2); } \
  LW_MEMBER_WHERE LwPart sc_part(lw_u32 group, lw_u32 i) { return name##_sc_part(group, i); }                    \
  LW_MEMBER_FN lw_i32 sc(lw_u32 raw) { return name##_sc(raw); }                                                  \
  LW_MEMBER_WHERE LwPart mn_part(lw_u32 group, lw_u32 i) { return name##_mn_part(group, i); }                    \
  LW_MEMBER_FN lw_i32 mn(lw_u32 raw) { return name##_mn(raw); }                                                  \
  LW_MEMBER_WHERE LwPart d_part(lw_u32 dgroup, lw_u32 i) { return name##_d_part(dgroup, i); }                    \
  LW_MEMBER_WHERE LwPart m_part(lw_u32 dgroup, lw_u32 i) { return name##_m_part(dgroup, i); }                    \
  LW_MEMBER_FN float m(lw_u32 raw) { return name##_m(raw); }
#define LW_TRAITS_HALF(name, NAME) \
  LW_TRAITS_CODES(name, NAME)      \
  LW_MEMBER_FN float d(lw_u32 raw) { return name##_d(raw); }
#define LW_TRAITS_EXP(name, NAME) \
  LW_TRAITS_CODES(name, NAME)     \
  LW_MEMBER_FN lw_i32 exponent(lw_u32 raw) { return name##_exponent(raw); }
#define LW_TRAITS_FLOAT(name, NAME) \
  LW_MEMBER_FN float value(lw_u32 raw) { return name##_value(raw); }

/// Traits<Format::NAME>, from the format's row of formats.def and its decode file, which is included before.
#define LW_TRAITS(name, NAME, id, elements, bytes, group_, dgroup_, bits, kind_, min, grid)                           \
  template <>                                                                                                         \
  struct Traits<Format::NAME> {                                                                                       \
    static constexpr FormatInfo info{                                                                                 \
        Format::NAME, #name, id, elements, bytes, group_, dgroup_, bits, FormatKind::kind_, (min) != 0, (grid) != 0}; \
    LW_TRAITS_##kind_(name, NAME) static_assert(LW_##NAME##_ELEMENTS == elements && LW_##NAME##_BYTES == bytes &&     \
                                                    LW_##NAME##_GROUP == group_ && LW_##NAME##_DGROUP == dgroup_,     \
                                                "formats.def and " #name ".decode.h differ");                         \
  };

LW_DECODE_END
