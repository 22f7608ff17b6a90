// How a lane reads fields of a block of GGUF's own bytes that lies in shared memory at any address.
#pragma once

#include "backends/cuda/machine.cuh"
#include "formats/traits_row.h"

namespace lanewise {
inline namespace LW_DECODE_SPACE {

/// Whether blocks, and in them the words of all fields, start at multiples of four bytes.
template <class T>
constexpr bool fields_are_aligned() {
  lw_u32 bits = T::info.block_bytes;
  for (lw_u32 i = 0; i < T::info.block_elements / 4; ++i) {
    for (lw_u32 p = 0; p != T::quad_parts; ++p) bits |= T::quad_part(i, p).byte;
  }
  for (lw_u32 i = 0; i < T::info.block_elements / T::info.group; ++i) {
    for (lw_u32 p = 0; p != T::sc_parts; ++p) bits |= T::sc_part(i, p).byte;
    for (lw_u32 p = 0; p != T::mn_parts; ++p) bits |= T::mn_part(i, p).byte;
  }
  for (lw_u32 i = 0; i < T::info.block_elements / T::info.dgroup; ++i) {
    for (lw_u32 p = 0; p != T::d_parts; ++p) bits |= T::d_part(i, p).byte;
    for (lw_u32 p = 0; p != T::m_parts; ++p) bits |= T::m_part(i, p).byte;
  }
  return bits % 4 == 0;
}

/// Words of a block, of which up to seven bytes past its end may be read (and not used), by aligned loads.
template <class T>
struct BlockWords {
  static constexpr bool aligned = fields_are_aligned<T>();
  // Most words of codes start at a multiple of four bytes from here: two neighbours then share a load.
  static constexpr lw_u32 lead = T::quad_part(0, 0).byte % 4;

  const std::uint8_t* bytes;
  const std::uint32_t* words;
  lw_u32 shift;

  LW_DEVICE_INSIDE explicit BlockWords(const std::uint8_t* block) : bytes(block) {
    const auto address = reinterpret_cast<std::uintptr_t>(block + lead);
    shift = static_cast<lw_u32>(address & 3) * 8;
    words = reinterpret_cast<const std::uint32_t*>(block + lead - (aligned ? 0 : (address & 3)));
  }

  LW_DEVICE_CONST lw_u32 word(lw_u32 byte) const {
    if constexpr (aligned) {
      return words[byte / 4];
    } else {
      if (byte + 1 > lead && (byte - lead) % 4 == 0) {
        const lw_u32 at = (byte - lead) / 4;
        return cuda::funnel_right(words[at], words[at + 1], shift);
      }
      const std::uint8_t* const at = bytes + byte;
      const auto offset = static_cast<lw_u32>(reinterpret_cast<std::uintptr_t>(at) & 3);
      const auto* const two = reinterpret_cast<const std::uint32_t*>(at - offset);
      return cuda::funnel_right(two[0], two[1], offset * 8);
    }
  }
  LW_DEVICE_CONST lw_u32 part(LwPart where) const { return word(where.byte) >> where.shift & where.mask; }

  /// A field of up to four parts, lowest bits first, each as wide as its mask.
  template <lw_u32 parts, class Where>
  LW_DEVICE_CONST lw_u32 field(Where where) const {
    lw_u32 raw = 0;
    lw_u32 width = 0;
    LW_UNROLL
    for (lw_u32 i = 0; i != parts; ++i) {
      const LwPart p = where(i);
      raw |= part(p) << width;
      width += cuda::count_bits(p.mask);
    }
    return raw;
  }

  LW_DEVICE_CONST lw_u32 quad(lw_u32 index) const {
    lw_u32 p[3] = {0, 0, 0};
    LW_UNROLL
    for (lw_u32 i = 0; i < T::quad_parts; ++i) p[i] = part(T::quad_part(index, i));
    return T::quad(index, p[0], p[1], p[2]);
  }
  LW_DEVICE_CONST lw_i32 sub_scale(lw_u32 group) const {
    return T::sc(field<T::sc_parts>([group](lw_u32 i) { return T::sc_part(group, i); }));
  }
  LW_DEVICE_CONST lw_i32 sub_min(lw_u32 group) const {
    return T::mn(field<T::mn_parts>([group](lw_u32 i) { return T::mn_part(group, i); }));
  }
  LW_DEVICE_CONST lw_u32 scale_bits(lw_u32 dgroup) const {
    return field<T::d_parts>([dgroup](lw_u32 i) { return T::d_part(dgroup, i); });
  }
  LW_DEVICE_CONST lw_u32 min_bits(lw_u32 dgroup) const {
    return field<T::m_parts>([dgroup](lw_u32 i) { return T::m_part(dgroup, i); });
  }
};

}  // namespace LW_DECODE_SPACE
}  // namespace lanewise
