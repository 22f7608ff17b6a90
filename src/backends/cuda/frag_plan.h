// The `frag` layout: where each bit of a tile of 16 rows x 256 elements lies, so that lane 4g + t of a warp finds what
// it multiplies (rows g and g + 8, elements 8t .. 8t+7 of each 32: its fragments of mma.m16n8k32) in words of its own,
// quads ready to be masked out of them. Made from the parts that a decode file names; same bytes as GGUF's.
//
// A tile, in this order (a row's K is a row of tiles; matrix: tile rows of 16):
//   lane words   L a lane: chunks of four as [chunk][lane][16 bytes], then L % 4 (0, 1, 2) as [lane][4 or 8 bytes]
//   header       H bytes a row: pieces of 16, then of 8, 4 and 2, each as [row][piece]
// The last tile of a row whose K is no multiple of 256 holds the rows' own bytes, one after the other: a warp puts them
// in order when it gets there.
//
// Lane words, part after part of a quad's (docs/cuda.md has the picture): index `lin` = 2s + j of quad j (0, 1) of
// group of 32 s, h the row's half (row g + 8h).
//   plane  (mask 0x0F0F0F0F and the like, w bits a byte)  word 2 * (2 * (s / n) + j) + h, at w * (s % n), n = 8/w; also
//          numbers of quads that a decode file spreads over bytes: they are spread here
//   selector (nibbles of a table)                         word 2 * (lin / 2) + h, element i at 16 * (lin % 2) + 4 * i
//   quad   (a number of w bits for each quad)             value 2 * lin + h, 32/w of them a word
//   flips  (signs of eights, for a grid's codes)          word 2 * (s / 4) + h: of nibble n bit s % 4 is the sign of
//          element n, or of a quad's element in its byte (flip_nibble); where an eighth sign is by parity, parities,
//          and in nibble 0 the number of group 4x + t, or ninth bits of indices
//   eight  (a number of w bits for two quads)             value 2 * s + h; 8 bits: four a word; the others together, as
//                                                         many (a power of two) as fit a word, what is left over in
//                                                         nibbles for numbers of group 4x + t: nibble 2x + h
//   bytes  (TQ1_0: words that five groups share)          words 2t + j of the row: word 2j + h; the other words of the
//                                                         row lie in the header
// Header, in this order: nibbles of sub-scales and of sub-mins (group i at byte i % 4, nibble i / 4 % 2 of word i / 8),
// their upper two bits (byte i % 4, bits 2 * (i / 4), sub-mins 4 bits higher), bytes of 8-bit sub-scales; d; m.
#pragma once

#include <cstdint>

#include "backends/cuda/image.h"

namespace lanewise::cuda {

inline constexpr std::uint32_t frag_rows = 16;
inline constexpr std::uint32_t frag_cols = 256;

enum class PartKind : std::uint8_t { NONE, PLANE, SELECTOR, QUAD, EIGHT8, EIGHT, FLIPS, GROUP, BYTES };

LW_BOTH std::uint32_t bit_count(std::uint32_t word) {
  std::uint32_t n = 0;
  for (; word != 0; word &= word - 1) ++n;
  return n;
}

/// F: the constants and functions of a decode file (frag_format.cuh).
template <class F>
struct FragPlan {
  static constexpr std::uint32_t quads_a_block = F::elements / 4;
  static constexpr std::uint32_t row_bytes = frag_cols / F::elements * F::bytes;
  static constexpr std::uint32_t bytes = frag_rows * row_bytes;
  static constexpr bool has_tail = F::elements < frag_cols;
  /// Groups of 16: a lane's quads j (0, 1) are of both halves of 32 elements, so that a product of 16 x 16 by 16 x 8
  /// has one group. Eights of a grid stay together.
  static constexpr bool halves = F::group < 32 && F::grid_entries == 0;
  /// The quad of a super-block that is quad j of lanes 4g + t in group of 32 s; and back.
  LW_BOTH static std::uint32_t quad_of(std::uint32_t s, std::uint32_t t, std::uint32_t j) {
    return 8 * s + (halves ? 4 * j + t : 2 * t + j);
  }
  LW_BOTH static std::uint32_t quad_t(std::uint32_t q) { return halves ? q % 4 : q % 8 / 2; }
  LW_BOTH static std::uint32_t quad_j(std::uint32_t q) { return halves ? q % 8 / 4 : q % 2; }

  // ---- what kind of thing each part of a quad is ----
  LW_BOTH static std::uint32_t raw_mask(std::uint32_t i) { return i < F::quad_parts ? F::quad_part(0, i).mask : 0; }
  // Numbers of quads without a grid are bits or crumbs of its four codes.
  LW_BOTH static bool is_spread(std::uint32_t i) {
    return F::grid_entries == 0 && (raw_mask(i) == 15 || raw_mask(i) == 255) && !is_same(0, 1, i);
  }
  // Signs of eights, by an index of seven bits, and of quads.
  LW_BOTH static bool is_sign_index(std::uint32_t i) { return F::grid_entries != 0 && raw_mask(i) == 127; }
  LW_BOTH static bool is_flips(std::uint32_t i) {
    return is_sign_index(i) || (F::grid_entries != 0 && raw_mask(i) == 15 && !is_same(0, 1, i));
  }
  LW_BOTH static std::uint32_t mask(std::uint32_t i) {
    return is_spread(i) ? (raw_mask(i) == 15 ? 0x01010101u : 0x03030303u) : raw_mask(i);
  }
  LW_BOTH static bool is_same(std::uint32_t a, std::uint32_t b, std::uint32_t i) {
    return F::quad_part(a, i).byte == F::quad_part(b, i).byte && F::quad_part(a, i).shift == F::quad_part(b, i).shift;
  }
  LW_BOTH static PartKind kind(std::uint32_t i) {
    if (i >= F::quad_parts) return PartKind::NONE;
    const std::uint32_t m = mask(i);
    if (m == 0xFFFFFFFFu) return quads_a_block > 8 && is_same(0, 8, i) ? PartKind::BYTES : PartKind::PLANE;
    if (m == 0x0F0F0F0Fu && F::ends_by_table) return PartKind::SELECTOR;
    if (m == 0x0F0F0F0Fu || m == 0x03030303u || m == 0x01010101u) return PartKind::PLANE;
    if (is_flips(i)) return PartKind::FLIPS;
    if (!is_same(0, 1, i)) return PartKind::QUAD;
    if (is_same(0, 2, i)) return PartKind::GROUP;
    return bit_count(m) >= 8 ? PartKind::EIGHT8 : PartKind::EIGHT;
  }
  LW_BOTH static std::uint32_t width(std::uint32_t i) {
    return kind(i) == PartKind::PLANE || kind(i) == PartKind::SELECTOR ? bit_count(mask(i)) / 4 : bit_count(mask(i));
  }
  // The numbers for eights that aren't bytes, together.
  LW_BOTH static std::uint32_t eight_width() {
    std::uint32_t w = 0;
    for (std::uint32_t i = 0; i < F::quad_parts; ++i) w += kind(i) == PartKind::EIGHT ? width(i) : 0;
    return w;
  }
  LW_BOTH static std::uint32_t eight_offset(std::uint32_t part) {
    std::uint32_t w = 0;
    for (std::uint32_t i = 0; i < part; ++i) w += kind(i) == PartKind::EIGHT ? width(i) : 0;
    return w;
  }
  LW_BOTH static std::uint32_t eights_a_word() {
    if (eight_width() == 0) return 1;
    std::uint32_t n = 1;
    while (2 * n * eight_width() <= 32) n *= 2;
    return n;
  }
  /// A part's number as this layout has it, and back: a plane's four codes spread over bytes.
  LW_BOTH static std::uint32_t spread(std::uint32_t i, std::uint32_t raw) {
    if (!is_spread(i)) return raw;
    const std::uint32_t w = width(i);
    std::uint32_t word = 0;
    for (std::uint32_t n = 0; n < 4; ++n) word |= (raw >> (w * n) & ((1U << w) - 1)) << (8 * n);
    return word;
  }
  LW_BOTH static std::uint32_t gather(std::uint32_t i, std::uint32_t word) {
    if (!is_spread(i)) return word;
    const std::uint32_t w = width(i);
    std::uint32_t raw = 0;
    for (std::uint32_t n = 0; n < 4; ++n) raw |= (word >> (8 * n) & ((1U << w) - 1)) << (w * n);
    return raw;
  }
  /// Where the sign of an eight's element n lies among the nibbles of its word: those of looked up nibbles as they are;
  /// else a quad's in four bytes.
  LW_BOTH static std::uint32_t flip_nibble(std::uint32_t n) { return F::eights ? n : 2 * (n % 4) + n / 4; }
  LW_BOTH static std::uint32_t flipped_element(std::uint32_t nibble) {
    return F::eights ? nibble : nibble / 2 + nibble % 2 * 4;
  }
  /// Of seven signs that have an eighth by parity, the parity of those in the first n nibbles, n = 1..7, at bit n, so
  /// that neighbours tell a sign and no bits are counted; and back.
  LW_BOTH static std::uint32_t parities(std::uint32_t index) {
    const std::uint32_t signs = index | (bit_count(index) % 2) << 7;
    std::uint32_t all = 0;
    std::uint32_t parity = 0;
    for (std::uint32_t n = 1; n < 8; ++n) {
      parity ^= signs >> flipped_element(n - 1) & 1;
      all |= parity << n;
    }
    return all;
  }
  LW_BOTH static std::uint32_t sign_index(std::uint32_t all) {
    const std::uint32_t signs = all ^ all >> 1;
    std::uint32_t index = 0;
    for (std::uint32_t n = 0; n < 8; ++n) index |= (signs >> n & 1) << flipped_element(n);
    return index & 127;
  }
  /// Nibbles of a word's bytes side by side, and back.
  LW_BOTH static std::uint32_t selectors(std::uint32_t word) {
    return (word & 15) | (word >> 4 & 0xF0) | (word >> 8 & 0xF00) | (word >> 12 & 0xF000);
  }
  LW_BOTH static std::uint32_t selected(std::uint32_t n) {
    return (n & 15) | (n & 0xF0) << 4 | (n & 0xF00) << 8 | (n & 0xF000) << 12;
  }
  /// Codes that can be multiplied where they are in their bytes, a power of two times themselves: of group s times
  /// 2^(width * (s % slots)).
  static constexpr bool in_place =
      F::raw_codes && F::quad_parts == 1 && kind(0) == PartKind::PLANE && width(0) < 8 && F::grid_entries == 0;
  static constexpr std::uint32_t code_bits = in_place ? width(0) : 8;
  static constexpr std::uint32_t slots = 8 / code_bits;
  /// The largest such power's exponent, which all sums are brought to.
  static constexpr std::uint32_t place_bits = code_bits * (slots - 1);
  static constexpr bool has_bytes = F::quad_parts > 0 && kind(0) == PartKind::BYTES;
  static constexpr std::uint32_t eight_bits = eight_width();
  static constexpr std::uint32_t eights = eights_a_word();
  static constexpr std::uint32_t spare = eight_bits == 0 ? 0 : 32 - eights * eight_bits;
  static constexpr std::uint32_t nibbles_a_word = spare / 4;
  LW_BOTH static bool any_sign_index() { return is_sign_index(0) || is_sign_index(1) || is_sign_index(2); }
  /// Indices of nine bits: the ninth ones of four groups lie in the nibble that signs with an eighth by parity leave
  /// over; elsewhere a group's own nibble lies there.
  static constexpr bool has_ninth = F::quad_parts > 0 && kind(0) == PartKind::EIGHT8&& bit_count(raw_mask(0)) == 9;
  static constexpr bool flip_nibbles = any_sign_index() && !has_ninth;
  static constexpr bool has_lane_nibbles = nibbles_a_word != 0 || flip_nibbles;

  LW_BOTH static bool is_first_eight(std::uint32_t i) { return kind(i) == PartKind::EIGHT && eight_offset(i) == 0; }
  LW_BOTH static std::uint32_t words(std::uint32_t i) {
    switch (kind(i)) {
      case PartKind::PLANE:
      case PartKind::SELECTOR:
        return 4 * width(i);
      case PartKind::QUAD:
        return width(i);
      case PartKind::EIGHT8:
      case PartKind::FLIPS:
      case PartKind::BYTES:
        return 4;
      case PartKind::EIGHT:
        return is_first_eight(i) ? 16 / eights : 0;
      default:
        return 0;
    }
  }
  // First word of a part: those of whole chunks come first.
  LW_BOTH static std::uint32_t base(std::uint32_t part) {
    if (kind(part) == PartKind::EIGHT) {
      while (!is_first_eight(part)) --part;
    }
    std::uint32_t at = 0;
    const bool odd = words(part) % 4 != 0;
    for (std::uint32_t i = 0; i < F::quad_parts; ++i) {
      const bool i_odd = words(i) % 4 != 0;
      if ((!i_odd && odd) || (i_odd == odd && i < part)) at += words(i);
    }
    return at;
  }
  /// First word of the numbers for eights.
  LW_BOTH static std::uint32_t eight_base() {
    for (std::uint32_t i = 0; i < F::quad_parts; ++i) {
      if (kind(i) == PartKind::EIGHT) return base(i);
    }
    return 0;
  }
  LW_BOTH static std::uint32_t flips_base() {
    for (std::uint32_t i = 0; i < F::quad_parts; ++i) {
      if (kind(i) == PartKind::FLIPS) return base(i);
    }
    return 0;
  }
  /// Word of nibble n = 2x + h of a lane, group 4x + t of row g + 8h, and where in it.
  LW_BOTH static std::uint32_t nibble_word(std::uint32_t n) {
    return flip_nibbles ? flips_base() + n : eight_base() + n / (nibbles_a_word == 0 ? 1 : nibbles_a_word);
  }
  LW_BOTH static std::uint32_t nibble_bit(std::uint32_t n) {
    return flip_nibbles ? 0 : (eights * eight_bits + 4 * (n % (nibbles_a_word == 0 ? 1 : nibbles_a_word))) % 32;
  }
  LW_BOTH static std::uint32_t all_words() {
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < F::quad_parts; ++i) n += words(i);
    return n;
  }
  static constexpr std::uint32_t lane_words = all_words();
  static constexpr std::uint32_t chunks = lane_words / 4;
  static constexpr std::uint32_t rest_words = lane_words % 4;
  static_assert(rest_words < 3, "pieces of three words aren't aligned");

  // ---- numbers of groups ----
  LW_BOTH static std::uint32_t sc_width() {
    std::uint32_t w = 0;
    for (std::uint32_t i = 0; i < F::sc_parts; ++i) w += bit_count(F::sc_part(0, i).mask);
    return w;
  }
  static constexpr std::uint32_t sc_bits = F::sc_parts == 0 ? 0 : sc_width();
  static constexpr std::uint32_t groups = F::group > frag_cols ? 1 : frag_cols / F::group;
  static constexpr bool sc_in_lanes = sc_bits != 0 && has_lane_nibbles;
  /// Sub-scales (and d) as the file has them: words that hold both.
  static constexpr bool verbatim = sc_bits == 3 && !sc_in_lanes;
  static constexpr bool sc_in_header = sc_bits != 0 && !sc_in_lanes && !verbatim;
  static constexpr bool has_mn = F::has_min && F::mn_parts != 0;
  static constexpr std::uint32_t d_bits = F::exponent_scale || F::dgroup == 16 ? 8 : 16;
  static constexpr std::uint32_t dgroups = frag_cols / F::dgroup;

  // Bit offsets in the header.
  static constexpr std::uint32_t nibble_bits = sc_in_header && sc_bits < 8 ? groups * 4 : 0;
  static constexpr std::uint32_t mn_nibbles_at = nibble_bits;
  static constexpr std::uint32_t tops_at = nibble_bits * (has_mn ? 2 : 1);
  static constexpr std::uint32_t top_bits = sc_bits == 6 && sc_in_header ? groups * 2 * (has_mn ? 2 : 1) : 0;
  /// Upper bits that fill half a word only: nibble i % 4 of it, not byte.
  static constexpr bool short_tops = top_bits == 16;
  static constexpr std::uint32_t sc_bytes_at = tops_at + top_bits;
  static constexpr std::uint32_t sc_byte_bits = sc_bits == 8 ? groups * 8 : 0;
  static constexpr std::uint32_t words_at = sc_bytes_at + sc_byte_bits;  // verbatim, or what BYTES left
  static constexpr std::uint32_t word_bits = verbatim ? 64 : has_bytes ? 160 : 0;
  static constexpr std::uint32_t d_at = words_at + word_bits;
  static constexpr std::uint32_t m_at = d_at + (verbatim ? 0 : dgroups * d_bits);
  static constexpr std::uint32_t header_bits = m_at + (F::has_min ? dgroups * 16 : 0);
  static_assert(header_bits % 16 == 0);
  static constexpr std::uint32_t header_bytes = header_bits / 8;
  static constexpr std::uint32_t header_words = (header_bytes + 3) / 4;
  static constexpr std::uint32_t header_at = 128 * lane_words;
  static_assert(header_at + frag_rows * header_bytes == bytes, "a tile has GGUF's bytes");
  static constexpr std::uint32_t verbatim_byte = verbatim ? F::sc_part(0, 0).byte : 0;

  /// Where word k of a lane lies in the tile, and byte `at` of a row's header.
  LW_BOTH static std::uint32_t lane_word_at(std::uint32_t lane, std::uint32_t k) {
    return k < 4 * chunks ? (k / 4 * 32 + lane) * 16 + k % 4 * 4
                          : chunks * 512 + (lane * rest_words + (k - 4 * chunks)) * 4;
  }
  struct Piece {
    std::uint32_t begin;
    std::uint32_t bytes;
  };
  LW_BOTH static Piece piece_of(std::uint32_t at) {
    Piece piece{0, 16};
    while (at >= piece.begin + piece.bytes || header_bytes - piece.begin < piece.bytes) {
      if (header_bytes - piece.begin < piece.bytes) {
        piece.bytes /= 2;
      } else {
        piece.begin += piece.bytes;
      }
    }
    return piece;
  }
  LW_BOTH static std::uint32_t header_byte_at(std::uint32_t row, std::uint32_t at) {
    const Piece piece = piece_of(at);
    return header_at + piece.begin * frag_rows + row * piece.bytes + (at - piece.begin);
  }
  /// The same of a byte known when compiled: nvcc doesn't see through the search for its piece (up to 100 instructions
  /// a super-block).
  template <std::uint32_t At>
  LW_BOTH static std::uint32_t header_byte(std::uint32_t row) {
    constexpr Piece piece = piece_of(At);
    return header_at + piece.begin * frag_rows + row * piece.bytes + (At - piece.begin);
  }
};

/// Bytes of a matrix, and of a row of tiles, in this layout: those of GGUF's rows, of which the last sixteen are whole.
LW_BOTH std::uint64_t frag_tile_row_bytes(std::uint64_t gguf_row_bytes) { return frag_rows * gguf_row_bytes; }
LW_BOTH std::uint64_t frag_tiles(std::uint64_t rows) { return (rows + frag_rows - 1) / frag_rows; }
LW_BOTH std::uint64_t frag_bytes(std::uint64_t rows, std::uint64_t gguf_row_bytes) {
  return frag_tiles(rows) * frag_tile_row_bytes(gguf_row_bytes);
}

}  // namespace lanewise::cuda
