// What the runs of IQ2_XXS, IQ2_XS and IQ2_S share: a value is 8, 25 or 43, which two bits (a crumb: 0, 1 or 2) tell.
#ifndef LANEWISE_FORMATS_IQ2_RUNS_H
#define LANEWISE_FORMATS_IQ2_RUNS_H
#include "runs.h"

namespace lanewise {

constexpr lw_u32 lw_iq2_crumb(lw_u32 value) { return value == 8u ? 0u : value == 25u ? 1u : 2u; }
// A code, biased, from a crumb and a sign bit.
constexpr lw_u32 lw_iq2_code(lw_u32 crumb, lw_u32 sign) {
  lw_u32 value = crumb == 0u ? 8u : crumb == 1u ? 25u : 43u;
  return sign != 0u ? LW_RUN_BIAS - value : LW_RUN_BIAS + value;
}

// An eight in a word. Of byte i, bits 0 and 2 are the crumb of element i, 3 and 4 that of element 4 + i, and 1 and 5
// are left to their signs, so that the low six bits index both tables of codes.
template <std::size_t N>
constexpr LwWords<N / 2> lw_iq2_eights(const lw_u32 (&grid)[N]) {
  return lw_make_words<N / 2>([&](lw_u32 entry) {
    lw_u32 word = 0;
    for (lw_u32 i = 0; i < 4; ++i) {
      lw_u32 low = lw_iq2_crumb(grid[2u * entry] >> (8u * i) & 255u);
      lw_u32 high = lw_iq2_crumb(grid[2u * entry + 1u] >> (8u * i) & 255u);
      word |= ((low & 1u) | ((low & 2u) << 1u) | (high << 3u)) << (8u * i);
    }
    return word;
  });
}
inline constexpr LwBytes<64> lw_iq2_low_codes =
    lw_make_bytes<64>([](lw_u32 n) { return lw_iq2_code((n & 1u) | (n >> 1u & 2u), n >> 1u & 1u); });
inline constexpr LwBytes<64> lw_iq2_high_codes =
    lw_make_bytes<64>([](lw_u32 n) { return lw_iq2_code(n >> 3u & 3u, n >> 5u); });

// Eight codes from their word and the eight signs at bit `at` of `signs`.
LW_FN LwRun8 lw_iq2_run8(lw_word eight, lw_word signs, lw_u32 at) {
  lw_word both = lw_put_signs(eight, signs, at);
  LwRun8 run;
  run.word[0] = lw_look_up64(lw_iq2_low_codes.byte, both);
  run.word[1] = lw_look_up64(lw_iq2_high_codes.byte, both);
  return run;
}

}  // namespace lanewise

#endif
