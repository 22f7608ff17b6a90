// A format as the frag_... files see it: constants and functions of its decode file under one set of names.
#pragma once

#include "backends/cuda/image.h"
#include "backends/cuda/machine.cuh"

#define LW_FRAG_HALF(name)                                              \
  LW_DEVICE_MEMBER float d(std::uint32_t raw) { return name##_d(raw); } \
  LW_DEVICE_MEMBER std::int32_t exponent(std::uint32_t) { return 0; }   \
  static constexpr bool exponent_scale = false;
#define LW_FRAG_EXP(name)                                                                    \
  LW_DEVICE_MEMBER float d(std::uint32_t) { return 0.0F; }                                   \
  LW_DEVICE_MEMBER std::int32_t exponent(std::uint32_t raw) { return name##_exponent(raw); } \
  static constexpr bool exponent_scale = true;

#define LW_FRAG_GRID_0(name, NAME)                 \
  static constexpr std::uint32_t grid_entries = 0; \
  static constexpr bool eights = false;            \
  LW_DEVICE_MEMBER std::uint32_t grid_entry(std::uint32_t) { return 0; }
// An entry as it lies in shared memory, a word: eight nibbles (formats/nibbles.h) or four codes.
#define LW_FRAG_GRID_1(name, NAME)                                                                     \
  static constexpr bool eights = LW_##NAME##_EIGHTS != 0;                                              \
  static constexpr std::uint32_t grid_entries = eights ? LW_##NAME##_EIGHTS : LW_##NAME##_TABLE_WORDS; \
  LW_DEVICE_MEMBER std::uint32_t grid_entry(std::uint32_t i) { return name##_grid_entry(i); }          \
  LW_BOTH static std::uint32_t eight_codes(std::uint32_t flipped) { return name##_eight_codes(flipped); }

/// Declares lanewise::cuda::NAME after the decode file was included.
#define LW_FRAG_FORMAT(name, NAME, kind, min, grid)                                                                   \
  namespace lanewise::cuda {                                                                                          \
  struct Format_##NAME {                                                                                              \
    static constexpr std::uint32_t elements = LW_##NAME##_ELEMENTS, bytes = LW_##NAME##_BYTES;                        \
    static constexpr std::uint32_t group = LW_##NAME##_GROUP, dgroup = LW_##NAME##_DGROUP;                            \
    static constexpr std::uint32_t quad_parts = LW_##NAME##_QUAD_PARTS, sc_parts = LW_##NAME##_SC_PARTS;              \
    static constexpr std::uint32_t mn_parts = LW_##NAME##_MN_PARTS, d_parts = LW_##NAME##_D_PARTS;                    \
    static constexpr std::uint32_t m_parts = LW_##NAME##_M_PARTS;                                                     \
    static constexpr bool ends_by_table = LW_##NAME##_QUAD_ENDS == LW_ENDS_BY_TABLE;                                  \
    /* What is missing of each code: the least one, where quads end by it. */                                         \
    static constexpr std::int32_t offset = LW_##NAME##_QUAD_ENDS == LW_ENDS_BY_OFFSET ? LW_##NAME##_MIN_CODE : 0;     \
    /* The most that a d-group's codes and sub-scales come to. */                                                     \
    static constexpr std::int64_t most =                                                                              \
        std::int64_t{LW_##NAME##_MAX_CODE > -(LW_##NAME##_MIN_CODE) ? LW_##NAME##_MAX_CODE                            \
                                                                    : -(LW_##NAME##_MIN_CODE)} *                      \
        LW_##NAME##_DGROUP * LW_##NAME##_MAX_SC;                                                                      \
    /* Whether the planes of x16 may be joined before F: every |J_p| is at most 2^24, every joined sum below 2^31. */ \
    static constexpr bool joinable = most <= 65536;                                                                   \
    static constexpr bool raw_codes = LW_##NAME##_RAW_CODES != 0;                                                     \
    static constexpr bool has_min = (min) != 0;                                                                       \
    LW_FRAG_GRID_##grid(name, NAME) LW_BOTH static LwPart quad_part(std::uint32_t q, std::uint32_t i) {               \
      return name##_quad_part(q, i);                                                                                  \
    }                                                                                                                 \
    LW_BOTH static LwPart sc_part(std::uint32_t group, std::uint32_t i) { return name##_sc_part(group, i); }          \
    LW_BOTH static LwPart mn_part(std::uint32_t group, std::uint32_t i) { return name##_mn_part(group, i); }          \
    LW_BOTH static LwPart d_part(std::uint32_t dgroup, std::uint32_t i) { return name##_d_part(dgroup, i); }          \
    LW_BOTH static LwPart m_part(std::uint32_t dgroup, std::uint32_t i) { return name##_m_part(dgroup, i); }          \
    LW_DEVICE_MEMBER std::uint32_t quad(std::uint32_t q, std::uint32_t p0, std::uint32_t p1, std::uint32_t p2) {      \
      return name##_quad(q, p0, p1, p2);                                                                              \
    }                                                                                                                 \
    LW_DEVICE_MEMBER std::int32_t sc(std::uint32_t raw) { return name##_sc(raw); }                                    \
    LW_DEVICE_MEMBER std::int32_t mn(std::uint32_t raw) { return name##_mn(raw); }                                    \
    LW_DEVICE_MEMBER float m(std::uint32_t raw) { return name##_m(raw); }                                             \
    LW_FRAG_##kind(name)                                                                                              \
  };                                                                                                                  \
  }
