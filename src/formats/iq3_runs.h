// What the runs of IQ3_XXS and IQ3_S share: a value is one of eight, which three bits tell.
#ifndef LANEWISE_FORMATS_IQ3_RUNS_H
#define LANEWISE_FORMATS_IQ3_RUNS_H
#include "runs.h"

namespace lanewise {

// Two values of an entry, the one at byte `first` and the next, by their places among the eight: in the low three bits
// of a byte's nibbles, whose fourth bits are left to the signs.
template <std::size_t N, class Place>
constexpr LwBytes<N> lw_iq3_pairs(const lw_u32 (&grid)[N], lw_u32 first, Place place) {
  return lw_make_bytes<N>([&](lw_u32 entry) {
    lw_u32 pair = grid[entry] >> (8u * first);
    return place(pair & 255u) | place(pair >> 8u & 255u) << 4u;
  });
}
// The codes, biased, by place and sign: repeated, so that only the low four bits of an index count.
template <class Value>
constexpr LwBytes<64> lw_iq3_codes(Value value) {
  return lw_make_bytes<64>(
      [=](lw_u32 n) { return (n & 8u) != 0u ? LW_RUN_BIAS - value(n & 7u) : LW_RUN_BIAS + value(n & 7u); });
}

// Sixteen codes from two bytes a quad, and the signs of quads 4 * half to 4 * half + 3 of `signs`.
LW_FN LwRun16 lw_iq3_run16(const std::uint8_t (&codes)[64], lw_word first, lw_word second, lw_word signs, lw_u32 half) {
  lw_word quads = lw_nibbles_apart(signs, half);
  first = lw_put_bits(first, 0x77u, quads, 0u, 3u, 7u);
  second = lw_put_bits(second, 0x77u, quads, 2u, 3u, 7u);
  LwRun16 run;
  run.word[0] = lw_look_up64(codes, first);
  run.word[1] = lw_look_up64(codes, first >> 4u);
  run.word[2] = lw_look_up64(codes, second);
  run.word[3] = lw_look_up64(codes, second >> 4u);
  return run;
}

}  // namespace lanewise

#endif
