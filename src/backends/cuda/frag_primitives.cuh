// The primitives of decode files as the `frag` layout wants them: words come spread over bytes already, and nibbles of
// a table as a permutation's selectors (frag_plan.h); an offset that ends a quad is left to where its sum starts.
#pragma once

#include "backends/cuda/machine.cuh"

#define LW_DECODE_SPACE frag_decode
#define LW_NIBBLES 1
#if !defined(__CUDACC__)
#define LW_FN [[maybe_unused]] static inline
#define LW_MEMBER_FN static
#endif
#define LW_HAVE_BYTES_ADD
#define LW_HAVE_SPREAD_BITS
#define LW_HAVE_SPREAD_BITS_TO
#define LW_HAVE_SPREAD_CRUMBS_FROM
#define LW_HAVE_UE4M3_HALVED
#define LW_HAVE_HALF_TO_FLOAT
#define LW_HAVE_TABLE16
#define LW_HAVE_TRITS

namespace lanewise {

inline namespace frag_decode {

/// Whether the unit's format ends its quads by an offset (LW_..._QUAD_ENDS): defined once its decode file is known.
LW_DEVICE bool lw_unit_ends_by_offset();

LW_DEVICE std::uint32_t lw_bytes_add(std::uint32_t a, std::uint32_t b) {
  return lw_unit_ends_by_offset() ? a : ((a & 0x7F7F7F7Fu) + (b & 0x7F7F7F7Fu)) ^ ((a ^ b) & 0x80808080u);
}

LW_DEVICE std::uint32_t lw_spread_bits(std::uint32_t bits) { return bits; }
LW_DEVICE std::uint32_t lw_spread_bits_to(std::uint32_t word, std::uint32_t, std::uint32_t to) { return word << to; }
LW_DEVICE std::uint32_t lw_spread_crumbs_from(std::uint32_t word, std::uint32_t) { return word; }

// Such a byte's bits are a half's, whose exponent has another bias.
LW_DEVICE float lw_ue4m3_halved(std::uint32_t byte) {
  return cuda::multiply(cuda::half_value(byte == 0x7Fu ? 0u : (byte & 0x7Fu) << 7), 128.0F);
}

// Which NaN it is doesn't matter here: an output that is one is stored as the one that the arithmetic names.
LW_DEVICE float lw_half_to_float(std::uint32_t bits) { return cuda::half_value(bits & 0xFFFFu); }

// `n` holds four selectors, a nibble each, from bit 0 on. FragTile asks for the table's words by this and looks codes
// up itself, for two quads that share a word.
LW_DEVICE std::uint32_t lw_table16(std::uint32_t n, std::uint32_t t0, std::uint32_t t1, std::uint32_t t2,
                                   std::uint32_t t3) {
  const std::uint32_t low = cuda::permute(t0, t1, n & 0x7777u);
  const std::uint32_t high = cuda::permute(t2, t3, n & 0x7777u);
  return cuda::permute(low, high, 0x3210u | (n >> 1 & 0x4444u));
}

// As the portable text, but that one permutation takes the four digits from above the fractions.
LW_DEVICE std::uint32_t lw_trits(std::uint32_t bytes, std::uint32_t place) {
  const std::uint32_t power = place < 4u ? 0x1B090301u >> (8u * place) & 255u : 81u;
  const std::uint32_t even = (bytes & 0x00FF00FFu) * power & 0x00FF00FFu;
  const std::uint32_t odd = (bytes >> 8 & 0x00FF00FFu) * power & 0x00FF00FFu;
  return cuda::permute(even * 3u, odd * 3u, 0x7351u);
}

}  // namespace frag_decode
}  // namespace lanewise

#include "backends/cuda/primitives.cuh"
