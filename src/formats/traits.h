// Compile-time view of a format: its row of formats.def and the functions of its decode file under one set of names, so
// that code over any format is a template and nothing outside this folder switches over formats.
#pragma once

#include "formats/decode.h"
#include "formats/formats.h"

namespace lanewise {

template <Format F>
struct Traits;

// Part counts and functions of a quantised format; see primitives.h for the roles.
#define LW_TRAITS_CODES(name, NAME)                                                                                  \
  static constexpr lw_u32 quad_parts = LW_##NAME##_QUAD_PARTS;                                                       \
  static constexpr lw_u32 sc_parts = LW_##NAME##_SC_PARTS;                                                           \
  static constexpr lw_u32 mn_parts = LW_##NAME##_MN_PARTS;                                                           \
  static constexpr lw_u32 d_parts = LW_##NAME##_D_PARTS;                                                             \
  static constexpr lw_u32 m_parts = LW_##NAME##_M_PARTS;                                                             \
  static constexpr LwPart quad_part(lw_u32 quad, lw_u32 i) { return name##_quad_part(quad, i); }                     \
  static constexpr lw_word quad(lw_u32 q, lw_word p0, lw_word p1, lw_word p2) { return name##_quad(q, p0, p1, p2); } \
  static constexpr LwPart sc_part(lw_u32 group, lw_u32 i) { return name##_sc_part(group, i); }                       \
  static constexpr lw_i32 sc(lw_u32 raw) { return name##_sc(raw); }                                                  \
  static constexpr LwPart mn_part(lw_u32 group, lw_u32 i) { return name##_mn_part(group, i); }                       \
  static constexpr lw_i32 mn(lw_u32 raw) { return name##_mn(raw); }                                                  \
  static constexpr LwPart d_part(lw_u32 dgroup, lw_u32 i) { return name##_d_part(dgroup, i); }                       \
  static constexpr LwPart m_part(lw_u32 dgroup, lw_u32 i) { return name##_m_part(dgroup, i); }                       \
  static constexpr float m(lw_u32 raw) { return name##_m(raw); }
#define LW_TRAITS_HALF(name, NAME) \
  LW_TRAITS_CODES(name, NAME)      \
  static constexpr float d(lw_u32 raw) { return name##_d(raw); }
#define LW_TRAITS_EXP(name, NAME) \
  LW_TRAITS_CODES(name, NAME)     \
  static constexpr lw_i32 exponent(lw_u32 raw) { return name##_exponent(raw); }
#define LW_TRAITS_FLOAT(name, NAME) \
  static constexpr float value(lw_u32 raw) { return name##_value(raw); }

#define LW_FORMAT(name, NAME, id, elements, bytes, group_, dgroup_, bits, kind_, min, grid)                           \
  template <>                                                                                                         \
  struct Traits<Format::NAME> {                                                                                       \
    static constexpr FormatInfo info{                                                                                 \
        Format::NAME, #name, id, elements, bytes, group_, dgroup_, bits, FormatKind::kind_, (min) != 0, (grid) != 0}; \
    LW_TRAITS_##kind_(name, NAME) static_assert(LW_##NAME##_ELEMENTS == elements && LW_##NAME##_BYTES == bytes &&     \
                                                    LW_##NAME##_GROUP == group_ && LW_##NAME##_DGROUP == dgroup_,     \
                                                "formats.def and " #name ".decode.h differ");                         \
  };
#include "formats/formats.def"
#undef LW_FORMAT

/// Calls `visitor` with the Traits of `format`: the one switch over formats.
template <class Visitor>
constexpr decltype(auto) with_format(Format format, Visitor&& visitor) {
  switch (format) {
#define LW_FORMAT(name, NAME, id, elements, bytes, group, dgroup, bits, kind, min, grid) \
  case Format::NAME:                                                                     \
    return visitor(Traits<Format::NAME>{});
#include "formats/formats.def"
#undef LW_FORMAT
  }
  __builtin_unreachable();
}

}  // namespace lanewise
