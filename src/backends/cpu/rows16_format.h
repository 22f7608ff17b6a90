// A format as rows16_kernel.h sees it: constants and functions of its decode file, compiled for vectors.
#pragma once

#include <cstdint>

#define LW_ROWS16_HALF(name)                               \
  static LW_AI Float d(Word raw) { return name##_d(raw); } \
  static constexpr bool exponent_scale = false;
#define LW_ROWS16_EXP(name)                                            \
  static LW_AI Int exponent(Word raw) { return name##_exponent(raw); } \
  static constexpr bool exponent_scale = true;

// Runs of a grid format (formats/runs.h), on a target that takes them; `run` 0: quads.
#define LW_ROWS16_GRID_0(name, NAME)       \
  static constexpr int run = 0;            \
  static constexpr unsigned run_added = 0; \
  static constexpr int most_of_eight =     \
      8 * (LW_##NAME##_MAX_CODE > -(LW_##NAME##_MIN_CODE) ? LW_##NAME##_MAX_CODE : -(LW_##NAME##_MIN_CODE));
#if LW_RUNS
#define LW_ROWS16_GRID_1(name, NAME)                                                                           \
  static constexpr int run = LW_##NAME##_RUN, run_parts = LW_##NAME##_RUN_PARTS;                               \
  static constexpr unsigned run_added = LW_RUN_BIAS;                                                           \
  static constexpr int most_of_eight = LW_##NAME##_RUN_MOST;                                                   \
  static_assert(LW_RUN_BIAS == run_bias, "the columns image says what runs add");                              \
  static constexpr LwPart run_part(int index, int i) { return name##_run_part(unsigned(index), unsigned(i)); } \
  static LW_AI auto run_codes(int index, Word p0, Word p1, Word p2) {                                          \
    return name##_run(unsigned(index), p0, p1, p2);                                                            \
  }                                                                                                            \
  /* What sc makes of the low bits of each lane. */                                                            \
  static LW_AI Int sc_of_lanes(Word lanes, std::uint32_t mask) {                                               \
    return look_up_lanes(name##_sc(lane_numbers() & mask), lanes);                                             \
  }
#else
#define LW_ROWS16_GRID_1(name, NAME) LW_ROWS16_GRID_0(name, NAME)
#endif

#define LW_ROWS16_FORMAT(name, NAME, kind, min, grid)                                                                  \
  namespace LW_TARGET {                                                                                                \
  struct NAME {                                                                                                        \
    static constexpr std::uint32_t elements = LW_##NAME##_ELEMENTS, bytes = LW_##NAME##_BYTES;                         \
    static constexpr int group = LW_##NAME##_GROUP, dgroup = LW_##NAME##_DGROUP;                                       \
    static constexpr std::uint32_t quad_parts = LW_##NAME##_QUAD_PARTS, sc_parts = LW_##NAME##_SC_PARTS;               \
    static constexpr std::uint32_t mn_parts = LW_##NAME##_MN_PARTS, d_parts = LW_##NAME##_D_PARTS;                     \
    static constexpr std::uint32_t m_parts = LW_##NAME##_M_PARTS;                                                      \
    static constexpr bool has_min = (min) != 0, has_grid = (grid) != 0;                                                \
    static constexpr std::uint32_t lead = name##_quad_part(0u, 0u).byte % 4u;                                          \
    LW_ROWS16_GRID_##grid(name, NAME) static constexpr std::uint32_t bias_log = rows16_bias_log(LW_##NAME##_MIN_CODE); \
    static constexpr std::uint32_t bias = unsigned_codes && LW_##NAME##_MIN_CODE < 0 ? 1u << bias_log : 0u;            \
    static constexpr bool raw_codes = LW_##NAME##_RAW_CODES != 0 && (unsigned_codes || LW_##NAME##_MIN_CODE == 0);     \
    static constexpr bool short_sums =                                                                                 \
        rows16_short_sums(LW_##NAME##_SC_PARTS, group, LW_##NAME##_MIN_CODE, LW_##NAME##_MAX_CODE);                    \
    static_assert(!raw_codes || static_cast<int>(bias) == -(LW_##NAME##_MIN_CODE), "raw codes are biased ones");       \
    static constexpr int min_code = LW_##NAME##_MIN_CODE, most_scale = LW_##NAME##_MAX_SC;                             \
    /* Codes are the bytes of words as they are. */                                                                    \
    static constexpr bool plain_bytes = LW_##NAME##_QUAD_PARTS == 1 && LW_##NAME##_QUAD_ENDS == LW_ENDS_BY_ITSELF &&   \
                                        name##_quad_part(0u, 0u).mask == 0xFFFFFFFFu && !(grid);                       \
    static constexpr unsigned max_code = LW_##NAME##_MAX_CODE;                                                         \
    static_assert(LW_##NAME##_MAX_CODE + static_cast<int>(bias) <= (unsigned_codes ? 255 : 127), "a byte's range");    \
    static constexpr bool joinable =                                                                                   \
        rows16_joinable(dgroup, LW_##NAME##_MIN_CODE, LW_##NAME##_MAX_CODE, LW_##NAME##_MAX_SC);                       \
    static constexpr int float_parts =                                                                                 \
        rows16_float_parts(LW_##NAME##_SC_PARTS, dgroup, group, most_of_eight, LW_##NAME##_MAX_SC, run != 0);          \
    static constexpr LwPart quad_part(int index, int i) { return name##_quad_part(unsigned(index), unsigned(i)); }     \
    static constexpr LwPart sc_part(int index, int i) { return name##_sc_part(unsigned(index), unsigned(i)); }         \
    static constexpr LwPart mn_part(int index, int i) { return name##_mn_part(unsigned(index), unsigned(i)); }         \
    static constexpr LwPart d_part(int index, int i) { return name##_d_part(unsigned(index), unsigned(i)); }           \
    static constexpr LwPart m_part(int index, int i) { return name##_m_part(unsigned(index), unsigned(i)); }           \
    /* Codes plus the bias; a decode file may add it itself, in a table. */                                            \
    template <class W>                                                                                                 \
    static LW_AI W quad(int q, W p0, W p1, W p2) {                                                                     \
      if constexpr (bias == 0) {                                                                                       \
        return name##_quad(unsigned(q), p0, p1, p2);                                                                   \
      } else if constexpr (requires { name##_quad(unsigned(q), p0, p1, p2, unsigned(bias)); }) {                       \
        return name##_quad(unsigned(q), p0, p1, p2, unsigned(bias));                                                   \
      } else {                                                                                                         \
        return biased(name##_quad(unsigned(q), p0, p1, p2));                                                           \
      }                                                                                                                \
    }                                                                                                                  \
    /* Whether the last part may come as the word that it lies in, and the codes from that, plus the bias. */          \
    template <class W>                                                                                                 \
    static constexpr bool has_quad_from() {                                                                            \
      return requires(W w) { name##_quad_from(w, w, 0u); };                                                            \
    }                                                                                                                  \
    template <class W>                                                                                                 \
    static LW_AI W quad_from(W p0, W word, std::uint32_t shift) {                                                      \
      return biased(name##_quad_from(p0, word, shift));                                                                \
    }                                                                                                                  \
    static LW_AI Word biased(Word codes) {                                                                             \
      if constexpr (bias == 0) return codes;                                                                           \
      return lw_bytes_add(codes, bias * 0x01010101u);                                                                  \
    }                                                                                                                  \
    static LW_AI Int sc(Word raw) { return name##_sc(raw); }                                                           \
    static LW_AI Int mn(Word raw) { return name##_mn(raw); }                                                           \
    static LW_AI Float m(Word raw) { return name##_m(raw); }                                                           \
    LW_ROWS16_##kind(name)                                                                                             \
  };                                                                                                                   \
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
/// Whether a group's dot product fits 16 bits, and with its sub-scale makes one step of a 16-bit dot product.
constexpr bool rows16_short_sums(int sub_scales, int group, int least, int most) {
  const int magnitude = -least > most ? -least : most;
  return sub_scales != 0 && group * magnitude * 128 <= 32767;
}
/// In how many sums the dot products of a d-group times their sub-scales can be added up as floats, none above 2^24 and
/// so all exact: 1, 2 (whose sum is the whole, rounded once) or 3 (which integers add up); 0: none of these, or there
/// are no sub-scales. Floats spare the 32-bit multiplication, which takes two steps and no addition. Eight codes are at
/// most `most_of_eight` in sum of magnitudes.
constexpr int rows16_float_parts(int sub_scales, int dgroup, int group, int most_of_eight, int scale, bool runs) {
  if (sub_scales == 0) return 0;
  const long long whole = dgroup * 16LL * most_of_eight * scale;
  if (whole <= 1 << 24) return 1;
  if (whole <= 1 << 25 && dgroup / group % 2 == 0) return 2;
  return runs && dgroup / group == 16 && whole / 16 * 6 <= 1 << 24 ? 3 : 0;
}

}  // namespace lanewise
