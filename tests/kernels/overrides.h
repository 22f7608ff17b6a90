// The primitives as a target compiles them, on sixteen lanes held in memory.
#pragma once

#include <cstdint>

namespace lanewise::test {

using Lanes = std::uint32_t[16];

struct Overrides {
  void (*bytes_add)(const Lanes& a, const Lanes& b, Lanes& out);
  void (*spread_bits)(const Lanes& a, Lanes& out);
  void (*spread_crumbs)(const Lanes& a, Lanes& out);
  void (*trits[5])(const Lanes& a, Lanes& out);
  void (*sign_index)(const Lanes& a, Lanes& out);
  void (*negate)(const Lanes& a, const Lanes& signs, Lanes& out);
  void (*table16)(const Lanes& a, Lanes& out);  ///< in table16_words
  void (*half_to_float)(const Lanes& a, Lanes& out);
  void (*ue4m3_halved)(const Lanes& a, Lanes& out);
  void (*sign_extend8)(const Lanes& a, Lanes& out);
  void (*biased_power)(const Lanes& a, Lanes& out);
  void (*spread_bits_to[5])(const Lanes& a, Lanes& out);      ///< as spread_places
  void (*spread_crumbs_from[4])(const Lanes& a, Lanes& out);  ///< as crumb_places
};

struct SpreadPlace {
  std::uint32_t first, to;
};
inline constexpr SpreadPlace spread_places[5] = {{0, 0}, {4, 1}, {13, 7}, {28, 4}, {3, 4}};
inline constexpr std::uint32_t crumb_places[4] = {0, 8, 13, 24};
inline constexpr std::uint32_t table16_words[4] = {0x83D2A19Fu, 0x0106F7E1u, 0x7F452B17u, 0x80FE5C3Du};

}  // namespace lanewise::test
