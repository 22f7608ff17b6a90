// A whole tile of GGUF's rows in shared memory to one of the `frag` layout, by a warp: what FragPacker::pack does, with
// the place of every word and part known when compiled. That one searches for them, some thousand instructions a tile,
// and packed at 0.05 to 0.38 of the speed of a copy.
#pragma once

#include <type_traits>

#include "backends/cuda/frag_pack.cuh"

namespace lanewise::cuda {

/// body(constant Begin), ..., body(constant End - 1).
template <std::uint32_t Begin, std::uint32_t End, class Body>
LW_DEVICE void each_constant(const Body& body) {
  if constexpr (Begin < End) {
    body(std::integral_constant<std::uint32_t, Begin>{});
    each_constant<Begin + 1, End>(body);
  }
}

/// Sixteen whole rows of a super-block, one after the other, from an address aligned to 16 on.
template <class F>
struct StagedTile {
  const std::uint8_t* bytes;
  static constexpr std::uint32_t stride = FragPlan<F>::row_bytes;
  static constexpr std::uint32_t rows = frag_rows;
  static constexpr std::uint32_t aligned = (F::bytes | stride) % 4 == 0 ? 4 : (F::bytes | stride) % 2 == 0 ? 2 : 1;

  // What isn't known of `byte` when compiled costs a branch.
  LW_DEVICE_MEMBER std::uint32_t word(const std::uint8_t* block, std::uint32_t byte) {
    if (aligned == 4 && byte % 4 == 0) return *reinterpret_cast<const std::uint32_t*>(block + byte);
    if (aligned >= 2 && byte % 2 == 0) {
      const auto* halves = reinterpret_cast<const std::uint16_t*>(block + byte);
      return static_cast<std::uint32_t>(halves[0]) | static_cast<std::uint32_t>(halves[1]) << 16;
    }
    return raw_word(block + byte);
  }
};

template <class F>
struct FragTilePacker {
  using P = FragPlan<F>;
  using Packer = FragPacker<F>;

  StagedTile<F> raw;

  // Quad j of lanes 4g + t in group s. An `or`, where compilers see what a division by a power of two leaves.
  LW_DEVICE_MEMBER std::uint32_t quad_of(std::uint32_t s, std::uint32_t t, std::uint32_t j) {
    return P::halves ? (8 * s + 4 * j) | t : (8 * s + j) | 2 * t;
  }

  /// What part I puts into lane word K, which is one of its own.
  template <std::uint32_t K, std::uint32_t I>
  LW_DEVICE_CONST std::uint32_t part_of_word(std::uint32_t lane) const {
    constexpr PartKind kind = P::kind(I);
    constexpr std::uint32_t index = K - P::base(I);
    constexpr std::uint32_t w = P::width(I);
    const std::uint32_t t = lane % 4;
    const std::uint32_t g = lane / 4;
    if constexpr (kind == PartKind::BYTES) {
      return Packer::quad_part(raw, g + 8 * (index % 2), (index / 2) | 2 * t, I);
    } else if constexpr (kind == PartKind::FLIPS) {
      return Packer::flips_word(raw, lane, index, I);
    } else {
      constexpr bool selector = kind == PartKind::SELECTOR;
      constexpr bool plane = kind == PartKind::PLANE || selector;
      constexpr std::uint32_t values = plane                      ? 8 / w
                                       : kind == PartKind::QUAD   ? 32 / w
                                       : kind == PartKind::EIGHT8 ? 4
                                                                  : P::eights;
      std::uint32_t word = 0;
      each_constant<0, values>([&](auto constant) {
        constexpr std::uint32_t n = decltype(constant)::value;
        constexpr std::uint32_t value = plane ? 0 : index * values + n;
        constexpr std::uint32_t lin = selector                 ? index / 2 * values + n
                                      : plane                  ? 2 * (index / 4 * values + n) + index / 2 % 2
                                      : kind == PartKind::QUAD ? value / 2
                                                               : value / 2 * 2;
        constexpr std::uint32_t at = kind == PartKind::EIGHT    ? n * P::eight_bits + P::eight_offset(I)
                                     : selector                 ? 16 * n
                                     : kind == PartKind::EIGHT8 ? 8 * n
                                                                : n * w;
        std::uint32_t part =
            Packer::quad_part(raw, g + 8 * (plane ? index % 2 : value % 2), quad_of(lin / 2, t, lin % 2), I);
        if constexpr (kind == PartKind::EIGHT8) part &= 255;
        word |= (selector ? P::selectors(part) : P::spread(I, part)) << at;
      });
      if constexpr (kind == PartKind::EIGHT && P::is_first_eight(I)) {
        each_constant<0, P::nibbles_a_word>([&](auto constant) {
          constexpr std::uint32_t nibble = index * P::nibbles_a_word + decltype(constant)::value;
          word |= Packer::lane_nibble(raw, g + 8 * (nibble % 2), nibble / 2 * 4 + t) << P::nibble_bit(nibble);
        });
      }
      return word;
    }
  }
  template <std::uint32_t K>
  LW_DEVICE_CONST std::uint32_t lane_word(std::uint32_t lane) const {
    std::uint32_t word = 0;
    each_constant<0, F::quad_parts>([&](auto constant) {
      constexpr std::uint32_t i = decltype(constant)::value;
      constexpr std::uint32_t count = P::kind(i) == PartKind::EIGHT ? 16 / P::eights : P::words(i);
      if constexpr (K >= P::base(i) && K < P::base(i) + count) word |= part_of_word<K, i>(lane);
    });
    return word;
  }

  /// Sixteen bits of a row's header, those from bit 16 * Index on.
  template <std::uint32_t Index>
  LW_DEVICE_CONST std::uint32_t header_half(std::uint32_t row) const {
    constexpr std::uint32_t from = 16 * Index;
    std::uint32_t half = 0;
    if constexpr (P::verbatim || (P::has_bytes && from >= P::words_at && from < P::words_at + P::word_bits)) {
      constexpr std::uint32_t byte = (P::verbatim ? P::verbatim_byte : 32U) + (from - P::words_at) / 8;
      const std::uint8_t* at = raw.bytes + row * raw.stride + byte;
      half = static_cast<std::uint32_t>(at[0]) | static_cast<std::uint32_t>(at[1]) << 8;
    } else if constexpr (from >= P::m_at) {
      half = Packer::m(raw, row, (from - P::m_at) / 16);
    } else if constexpr (from >= P::d_at) {
      each_constant<0, 16 / P::d_bits>(
          [&](auto n) { half |= Packer::d(raw, row, (from - P::d_at) / P::d_bits + n) << (n * P::d_bits); });
    } else if constexpr (from >= P::sc_bytes_at) {
      constexpr std::uint32_t i = (from - P::sc_bytes_at) / 8;
      half = Packer::sc(raw, row, i) | Packer::sc(raw, row, i + 1) << 8;
    } else if constexpr (from >= P::tops_at) {
      constexpr std::uint32_t at = from - P::tops_at;
      each_constant<0, P::groups>([&](auto constant) {
        constexpr std::uint32_t i = decltype(constant)::value;
        constexpr std::uint32_t sc_at = (P::short_tops ? 4 : 8) * (i % 4) + 2 * (i / 4);
        if constexpr (sc_at >= at && sc_at < at + 16) half |= (Packer::sc(raw, row, i) >> 4) << (sc_at - at);
        if constexpr (P::has_mn && sc_at + 4 >= at && sc_at + 4 < at + 16)
          half |= (Packer::mn(raw, row, i) >> 4) << (sc_at + 4 - at);
      });
    } else {
      constexpr bool is_mn = from >= P::mn_nibbles_at;
      constexpr std::uint32_t at = from - (is_mn ? P::mn_nibbles_at : 0);
      each_constant<0, P::groups>([&](auto constant) {
        constexpr std::uint32_t i = decltype(constant)::value;
        constexpr std::uint32_t nibble_at = i / 8 * 32 + 8 * (i % 4) + 4 * (i / 4 % 2);
        if constexpr (nibble_at >= at && nibble_at < at + 16) {
          half |= ((is_mn ? Packer::mn(raw, row, i) : Packer::sc(raw, row, i)) & 15) << (nibble_at - at);
        }
      });
    }
    return half;
  }
  // Bytes Begin and on of all rows' headers, in pieces as they are stored.
  template <std::uint32_t Begin>
  LW_DEVICE_INSIDE void store_header(std::uint32_t row, bool mine, std::uint8_t* out) const {
    if constexpr (Begin < P::header_bytes) {
      constexpr std::uint32_t bytes = P::piece_of(Begin).bytes;
      std::uint32_t words[4]{};
      each_constant<0, bytes / 2>([&](auto constant) {
        constexpr std::uint32_t n = decltype(constant)::value;
        words[n / 2] |= header_half<Begin / 2 + n>(row) << (16 * (n % 2));
      });
      std::uint8_t* const to = out + P::template header_byte<Begin>(row);
      if (mine) {
        if constexpr (bytes == 16) {
          *reinterpret_cast<uint4*>(to) = uint4{words[0], words[1], words[2], words[3]};
        } else if constexpr (bytes == 2) {
          *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(words[0]);
        } else {
          LW_UNROLL
          for (std::uint32_t n = 0; n < bytes / 4; ++n) reinterpret_cast<std::uint32_t*>(to)[n] = words[n];
        }
      }
      store_header<Begin + bytes>(row, mine, out);
    }
  }

  /// By a whole warp; `out` is aligned to 16 where a tile's bytes are a multiple of that, else to 4.
  LW_DEVICE_INSIDE void pack(std::uint8_t* out) const {
    const std::uint32_t lane = thread_index() % 32;
    each_constant<0, P::chunks>([&](auto constant) {
      constexpr std::uint32_t c = decltype(constant)::value;
      *reinterpret_cast<uint4*>(out + (32 * c + lane) * 16) = uint4{
          lane_word<4 * c>(lane), lane_word<4 * c + 1>(lane), lane_word<4 * c + 2>(lane), lane_word<4 * c + 3>(lane)};
    });
    each_constant<0, P::rest_words>([&](auto constant) {
      constexpr std::uint32_t k = 4 * P::chunks + decltype(constant)::value;
      *reinterpret_cast<std::uint32_t*>(out + P::lane_word_at(lane, k)) = lane_word<k>(lane);
    });
    store_header<0>(lane % frag_rows, lane < frag_rows, out);
  }
};

}  // namespace lanewise::cuda
