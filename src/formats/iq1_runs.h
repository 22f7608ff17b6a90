// What the runs of IQ1_S and IQ1_M share.
#ifndef LANEWISE_FORMATS_IQ1_RUNS_H
#define LANEWISE_FORMATS_IQ1_RUNS_H
#include "runs.h"
#include "tables/iq1_grid.h"

namespace lanewise {

// An eight in a word. Of byte i, bits 0 and 1 are value i + 1, bits 3 and 4 value 4 + i, plus 1, and bit 2 is left to
// the shift (set: it is negative), so that the low five bits index both tables of codes.
inline constexpr auto lw_iq1_eights = lw_make_words<LW_IQ1_GRID_WORDS>([](lw_u32 entry) {
  lw_u32 nibbles = lw_iq1_grid[entry];
  return (nibbles & 0x0F0F0F0Fu) | ((nibbles & 0xF0F0F0F0u) >> 1u);
});
// A code, biased: 8 * value - 1 or + 1.
constexpr lw_u32 lw_iq1_code(lw_u32 value_plus_1, lw_u32 shift) {
  return 8u * value_plus_1 + LW_RUN_BIAS - 8u + 1u - 2u * shift;
}
inline constexpr LwBytes<64> lw_iq1_low_codes =
    lw_make_bytes<64>([](lw_u32 n) { return lw_iq1_code(n & 3u, n >> 2u & 1u); });
inline constexpr LwBytes<64> lw_iq1_high_codes =
    lw_make_bytes<64>([](lw_u32 n) { return lw_iq1_code(n >> 3u & 3u, n >> 2u & 1u); });

// Eight codes of an entry and of the shift at bit `at` of `shifts`.
LW_FN LwRun8 lw_iq1_run8(lw_word entry, lw_word shifts, lw_u32 at) {
  lw_word both = lw_put_bit(LW_GRID(lw_iq1_eights.word, entry), shifts, at, 2u);
  LwRun8 run;
  run.word[0] = lw_look_up64(lw_iq1_low_codes.byte, both);
  run.word[1] = lw_look_up64(lw_iq1_high_codes.byte, both);
  return run;
}

}  // namespace lanewise

#endif
