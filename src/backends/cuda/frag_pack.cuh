// GGUF's rows to tiles of the `frag` layout (frag_plan.h) and back, a warp a tile.
#pragma once

#include "backends/cuda/frag_plan.h"
#include "backends/cuda/machine.cuh"

namespace lanewise::cuda {

// The 32-bit word at any address, byte by byte: never past the part's own word.
LW_DEVICE std::uint32_t raw_word(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) | static_cast<std::uint32_t>(at[1]) << 8 |
         static_cast<std::uint32_t>(at[2]) << 16 | static_cast<std::uint32_t>(at[3]) << 24;
}

/// Up to 16 rows of a super-block of `groups` (1..8) groups of 32, row r at bytes + r * stride.
struct RawTile {
  const std::uint8_t* bytes;
  std::uint64_t stride;
  std::uint32_t rows;
  std::uint32_t groups;
  LW_DEVICE_MEMBER std::uint32_t word(const std::uint8_t* block, std::uint32_t byte) { return raw_word(block + byte); }
};

template <class F>
struct FragPacker {
  using P = FragPlan<F>;

  // Raw: a RawTile, or what else has its members.
  template <class Raw>
  LW_DEVICE_MEMBER const std::uint8_t* block_of(const Raw& raw, std::uint32_t row, std::uint32_t quad) {
    return raw.bytes + row * raw.stride + quad / P::quads_a_block * F::bytes;
  }
  template <class Raw>
  LW_DEVICE_MEMBER std::uint32_t read(const Raw& raw, const std::uint8_t* block, LwPart part) {
    return raw.word(block, part.byte) >> part.shift & part.mask;
  }
  template <class Raw>
  LW_DEVICE_MEMBER std::uint32_t quad_part(const Raw& raw, std::uint32_t row, std::uint32_t q, std::uint32_t i) {
    return read(raw, block_of(raw, row, q), F::quad_part(q % P::quads_a_block, i));
  }
  template <class Raw, class Part>
  LW_DEVICE_MEMBER std::uint32_t field(const Raw& raw, const std::uint8_t* block, std::uint32_t parts, Part part) {
    std::uint32_t value = 0;
    std::uint32_t width = 0;
    for (std::uint32_t i = 0; i < parts; ++i) {
      const LwPart p = part(i);
      if (p.mask == 0) continue;
      value |= read(raw, block, p) << width;
      width += bit_count(p.mask);
    }
    return value;
  }
  // Number i of the super-block, as it is stored, where a block has `a_block` of such numbers.
  template <class Raw, class Part>
  LW_DEVICE_MEMBER std::uint32_t number(const Raw& raw, std::uint32_t row, std::uint32_t i, std::uint32_t a_block,
                                        std::uint32_t parts, Part part) {
    return field(raw, raw.bytes + row * raw.stride + i / a_block * F::bytes, parts,
                 [i, a_block, part](std::uint32_t p) { return part(i % a_block, p); });
  }
  // Numbers of group i or d-group i.
  template <class Raw>
  LW_DEVICE_MEMBER std::uint32_t sc(const Raw& raw, std::uint32_t row, std::uint32_t i) {
    return number(raw, row, i, F::elements / F::group, F::sc_parts,
                  [](std::uint32_t n, std::uint32_t p) { return F::sc_part(n, p); });
  }
  template <class Raw>
  LW_DEVICE_MEMBER std::uint32_t mn(const Raw& raw, std::uint32_t row, std::uint32_t i) {
    return number(raw, row, i, F::elements / F::group, F::mn_parts,
                  [](std::uint32_t n, std::uint32_t p) { return F::mn_part(n, p); });
  }
  template <class Raw>
  LW_DEVICE_MEMBER std::uint32_t d(const Raw& raw, std::uint32_t row, std::uint32_t i) {
    return number(raw, row, i, F::elements / F::dgroup, F::d_parts,
                  [](std::uint32_t n, std::uint32_t p) { return F::d_part(n, p); });
  }
  template <class Raw>
  LW_DEVICE_MEMBER std::uint32_t m(const Raw& raw, std::uint32_t row, std::uint32_t i) {
    return number(raw, row, i, F::elements / F::dgroup, F::m_parts,
                  [](std::uint32_t n, std::uint32_t p) { return F::m_part(n, p); });
  }
  // What a lane's nibble holds of group i: its sub-scale and, above that, what a whole group shares of its quads.
  template <class Raw>
  LW_DEVICE_MEMBER std::uint32_t lane_nibble(const Raw& raw, std::uint32_t row, std::uint32_t i) {
    std::uint32_t value = sc(raw, row, i);
    for (std::uint32_t p = 0; p < F::quad_parts; ++p) {
      if (P::kind(p) == PartKind::GROUP) value |= quad_part(raw, row, 8 * i, p) << P::sc_bits;
    }
    return value;
  }

  // Word 2x + h of the signs, part i.
  template <class Raw>
  LW_DEVICE_MEMBER std::uint32_t flips_word(const Raw& raw, std::uint32_t lane, std::uint32_t index, std::uint32_t i) {
    const std::uint32_t t = lane % 4;
    const std::uint32_t row = lane / 4 + 8 * (index % 2);
    if (row >= raw.rows) return 0;
    std::uint32_t word = P::flip_nibbles ? lane_nibble(raw, row, index / 2 * 4 + t) : 0;
    for (std::uint32_t n = 0; n < 4; ++n) {
      const std::uint32_t q = 8 * (index / 2 * 4 + n) + 2 * t;
      const std::uint32_t part = quad_part(raw, row, q, i);
      std::uint32_t nibbles = 0;  // bit k: that of nibble k
      if (P::is_sign_index(i)) {
        nibbles = P::parities(part) | (P::has_ninth ? quad_part(raw, row, q, 0) >> 8 : 0);
      } else {
        const std::uint32_t signs = part | quad_part(raw, row, q + 1, i) << 4;
        for (std::uint32_t k = 0; k < 8; ++k) nibbles |= (signs >> P::flipped_element(k) & 1) << k;
      }
      for (std::uint32_t k = 0; k < 8; ++k) word |= (nibbles >> k & 1) << (4 * k + n);
    }
    return word;
  }
  LW_DEVICE_MEMBER std::uint32_t lane_word(const RawTile& raw, std::uint32_t lane, std::uint32_t k) {
    const std::uint32_t t = lane % 4;
    const std::uint32_t g = lane / 4;
    std::uint32_t word = 0;
    for (std::uint32_t i = 0; i < F::quad_parts; ++i) {
      const PartKind kind = P::kind(i);
      const std::uint32_t first = P::base(i);
      const std::uint32_t count = kind == PartKind::EIGHT ? 16 / P::eights : P::words(i);
      if (k < first || k >= first + count) continue;
      const std::uint32_t w = P::width(i);
      const std::uint32_t index = k - first;
      if (kind == PartKind::BYTES) {
        const std::uint32_t row = g + 8 * (index % 2);
        if (row < raw.rows) word = quad_part(raw, row, 2 * t + index / 2, i);
        continue;
      }
      if (kind == PartKind::FLIPS) {
        word = flips_word(raw, lane, index, i);
        continue;
      }
      const bool selector = kind == PartKind::SELECTOR;
      const bool plane = kind == PartKind::PLANE || selector;
      const std::uint32_t a_word = plane                      ? 8 / w
                                   : kind == PartKind::QUAD   ? 32 / w
                                   : kind == PartKind::EIGHT8 ? 4
                                                              : P::eights;
      for (std::uint32_t n = 0; n < a_word; ++n) {
        const std::uint32_t value = plane ? 0 : index * a_word + n;
        const std::uint32_t lin = selector                 ? index / 2 * a_word + n
                                  : plane                  ? 2 * (index / 4 * a_word + n) + index / 2 % 2
                                  : kind == PartKind::QUAD ? value / 2
                                                           : value / 2 * 2;
        const std::uint32_t row = g + 8 * (plane ? index % 2 : value % 2);
        if (row >= raw.rows || lin / 2 >= raw.groups) continue;
        const std::uint32_t at = kind == PartKind::EIGHT      ? n * P::eight_bits + P::eight_offset(i)
                                 : kind == PartKind::SELECTOR ? 16 * n
                                 : kind == PartKind::EIGHT8   ? 8 * n
                                                              : n * w;
        std::uint32_t part = quad_part(raw, row, P::quad_of(lin / 2, t, lin % 2), i);
        if (kind == PartKind::EIGHT8) part &= 255;
        word |= (kind == PartKind::SELECTOR ? P::selectors(part) : P::spread(i, part)) << at;
      }
      if (kind == PartKind::EIGHT && P::is_first_eight(i)) {
        for (std::uint32_t n = 0; n < P::nibbles_a_word; ++n) {
          const std::uint32_t nibble = index * P::nibbles_a_word + n;
          const std::uint32_t row = g + 8 * (nibble % 2);
          if (row < raw.rows) word |= lane_nibble(raw, row, nibble / 2 * 4 + t) << P::nibble_bit(nibble);
        }
      }
    }
    return word;
  }

  // Sixteen bits of a row's header, those from bit 16 * index on.
  LW_DEVICE_MEMBER std::uint32_t header_half(const RawTile& raw, std::uint32_t row, std::uint32_t index) {
    if (row >= raw.rows) return 0;
    const std::uint32_t from = 16 * index;
    if (P::verbatim || (P::has_bytes && from >= P::words_at && from < P::words_at + P::word_bits)) {
      const std::uint32_t byte = (P::verbatim ? P::verbatim_byte : 32U) + (from - P::words_at) / 8;
      const std::uint8_t* at = raw.bytes + row * raw.stride + byte;
      return static_cast<std::uint32_t>(at[0]) | static_cast<std::uint32_t>(at[1]) << 8;
    }
    std::uint32_t half = 0;
    if (from >= P::m_at) {
      const std::uint32_t i = (from - P::m_at) / 16;
      return i * F::dgroup < raw.groups * 32 ? m(raw, row, i) : 0;
    }
    if (from >= P::d_at) {
      for (std::uint32_t n = 0; n < 16 / P::d_bits; ++n) {
        const std::uint32_t i = (from - P::d_at) / P::d_bits + n;
        if (i * F::dgroup < raw.groups * 32) half |= d(raw, row, i) << (n * P::d_bits);
      }
      return half;
    }
    if (from >= P::sc_bytes_at) {
      const std::uint32_t i = (from - P::sc_bytes_at) / 8;
      return sc(raw, row, i) | sc(raw, row, i + 1) << 8;
    }
    if (from >= P::tops_at) {
      const std::uint32_t at = from - P::tops_at;
      for (std::uint32_t i = 0; i < P::groups; ++i) {
        const std::uint32_t sc_at = (P::short_tops ? 4 : 8) * (i % 4) + 2 * (i / 4);
        if (sc_at >= at && sc_at < at + 16) half |= (sc(raw, row, i) >> 4) << (sc_at - at);
        if (P::has_mn && sc_at + 4 >= at && sc_at + 4 < at + 16) half |= (mn(raw, row, i) >> 4) << (sc_at + 4 - at);
      }
      return half;
    }
    const bool is_mn = from >= P::mn_nibbles_at;
    const std::uint32_t at = from - (is_mn ? P::mn_nibbles_at : 0);
    for (std::uint32_t i = 0; i < P::groups; ++i) {
      const std::uint32_t nibble_at = i / 8 * 32 + 8 * (i % 4) + 4 * (i / 4 % 2);
      if (nibble_at < at || nibble_at >= at + 16) continue;
      half |= ((is_mn ? mn(raw, row, i) : sc(raw, row, i)) & 15) << (nibble_at - at);
    }
    return half;
  }

  // By a whole warp; missing rows and groups are zeros. `out` is aligned to 4. Short text for the few tiles that end a
  // row of blocks: a kernel of products has it in it (frag_pack_tile.cuh has the other).
  LW_DEVICE_MEMBER void pack(const RawTile& raw, std::uint8_t* out) {
    const std::uint32_t lane = thread_index() % 32;
    LW_NO_UNROLL
    for (std::uint32_t k = 0; k < P::lane_words; ++k) {
      *reinterpret_cast<std::uint32_t*>(out + P::lane_word_at(lane, k)) = lane_word(raw, lane, k);
    }
    LW_NO_UNROLL
    for (std::uint32_t n = lane; n < frag_rows * P::header_bytes / 2; n += 32) {
      const std::uint32_t row = n % frag_rows;
      *reinterpret_cast<std::uint16_t*>(out + P::header_byte_at(row, n / frag_rows * 2)) =
          static_cast<std::uint16_t>(header_half(raw, row, n / frag_rows));
    }
  }

  // ---- back ----

  LW_DEVICE_MEMBER std::uint32_t word_of(const std::uint8_t* tile, std::uint32_t lane, std::uint32_t k) {
    return *reinterpret_cast<const std::uint32_t*>(tile + P::lane_word_at(lane, k));
  }
  LW_DEVICE_MEMBER std::uint32_t header_bits(const std::uint8_t* tile, std::uint32_t row, std::uint32_t from,
                                             std::uint32_t width) {
    const auto half = *reinterpret_cast<const std::uint16_t*>(tile + P::header_byte_at(row, from / 16 * 2));
    return static_cast<std::uint32_t>(half) >> (from % 16) & ((1U << width) - 1);
  }
  LW_DEVICE_MEMBER std::uint32_t packed_part(const std::uint8_t* tile, std::uint32_t row, std::uint32_t q,
                                             std::uint32_t i) {
    const PartKind kind = P::kind(i);
    const std::uint32_t h = row / 8;
    const std::uint32_t s = q / 8;
    const std::uint32_t lin = 2 * s + P::quad_j(q);
    const std::uint32_t lane = row % 8 * 4 + P::quad_t(q);
    const std::uint32_t w = P::width(i);
    const std::uint32_t first = P::base(i);
    if (kind == PartKind::BYTES) {
      const std::uint32_t index = F::quad_part(q, i).byte / 4;
      if (index < 8) return word_of(tile, row % 8 * 4 + index / 2, 2 * (index % 2) + h);
      const std::uint32_t at = P::words_at + 32 * (index - 8);
      return header_bits(tile, row, at, 16) | header_bits(tile, row, at + 16, 16) << 16;
    }
    if (kind == PartKind::SELECTOR) {
      return P::selected(word_of(tile, lane, first + lin / 2 * 2 + h) >> (16 * (lin % 2)));
    }
    if (kind == PartKind::PLANE) {
      const std::uint32_t a_word = 8 / w;
      return P::gather(
          i, word_of(tile, lane, first + (s / a_word * 2 + P::quad_j(q)) * 2 + h) >> (s % a_word * w) & P::mask(i));
    }
    if (kind == PartKind::GROUP) return lane_nibble_of(tile, row, s) >> P::sc_bits;
    if (kind == PartKind::FLIPS) {
      const std::uint32_t nibbles = flips_of(tile, row, s, lane, first);
      if (P::is_sign_index(i)) return P::sign_index(nibbles & 0xFE);
      std::uint32_t signs = 0;
      for (std::uint32_t k = 0; k < 8; ++k) signs |= (nibbles >> k & 1) << P::flipped_element(k);
      return signs >> (4 * (q % 2)) & 15;
    }
    const std::uint32_t value = kind == PartKind::QUAD ? 2 * lin + h : 2 * s + h;
    if (kind == PartKind::EIGHT8) {
      const std::uint32_t ninth = P::has_ninth ? flips_of(tile, row, s, lane, P::flips_base()) & 1 : 0;
      return (word_of(tile, lane, first + value / 4) >> (value % 4 * 8) & 255) | ninth << 8;
    }
    const std::uint32_t a_word = kind == PartKind::QUAD ? 32 / w : P::eights;
    const std::uint32_t at =
        kind == PartKind::EIGHT ? value % a_word * P::eight_bits + P::eight_offset(i) : value % a_word * w;
    return P::gather(i, word_of(tile, lane, first + value / a_word) >> at & P::mask(i));
  }
  // Bit k: that of nibble k, of the eight of group s.
  LW_DEVICE_MEMBER std::uint32_t flips_of(const std::uint8_t* tile, std::uint32_t row, std::uint32_t s,
                                          std::uint32_t lane, std::uint32_t first) {
    const std::uint32_t word = word_of(tile, lane, first + s / 4 * 2 + row / 8);
    std::uint32_t nibbles = 0;
    for (std::uint32_t k = 0; k < 8; ++k) nibbles |= (word >> (4 * k + s % 4) & 1) << k;
    return nibbles;
  }
  LW_DEVICE_MEMBER std::uint32_t lane_nibble_of(const std::uint8_t* tile, std::uint32_t row, std::uint32_t group) {
    if (!P::has_lane_nibbles) return 0;
    const std::uint32_t nibble = 2 * (group / 4) + row / 8;
    return word_of(tile, row % 8 * 4 + group % 4, P::nibble_word(nibble)) >> P::nibble_bit(nibble) & 15;
  }
  LW_DEVICE_MEMBER std::uint32_t packed_sc(const std::uint8_t* tile, std::uint32_t row, std::uint32_t i, bool is_mn) {
    if (P::sc_in_lanes) return lane_nibble_of(tile, row, i) & ((1U << P::sc_bits) - 1);
    if (P::sc_bits == 8) return header_bits(tile, row, P::sc_bytes_at + 8 * i, 8);
    std::uint32_t value =
        header_bits(tile, row, (is_mn ? P::mn_nibbles_at : 0) + i / 8 * 32 + 8 * (i % 4) + 4 * (i / 4 % 2), 4);
    if (P::sc_bits == 6) {
      const std::uint32_t at = P::tops_at + (P::short_tops ? 4 : 8) * (i % 4) + 2 * (i / 4) + (is_mn ? 4 : 0);
      value |= header_bits(tile, row, at, 2) << 4;
    }
    return value;
  }
  LW_DEVICE_MEMBER void write(std::uint8_t* block, LwPart part, std::uint32_t value) {
    for (std::uint32_t b = 0; b < 4; ++b) {  // a part may lie in the last bytes of its block
      const std::uint64_t mask = static_cast<std::uint64_t>(part.mask) << part.shift;
      const auto byte_mask = static_cast<std::uint32_t>(mask >> (8 * b) & 255);
      if (byte_mask == 0) continue;
      const auto byte = static_cast<std::uint32_t>((static_cast<std::uint64_t>(value) << part.shift) >> (8 * b) & 255);
      block[part.byte + b] = static_cast<std::uint8_t>((static_cast<std::uint32_t>(block[part.byte + b]) & ~byte_mask) |
                                                       (byte & byte_mask));
    }
  }
  template <class Part>
  LW_DEVICE_MEMBER void write_field(std::uint8_t* block, std::uint32_t parts, Part part, std::uint32_t value) {
    for (std::uint32_t i = 0; i < parts; ++i) {
      const LwPart p = part(i);
      if (p.mask == 0) continue;
      write(block, p, value);
      value >>= bit_count(p.mask);
    }
  }
  // The block of `row` that starts at element 256 / n * index of the super-block; by one thread.
  LW_DEVICE_MEMBER void unpack_block(const std::uint8_t* tile, std::uint32_t row, std::uint32_t index,
                                     std::uint8_t* block) {
    for (std::uint32_t b = 0; b < F::bytes; ++b) block[b] = 0;
    for (std::uint32_t q = 0; q < P::quads_a_block; ++q) {
      for (std::uint32_t i = 0; i < F::quad_parts; ++i) {
        write(block, F::quad_part(q, i), packed_part(tile, row, index * P::quads_a_block + q, i));
      }
    }
    if (P::verbatim) {
      for (std::uint32_t b = 0; b < 8; ++b) {
        block[P::verbatim_byte + b] = static_cast<std::uint8_t>(header_bits(tile, row, 8 * b, 8));
      }
      return;
    }
    const std::uint32_t a_block = F::elements / F::group;
    for (std::uint32_t i = 0; i < a_block && F::sc_parts != 0; ++i) {
      write_field(
          block, F::sc_parts, [i](std::uint32_t p) { return F::sc_part(i, p); },
          packed_sc(tile, row, index * a_block + i, false));
    }
    for (std::uint32_t i = 0; i < a_block && P::has_mn; ++i) {
      write_field(
          block, F::mn_parts, [i](std::uint32_t p) { return F::mn_part(i, p); },
          packed_sc(tile, row, index * a_block + i, true));
    }
    const std::uint32_t d_a_block = F::elements / F::dgroup;
    for (std::uint32_t i = 0; i < d_a_block; ++i) {
      const std::uint32_t n = index * d_a_block + i;
      write_field(
          block, F::d_parts, [i](std::uint32_t p) { return F::d_part(i, p); },
          header_bits(tile, row, P::d_at + n * P::d_bits, P::d_bits));
      if (F::has_min) {
        write_field(
            block, F::m_parts, [i](std::uint32_t p) { return F::m_part(i, p); },
            header_bits(tile, row, P::m_at + n * 16, 16));
      }
    }
  }
};

}  // namespace lanewise::cuda
