// A tile of the `frag` layout as a lane of a warp reads it: its words, the headers of its two rows (g and g + 8 of lane
// 4g + t), and the codes, sub-scales and scales in them.
#pragma once

#include "backends/cuda/frag_plan.h"
#include "backends/cuda/machine.cuh"

namespace lanewise::cuda {

// What look-ups of codes by permutation need, in registers for the whole kernel: constants would be moved into
// registers anew for each, as only one of a permutation's three may be one (MXFP4: 60 of 400 instructions a
// super-block).
template <class F>
struct FragTables {
  static constexpr std::uint32_t copies = F::grid_entries <= 512 ? 32 : F::grid_entries <= 1024 ? 16 : 8;
  static constexpr std::uint32_t entry_bytes = 4 * copies;
  static constexpr std::uint32_t grid_bytes = F::grid_entries * entry_bytes;

  std::uint32_t word[4];  // sixteen codes, or eight
  std::uint32_t fours;
  std::uint32_t lane_at;  // of this lane's copy of an entry
  // A trip through the lanes, so that the compiler knows neither a constant nor that all lanes have the same.
  LW_DEVICE_MEMBER std::uint32_t own(std::uint32_t x) {
    const std::uint32_t lane = thread_index() % 32;
    return x + (lane - shuffle(lane, lane));
  }
  LW_DEVICE_INSIDE void set() {
    if constexpr (FragPlan<F>::kind(0) == PartKind::SELECTOR) {
      word[0] = own(F::quad(0, 0x3210U, 0, 0));
      word[1] = own(F::quad(0, 0x7654U, 0, 0));
      word[2] = own(F::quad(0, 0xBA98U, 0, 0));
      word[3] = own(F::quad(0, 0xFEDCU, 0, 0));
      fours = own(0x44444444U);
    }
    if constexpr (F::grid_entries != 0) lane_at = thread_index() % copies * 4;
    if constexpr (F::eights) {
      word[0] = own(F::eight_codes(0));
      word[1] = own(F::eight_codes(1));
    }
  }
};

// A format's grid at the start of shared memory, each entry as often as there is room for, in a bank of its own for as
// many lanes: look-ups of 32 lanes in one copy meet in some bank three or four at a time.
template <class F>
struct FragGrid {
  static constexpr std::uint32_t copies = FragTables<F>::copies;
  static constexpr std::uint32_t rounds = (F::grid_entries + 255) / 256;  // of the smallest block of threads

  std::uint32_t mine[rounds == 0 ? 1 : rounds];

  // Before weights are asked for, behind which these loads would queue.
  LW_DEVICE_INSIDE void ask() {
    LW_UNROLL
    for (std::uint32_t r = 0; r < rounds; ++r) {
      const std::uint32_t entry = thread_index() + r * block_threads();
      if (entry < F::grid_entries) mine[r] = pinned(F::grid_entry(entry));
    }
  }
  LW_DEVICE_INSIDE void fill(std::uint8_t* memory) const {
    const std::uint32_t lane = thread_index() % 32;
    constexpr std::uint32_t at_once = 32 / copies;
    auto* const grid = reinterpret_cast<std::uint32_t*>(memory);
    LW_UNROLL
    for (std::uint32_t r = 0; r < rounds; ++r) {
      const std::uint32_t from = thread_index() / 32 * 32 + r * block_threads();
      if (from >= F::grid_entries) break;
      LW_UNROLL
      for (std::uint32_t i = 0; i < 32; i += at_once) {
        grid[from * copies + i * copies + lane] = shuffle(mine[r], i + lane / copies);
      }
    }
  }
};

template <class F>
struct FragTile {
  using P = FragPlan<F>;
  static constexpr std::uint32_t words = P::lane_words;
  static constexpr std::uint32_t header_words = P::header_words;

  const FragTables<F>* tables;
  const std::uint8_t* tile;
  std::uint32_t t;
  std::uint32_t row;  // g
  std::uint32_t lane[words];
  std::uint32_t header[2][header_words == 0 ? 1 : header_words];
  std::uint32_t nibbles[2];  // where groups' nibbles lie in lanes' words: those of all eight groups, as in a header

  LW_DEVICE_INSIDE void load(const std::uint8_t* at, bool all_nibbles) {
    const std::uint32_t index = thread_index() % 32;
    tile = at;
    t = index % 4;
    row = index / 4;
    LW_UNROLL
    for (std::uint32_t c = 0; c < P::chunks; ++c) {
      const uint4 v = *reinterpret_cast<const uint4*>(at + P::lane_word_at(index, 4 * c));
      lane[4 * c] = v.x;
      lane[4 * c + 1] = v.y;
      lane[4 * c + 2] = v.z;
      lane[4 * c + 3] = v.w;
    }
    LW_UNROLL
    for (std::uint32_t k = 4 * P::chunks; k < words; ++k) {
      lane[k] = *reinterpret_cast<const std::uint32_t*>(at + P::lane_word_at(index, k));
    }
    LW_UNROLL
    for (std::uint32_t h = 0; h < 2; ++h) load_header(at, row + 8 * h, header[h]);
    if constexpr (P::has_lane_nibbles) {
      if (all_nibbles) gather_nibbles();
    }
  }
  LW_DEVICE_MEMBER void load_header(const std::uint8_t* at, std::uint32_t row, std::uint32_t (&into)[header_words]) {
    constexpr std::uint32_t pieces = P::header_bytes / 16;
    LW_UNROLL
    for (std::uint32_t i = 0; i < pieces; ++i) {
      const uint4 v = *reinterpret_cast<const uint4*>(at + P::header_at + 16 * (i * frag_rows + row));
      into[4 * i] = v.x;
      into[4 * i + 1] = v.y;
      into[4 * i + 2] = v.z;
      into[4 * i + 3] = v.w;
    }
    constexpr std::uint32_t eight = 16 * pieces;
    constexpr std::uint32_t four = eight + (P::header_bytes & 8);
    constexpr std::uint32_t two = four + (P::header_bytes & 4);
    if constexpr ((P::header_bytes & 8) != 0) {
      const uint2 v = *reinterpret_cast<const uint2*>(at + P::template header_byte<eight>(row));
      into[eight / 4] = v.x;
      into[eight / 4 + 1] = v.y;
    }
    if constexpr ((P::header_bytes & 4) != 0) {
      into[four / 4] = *reinterpret_cast<const std::uint32_t*>(at + P::template header_byte<four>(row));
    }
    if constexpr ((P::header_bytes & 2) != 0) {
      into[two / 4] = *reinterpret_cast<const std::uint16_t*>(at + P::template header_byte<two>(row));
    }
  }

  // ---- numbers of groups ----

  // This lane's nibble of group 4x + t, row g + 8h.
  LW_DEVICE_CONST std::uint32_t lane_nibble(std::uint32_t x, std::uint32_t h) const {
    return lane[P::nibble_word(2 * x + h)] >> P::nibble_bit(2 * x + h) & 15U;
  }
  LW_DEVICE_INSIDE void gather_nibbles() {
    // Byte t of a row's word is lane t's: group t low, group 4 + t high.
    std::uint32_t mine = 0;
    LW_UNROLL
    for (std::uint32_t n = 0; n < 4; ++n) mine |= lane_nibble(n / 2, n % 2) << (16 * (n % 2) + 4 * (n / 2));
    const std::uint32_t other = shuffle_xor(mine, 1);
    const std::uint32_t even = t % 2 == 0 ? mine : other;
    const std::uint32_t odd = t % 2 == 0 ? other : mine;
    const std::uint32_t two = even | odd << 8;  // a half word a row: bytes t & ~1 and t | 1
    const std::uint32_t far = shuffle_xor(two, 2);
    const std::uint32_t low = t < 2 ? two : far;
    const std::uint32_t high = t < 2 ? far : two;
    nibbles[0] = permute(low, high, 0x5410);
    nibbles[1] = permute(low, high, 0x7632);
  }
  // The stored sub-scales (sub-mins) of groups 4k .. 4k+3, a byte each.
  LW_DEVICE_CONST std::uint32_t sc4(std::uint32_t h, std::uint32_t k, bool is_mn) const {
    if constexpr (P::sc_in_lanes) {
      return nibbles[h] >> (4 * k) & ((1U << P::sc_bits) - 1) * 0x01010101U;
    } else if constexpr (P::sc_bits == 8) {
      return header[h][P::sc_bytes_at / 32 + k];
    } else {
      const std::uint32_t first = (is_mn ? P::mn_nibbles_at : 0) / 32;
      std::uint32_t value = header[h][first + k / 2] >> (4 * (k % 2)) & 0x0F0F0F0FU;
      if constexpr (P::sc_bits == 6 && P::short_tops) {
        const std::uint32_t tops = header[h][P::tops_at / 32] >> (2 * k) & 0x3333U;
        const std::uint32_t pairs = (tops | tops << 8) & 0x00330033U;
        value |= ((pairs << 4) | (pairs << 8)) & 0x30303030U;
      } else if constexpr (P::sc_bits == 6) {
        const std::uint32_t at = 2 * k + (is_mn ? 4 : 0);
        const std::uint32_t tops = header[h][P::tops_at / 32];
        value |= (at >= 4 ? tops >> (at - 4) : tops << (4 - at)) & 0x30303030U;
      }
      return value;
    }
  }
  // The sub-scales (sub-mins) of groups 4t .. 4t+3 of row g + 8h, a signed byte each; zeros where there are none.
  template <bool IsMn>
  LW_DEVICE_CONST std::uint32_t groups_at(std::uint32_t h) const {
    if constexpr (P::sc_in_header) {
      const std::uint32_t at = row + 8 * h;
      if (4 * t >= P::groups) return 0;
      if constexpr (P::sc_bits == 8) {
        return *reinterpret_cast<const std::uint32_t*>(tile + P::template header_byte<P::sc_bytes_at / 8>(at) + 4 * t);
      } else {
        constexpr std::uint32_t nibbles_from = (IsMn ? P::mn_nibbles_at : 0) / 8;
        std::uint32_t raw =
            *reinterpret_cast<const std::uint32_t*>(tile + P::template header_byte<nibbles_from>(at) + t / 2 * 4) >>
                (t % 2 * 4) &
            0x0F0F0F0FU;
        if constexpr (P::sc_bits == 6) {
          raw |= (header[h][P::tops_at / 32] >> (2 * t + (IsMn ? 4 : 0)) & 0x03030303U) << 4;
        }
        if (IsMn) return raw;
        std::uint32_t word = 0;
        LW_UNROLL
        for (std::uint32_t i = 0; i < 4; ++i) {
          word |= (static_cast<std::uint32_t>(F::sc(raw >> (8 * i) & 255U)) & 255U) << (8 * i);
        }
        return word;
      }
    }
    return 0;
  }
  // sc of group i, row g + 8h; i known when compiled.
  LW_DEVICE_CONST std::int32_t sc(std::uint32_t h, std::uint32_t i) const {
    if constexpr (P::verbatim) {
      return F::sc(verbatim_part(h, F::sc_part(i, 0)));
    } else {
      return F::sc(sc4(h, i / 4, false) >> (8 * (i % 4)) & 255U);
    }
  }
  LW_DEVICE_CONST std::int32_t mn(std::uint32_t h, std::uint32_t i) const {
    return F::mn(sc4(h, i / 4, true) >> (8 * (i % 4)) & 255U);
  }
  LW_DEVICE_CONST std::uint32_t verbatim_part(std::uint32_t h, LwPart part) const {
    return header[h][(part.byte - P::verbatim_byte) / 4] >> part.shift & part.mask;
  }
  // The same of group 4x + t, this lane's: whole words are shifted by the lane first, which groups then share.
  LW_DEVICE_CONST std::int32_t lane_sc(std::uint32_t h, std::uint32_t x) const {
    if constexpr (P::sc_in_lanes) {
      return F::sc(lane_nibble(x, h) & ((1U << P::sc_bits) - 1));
    } else if constexpr (P::verbatim) {
      return F::sc(header[h][x / 2] >> (16 * (x % 2)) >> (3 * t) & 7U);
    } else if constexpr (P::sc_bits == 8) {
      return F::sc(sc4(h, x, false) >> (8 * t) & 255U);
    } else {
      return F::sc(lane_number<false>(h, x));
    }
  }
  LW_DEVICE_CONST std::int32_t lane_mn(std::uint32_t h, std::uint32_t x) const {
    return F::mn(lane_number<true>(h, x));
  }
  template <bool IsMn>
  LW_DEVICE_CONST std::uint32_t lane_number(std::uint32_t h, std::uint32_t x) const {
    constexpr std::uint32_t first = (IsMn ? P::mn_nibbles_at : 0) / 32;
    std::uint32_t value = header[h][first + x / 2] >> (8 * t) >> (4 * (x % 2)) & 15U;
    if constexpr (P::sc_bits == 6) {
      const std::uint32_t tops = header[h][P::tops_at / 32] >> (P::short_tops ? 4 * t : 8 * t);
      value |= moved(tops, 2 * x + (IsMn ? 4 : 0), 4) & 0x30U;
    }
    return value;
  }

  // The stored d (m) of d-group i; i known when compiled.
  LW_DEVICE_CONST std::uint32_t d_raw(std::uint32_t h, std::uint32_t i) const {
    if constexpr (P::verbatim) {
      std::uint32_t value = 0;
      LW_UNROLL
      for (std::uint32_t p = 0; p < F::d_parts; ++p) value |= verbatim_part(h, F::d_part(0, p)) << (4 * p);
      return value;
    } else {
      return header_field(h, P::d_at + P::d_bits * i, P::d_bits);
    }
  }
  LW_DEVICE_CONST std::uint32_t m_raw(std::uint32_t h, std::uint32_t i) const {
    return header_field(h, P::m_at + 16 * i, 16);
  }
  LW_DEVICE_CONST std::uint32_t header_field(std::uint32_t h, std::uint32_t from, std::uint32_t width) const {
    return header[h][from / 32] >> (from % 32) & ((1U << width) - 1);
  }
  // The stored d (m) of any d-group, from the tile.
  LW_DEVICE_CONST std::uint32_t d_at(std::uint32_t h, std::uint32_t i) const {
    return field_at<P::d_at, P::d_bits>(h, i);
  }
  LW_DEVICE_CONST std::uint32_t m_at(std::uint32_t h, std::uint32_t i) const { return field_at<P::m_at, 16>(h, i); }
  template <std::uint32_t From, std::uint32_t Width>
  LW_DEVICE_CONST std::uint32_t field_at(std::uint32_t h, std::uint32_t i) const {
    // These fields fill pieces of their own, so that an index is a distance.
    const std::uint8_t* at = tile + P::template header_byte<From / 8>(row + 8 * h);
    if constexpr (Width == 8) return at[i];
    return reinterpret_cast<const std::uint16_t*>(at)[i];
  }

  // ---- codes ----

  // Quad j (0, 1) of this lane in group of 32 s, row g + 8h, where it stands in its bytes (FragPlan::in_place).
  LW_DEVICE_CONST std::uint32_t quad_in_place(std::uint32_t s, std::uint32_t j, std::uint32_t h) const {
    return lane[P::base(0) + (s / P::slots * 2 + j) * 2 + h] & (P::mask(0) << (s % P::slots * P::code_bits));
  }
  // The same as a code; all known when compiled.
  LW_DEVICE_CONST std::uint32_t quad(std::uint32_t s, std::uint32_t j, std::uint32_t h) const {
    if constexpr (P::has_bytes) {
      if (s < 5) return F::quad(8 * s, lane[2 * j + h], 0, 0);
      const std::uint32_t q = 8 * s + 2 * t + j;
      constexpr std::uint32_t first = P::words_at / 32;
      std::uint32_t word = t % 2 == 0 ? header[h][first + j] : header[h][first + 2 + j];
      if (q >= 60) word = header[h][first + 4];
      return F::quad(q, word, 0, 0);
    } else if constexpr (F::grid_entries != 0) {
      return grid_quad(s, j, h);
    } else if constexpr (P::kind(0) == PartKind::SELECTOR) {
      // Codes by the low three bits in either half of the table, then one of the two by the fourth, for both quads of a
      // word as far as that goes together.
      const std::uint32_t word = lane[P::base(0) + s * 2 + h];
      std::uint32_t low_bits = word & 0x77777777U;
      std::uint32_t halves = (word >> 1 & tables->fours) | 0x32103210U;
      if (j == 1) {
        low_bits = upper_half(low_bits);
        halves = upper_half(halves);
      }
      const std::uint32_t lower = permute_signs(tables->word[0], tables->word[1], low_bits);
      const std::uint32_t upper = permute_signs(tables->word[2], tables->word[3], low_bits);
      return permute_signs(lower, upper, halves);
    } else {
      std::uint32_t p1 = 0;
      std::uint32_t p2 = 0;
      if constexpr (F::quad_parts > 1) p1 = part<1>(s, j, h);
      if constexpr (F::quad_parts > 2) p2 = part<2>(s, j, h);
      return F::quad(8 * s + j, part<0>(s, j, h), p1, p2);
    }
  }
  // Bits of `word` from bit `from` on, at `to`; the others are open.
  LW_DEVICE_MEMBER std::uint32_t moved(std::uint32_t word, std::uint32_t from, std::uint32_t to) {
    return from <= to ? word << (to - from) : word >> (from - to);
  }
  // Of eights and quads of group s, row g + 8h: the signs of four groups, that of nibble n and this group at 4n + s
  // % 4.
  LW_DEVICE_CONST std::uint32_t flips(std::uint32_t s, std::uint32_t h) const {
    const std::uint32_t word = lane[P::flips_base() + s / 4 * 2 + h];
    return P::any_sign_index() ? (word & ~15U) ^ word >> 4 : word;
  }
  LW_DEVICE_CONST std::uint32_t grid_quad(std::uint32_t s, std::uint32_t j, std::uint32_t h) const {
    LW_SHARED_MEMORY(memory);
    using Tables = FragTables<F>;
    constexpr std::uint32_t upper = 256 * Tables::entry_bytes;  // of an index's ninth bit
    constexpr std::uint32_t upper_bit = bit_count(upper - 1);
    constexpr PartKind kind0 = P::kind(0);
    constexpr PartKind kind1 = P::kind(1);
    static_assert(kind0 == PartKind::EIGHT8 || kind0 == PartKind::QUAD);
    const std::uint32_t value = kind0 == PartKind::QUAD ? 2 * (2 * s + j) + h : 2 * s + h;
    std::uint32_t at =
        dot4_unsigned(lane[P::base(0) + value / 4], Tables::entry_bytes << (value % 4 * 8), tables->lane_at);
    if constexpr (P::has_ninth) {
      at |= moved(lane[P::flips_base() + s / 4 * 2 + h], s % 4, upper_bit) & upper;
    } else if constexpr (kind1 == PartKind::EIGHT || kind1 == PartKind::QUAD) {
      constexpr std::uint32_t a_word = kind1 == PartKind::QUAD ? 32 / P::width(1) : P::eights;
      constexpr std::uint32_t width = kind1 == PartKind::QUAD ? P::width(1) : P::eight_bits;
      constexpr std::uint32_t offset = kind1 == PartKind::QUAD ? 0 : P::eight_offset(1);
      const std::uint32_t number = kind1 == PartKind::QUAD ? 2 * (2 * s + j) + h : 2 * s + h;
      at |=
          moved(lane[P::base(1) + number / a_word], number % a_word * width + offset, upper_bit) & (upper * P::mask(1));
    }
    const std::uint32_t entry = *reinterpret_cast<const std::uint32_t*>(memory + at);
    if constexpr (F::eights) {
      const std::uint32_t selectors = entry ^ (flip_eight(s, h) & 0x44444444U);
      return permute_signs(tables->word[0], tables->word[1], j == 0 ? selectors : upper_half(selectors));
    } else {
      // The sign of byte n is at bit 8n + 4j + s % 4. No code is zero, so that nothing carries.
      const std::uint32_t negative = permute_signs(moved(flips(s, h), 4 * j + s % 4, 7), 0, 0xBA98U);
      return (entry ^ negative) + (negative & 0x01010101U);
    }
  }
  // What flips the elements of an eight, in bit 2 of each nibble.
  LW_DEVICE_CONST std::uint32_t flip_eight(std::uint32_t s, std::uint32_t h) const {
    if constexpr (P::kind(1) == PartKind::FLIPS || P::kind(2) == PartKind::FLIPS) {
      return moved(flips(s, h), s % 4, 2);
    } else {
      // One bit for all.
      constexpr PartKind kind = P::kind(2);
      static_assert(kind == PartKind::GROUP || kind == PartKind::EIGHT);
      const std::uint32_t value = 2 * s + h;
      const std::uint32_t word = kind == PartKind::GROUP ? nibbles[h] : lane[P::base(2) + value / P::eights];
      const std::uint32_t bit = kind == PartKind::GROUP ? 8 * (s % 4) + 4 * (s / 4) + P::sc_bits
                                                        : value % P::eights * P::eight_bits + P::eight_offset(2);
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(word << (31 - bit)) >> 31);
    }
  }
  template <std::uint32_t I>
  LW_DEVICE_CONST std::uint32_t part(std::uint32_t s, std::uint32_t j, std::uint32_t h) const {
    constexpr PartKind kind = P::kind(I);
    constexpr std::uint32_t w = P::width(I);
    constexpr std::uint32_t first = P::base(I);
    constexpr std::uint32_t mask = P::mask(I);
    const std::uint32_t lin = 2 * s + j;
    if constexpr (kind == PartKind::GROUP) {
      return nibbles[h] >> (8 * (s % 4) + 4 * (s / 4) + P::sc_bits) & mask;
    } else if constexpr (kind == PartKind::PLANE) {
      constexpr std::uint32_t a_word = 8 / w;
      return lane[first + (s / a_word * 2 + j) * 2 + h] >> (s % a_word * w) & mask;
    } else {
      constexpr std::uint32_t a_word = kind == PartKind::QUAD ? 32 / w : kind == PartKind::EIGHT8 ? 4 : P::eights;
      constexpr std::uint32_t width = kind == PartKind::EIGHT ? P::eight_bits : w;
      constexpr std::uint32_t offset = kind == PartKind::EIGHT ? P::eight_offset(I) : 0;
      const std::uint32_t value = kind == PartKind::QUAD ? 2 * lin + h : 2 * s + h;
      return lane[first + value / a_word] >> (value % a_word * width + offset) & mask;
    }
  }
};

}  // namespace lanewise::cuda
