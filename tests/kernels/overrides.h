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

/// Those of formats/runs.h, on a target that takes runs. What an instruction holds as a constant has all its values
/// here, one after another.
struct RunOverrides {
  void (*byte_of)(const Lanes& a, Lanes (&out)[4]);
  void (*look_up64)(const Lanes& a, Lanes& out);  ///< in the first bytes of run_table
  void (*look_up256)(const Lanes& a, Lanes& out);
  void (*look_up512)(const Lanes& a, const Lanes& ninths, Lanes (&out)[8]);  ///< ninth bits from bit 0, 4, 8 ... on
  void (*bytes_sign_index)(const Lanes& a, Lanes& out);
  void (*four_sign_indices)(const Lanes& a, Lanes& out);
  void (*put_signs)(const Lanes& a, const Lanes& signs, Lanes (&out)[4]);  ///< from bit 0, 8, 16, 24 on
  void (*put_bit)(const Lanes& a, const Lanes& word, Lanes (&out)[32]);    ///< bits 0 to 31 to bit 2
  void (*nibbles_apart)(const Lanes& a, Lanes (&out)[2]);
  /// Bits 0, 2, 4 and 6 and the next of `bits` to bits 4 and 5, mask 0x0F; then to bits 3 and 7, mask 0x77.
  void (*put_bits)(const Lanes& a, const Lanes& bits, Lanes (&out)[8]);
  void (*look_up_lanes)(const Lanes& a, Lanes (&out)[2]);  ///< in lanes of i * i, as integers and as floats
};

struct alignas(64) RunTable {
  std::uint8_t byte[512];
};
constexpr RunTable make_run_table() {
  RunTable table{};
  std::uint32_t state = 1;
  for (std::uint8_t& byte : table.byte) byte = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return table;
}
inline constexpr RunTable run_table = make_run_table();

struct SpreadPlace {
  std::uint32_t first, to;
};
inline constexpr SpreadPlace spread_places[5] = {{0, 0}, {4, 1}, {13, 7}, {28, 4}, {3, 4}};
inline constexpr std::uint32_t crumb_places[4] = {0, 8, 13, 24};
inline constexpr std::uint32_t table16_words[4] = {0x83D2A19Fu, 0x0106F7E1u, 0x7F452B17u, 0x80FE5C3Du};

}  // namespace lanewise::test
