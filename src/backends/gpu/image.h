// The device's image of x: the canonical integers of docs/arithmetic.md, section 2, in the order of matrix units, which
// dot products of quads read as well. Tokens in slices of up to eight; a slice of T tokens has `slots` of 1, 4 or 8
// (tokens past the last are zero), P planes (lowest first) and C = slots * P columns. Of a slice, array after array:
//   int8   codes[blocks][8][C][32]   element k of a super-block at [k / 32][column][k % 32]
//   int8   halves[blocks][8][C][32]  the same, words of four elements 0 4 1 5 2 6 3 7: those of groups of 16 side by
//   side int32  sums16[blocks][16][C]     sums of 16 consecutive elements int32  sums32[blocks][8][C]      sums of 32
//   int8   digits16[blocks][P][2][slots][16]  image_digit of sums16, the low ones first
//   int8   digits32[blocks][P][2][slots][16]  the same of sums32, zero from the ninth on
//   float  powers[blocks][slots]     2^e
//   int32  exponents[blocks][slots]  e
//   uint32 poisoned[8]               1: x held a NaN, an infinity or an |x| >= 2^64, so that every output is NaN
// and, for float weights, of every token:
//   float  xq[3][slots][padded]      as F16, BF16 and F32 weights take x (section 6); padded = blocks * 256
//   float  x[slots][padded]          x widened, which xq is made of when a product asks for it
// Of a poisoned token the super-blocks with a bad element are zero.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define LW_BOTH __host__ __device__ constexpr
#else
#define LW_BOTH constexpr
#endif

namespace lanewise::gpu {

inline constexpr std::uint32_t image_slice = 8;

/// Slots of a slice of `tokens` (1..8) tokens.
LW_BOTH std::uint32_t image_slots(std::uint32_t tokens) { return tokens == 1 ? 1 : tokens <= 4 ? 4 : 8; }
/// The column of a token's plane: planes of a token side by side, but for eight tokens, whose planes lie apart.
LW_BOTH std::uint32_t image_column(std::uint32_t slots, std::uint32_t planes, std::uint32_t token,
                                   std::uint32_t plane) {
  return slots == 8 ? plane * 8 + token : token * planes + plane;
}

/// A sum of at most 32 codes in two digits to the base 64, -32..31 and the rest (at most 64), for products by matrix
/// units.
LW_BOTH std::int32_t image_digit(std::int32_t sum, bool upper) {
  const std::int32_t low = ((sum + 32) & 63) - 32;
  return upper ? (sum - low) / 64 : low;
}

/// Where the arrays of a slice start, in bytes; each is aligned to 256.
struct ImageOffsets {
  std::uint64_t codes, halves, sums16, sums32, digits16, digits32, powers, exponents, poisoned, xq, x, bytes;
  LW_BOTH ImageOffsets(std::uint32_t slots, std::uint32_t planes, std::uint64_t blocks)
      : codes(0),
        halves(blocks * 256 * slots * planes),
        sums16(2 * halves),
        sums32(sums16 + blocks * 64 * slots * planes),
        digits16(up(sums32 + blocks * 32 * slots * planes)),
        digits32(digits16 + blocks * 32 * slots * planes),
        powers(up(digits32 + blocks * 32 * slots * planes)),
        exponents(up(powers + blocks * 4 * slots)),
        poisoned(up(exponents + blocks * 4 * slots)),
        xq(poisoned + 256),
        x(xq + 3 * blocks * 1024 * slots),
        bytes(x + blocks * 1024 * slots) {}
  LW_BOTH static std::uint64_t up(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }
};

/// Bytes of the image of `tokens` tokens, and where slice `slice` of them starts: all slices but the last have eight.
LW_BOTH std::uint64_t image_bytes(std::uint64_t tokens, std::uint32_t planes, std::uint64_t blocks) {
  const std::uint64_t full = tokens / image_slice * ImageOffsets(image_slice, planes, blocks).bytes;
  const auto rest = static_cast<std::uint32_t>(tokens % image_slice);
  return full + (rest == 0 ? 0 : ImageOffsets(image_slots(rest), planes, blocks).bytes);
}
LW_BOTH std::uint64_t image_slice_at(std::uint64_t slice, std::uint32_t planes, std::uint64_t blocks) {
  return slice * ImageOffsets(image_slice, planes, blocks).bytes;
}

}  // namespace lanewise::gpu
