// Fields of a block in memory, read and written by the parts that decode files name. The CPU's one loader of words.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "formats/traits.h"

namespace lanewise {

static_assert(std::endian::native == std::endian::little, "GGUF words are little-endian; loads here are plain copies");

inline lw_u32 load_word(const std::uint8_t* at) {
  lw_u32 word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

inline lw_u32 read_part(const std::uint8_t* block, LwPart part) {
  return (load_word(block + part.byte) >> part.shift) & part.mask;
}

inline void write_part(std::uint8_t* block, LwPart part, lw_u32 value) {
  const lw_u32 word = (load_word(block + part.byte) & ~(part.mask << part.shift)) | ((value & part.mask) << part.shift);
  std::memcpy(block + part.byte, &word, sizeof word);
}

/// A field of several parts: lowest bits first, each as wide as its mask. `where(i)` names part i.
template <class Where>
inline lw_u32 read_field(const std::uint8_t* block, lw_u32 parts, Where where) {
  lw_u32 raw = 0;
  int width = 0;
  for (lw_u32 i = 0; i < parts; ++i) {
    const LwPart part = where(i);
    if (part.mask == 0) continue;
    raw |= read_part(block, part) << width;
    width += std::popcount(part.mask);
  }
  return raw;
}

template <class Where>
inline void write_field(std::uint8_t* block, lw_u32 parts, Where where, lw_u32 raw) {
  for (lw_u32 i = 0; i < parts; ++i) {
    const LwPart part = where(i);
    if (part.mask == 0) continue;
    write_part(block, part, raw);
    const int width = std::popcount(part.mask);
    raw = width < 32 ? raw >> width : 0;
  }
}

/// What a block of a quantised format holds, by index inside the block.
template <class T>
struct Block {
  const std::uint8_t* bytes;

  /// Codes 4*index .. 4*index+3 as signed bytes.
  [[nodiscard]] lw_u32 quad(lw_u32 index) const {
    lw_u32 p[3] = {0, 0, 0};
    for (lw_u32 i = 0; i < T::quad_parts; ++i) p[i] = read_part(bytes, T::quad_part(index, i));
    return T::quad(index, p[0], p[1], p[2]);
  }
  [[nodiscard]] lw_i32 sub_scale(lw_u32 group) const {
    return T::sc(read_field(bytes, T::sc_parts, [group](lw_u32 i) { return T::sc_part(group, i); }));
  }
  [[nodiscard]] lw_i32 sub_min(lw_u32 group) const {
    return T::mn(read_field(bytes, T::mn_parts, [group](lw_u32 i) { return T::mn_part(group, i); }));
  }
  /// The bits that hold d of a d-group: a half, an exponent byte, whatever the format's d() or exponent() takes.
  [[nodiscard]] lw_u32 scale_bits(lw_u32 dgroup) const {
    return read_field(bytes, T::d_parts, [dgroup](lw_u32 i) { return T::d_part(dgroup, i); });
  }
  [[nodiscard]] lw_u32 min_bits(lw_u32 dgroup) const {
    return read_field(bytes, T::m_parts, [dgroup](lw_u32 i) { return T::m_part(dgroup, i); });
  }
};

/// Signed code `i` (0..3) of a quad.
constexpr lw_i32 quad_code(lw_u32 quad, lw_u32 i) { return lw_sign_extend8(quad >> (8 * i)); }

}  // namespace lanewise
