// Eights of the grid formats as nibbles, for backends that look codes up by permutations of bytes: an entry's element n
// is told by nibble n, whose low two bits say which of its (at most three) values it has and whose third bit is left to
// what flips it: its sign, or the shift that an eight has. The codes of nibbles 0..7 are two words.
#ifndef LANEWISE_FORMATS_NIBBLES_H
#define LANEWISE_FORMATS_NIBBLES_H
#include "primitives.h"

LW_DECODE_BEGIN
// IQ2: of the values 8, 25 and 43 the bits 4 and 5 are 0, 1 and 2.
LW_FN lw_word lw_iq2_eight(lw_word low, lw_word high) {
  lw_word a = (low >> 4u) & 0x03030303u;
  lw_word b = (high >> 4u) & 0x03030303u;
  a = (a | (a >> 4u)) & 0x00FF00FFu;
  b = (b | (b >> 4u)) & 0x00FF00FFu;
  return ((a | (a >> 8u)) & 0xFFFFu) | ((b | (b >> 8u)) << 16u);
}
#define LW_IQ2_CODES_PLAIN 0x002B1908u
#define LW_IQ2_CODES_FLIPPED 0x00D5E7F8u

// IQ1: byte i of an entry holds value i + 1 in its low nibble, value 4 + i, plus 1, in its high one. A code is 8 *
// value
// + 1, or - 1 where the shift is negative.
LW_FN lw_word lw_iq1_eight(lw_word entry) {
  lw_word a = entry & 0x0F0F0F0Fu;
  lw_word b = (entry >> 4u) & 0x0F0F0F0Fu;
  a = (a | (a >> 4u)) & 0x00FF00FFu;
  b = (b | (b >> 4u)) & 0x00FF00FFu;
  return ((a | (a >> 8u)) & 0xFFFFu) | ((b | (b >> 8u)) << 16u);
}
#define LW_IQ1_CODES_PLAIN 0x000901F9u
#define LW_IQ1_CODES_FLIPPED 0x0007FFF7u
LW_DECODE_END

#endif
