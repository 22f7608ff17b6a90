// The `columns` image of x: what row-interleaved kernels read. Tokens in slices of up to eight, a slice in one or two
// batches; of a slice, super-block by super-block, one record a batch, so that a kernel reaches everything of a step at
// constant distances from one address.
//
// Record of a batch of T tokens (1, 2, 4 or 8) in P planes; tokens past the last are zero:
//   int8   codes[T][P][256]      the planes of q, lowest first
//   int8   quads[T][P][256]      the same in the orders that runs of 16 and of 32 come in (formats/runs.h): of 16
//   int8   eights[T][P][256]     elements, 4j + k at 4k + j; of 32, 8j + k at 4k + j
//   int32  minus16[T][P][16]     minus the sums of 16 and of 32 consecutive elements of a plane: what, times a bias, a
//   int32  minus32[T][P][8]      sum of biased codes starts from
//   int32  joined16[T][16]       the same of q itself (x8, x16; zero for x24, where they may pass 2^31)
//   int32  joined32[T][8]
//   int16  sums16[T][P][16]      the sums themselves, for sub-mins
//   int16  sums32[T][P][8]
//   int32  runs16[T][P][16]      minus16 and minus32 times the bias of runs
//   int32  runs32[T][P][8]
//   int32  exponents[T]          e
//   float  powers[T]             2^e
#pragma once

#include <cstdint>

namespace lanewise {

inline constexpr std::uint64_t slice_tokens = 8;
/// What runs add to each code.
inline constexpr std::int32_t run_bias = 64;

/// How a slice of `tokens` (1..8) is batched in `planes` planes: kernels exist for batches of 1 and 4, at x16 of 2, and
/// at x8 and x16 of 8: eight tokens in two planes are 16 sums, as many as hide the latency of a dot product.
constexpr std::uint32_t batch_tokens(std::uint64_t tokens, std::uint32_t planes) {
  if (tokens == 1) return 1;
  if (tokens == 2 && planes == 2) return 2;
  return tokens <= 4 || planes == 3 ? 4 : 8;
}
constexpr std::uint32_t slice_batches(std::uint64_t tokens, std::uint32_t planes) {
  return static_cast<std::uint32_t>((tokens + batch_tokens(tokens, planes) - 1) / batch_tokens(tokens, planes));
}

struct ColumnOffsets {
  std::uint32_t codes, quads, eights, minus16, minus32, joined16, joined32, sums16, sums32, runs16, runs32, exponents,
      powers, bytes;
  constexpr ColumnOffsets(std::uint32_t tokens, std::uint32_t planes)
      : codes(0),
        quads(tokens * planes * 256),
        eights(quads + tokens * planes * 256),
        minus16(eights + tokens * planes * 256),
        minus32(minus16 + tokens * planes * 64),
        joined16(minus32 + tokens * planes * 32),
        joined32(joined16 + tokens * 64),
        sums16(joined32 + tokens * 32),
        sums32(sums16 + tokens * planes * 32),
        runs16(sums32 + tokens * planes * 16),
        runs32(runs16 + tokens * planes * 64),
        exponents(runs32 + tokens * planes * 32),
        powers(exponents + tokens * 4),
        bytes((powers + tokens * 4 + 63) / 64 * 64) {}
};

/// Bytes that a slice of `tokens` takes a super-block, and that all slices of `tokens` tokens take.
constexpr std::uint64_t slice_record_bytes(std::uint64_t tokens, std::uint32_t planes) {
  return std::uint64_t{slice_batches(tokens, planes)} * ColumnOffsets(batch_tokens(tokens, planes), planes).bytes;
}
/// Saturates at 2^64 - 1.
constexpr std::uint64_t all_column_bytes(std::uint64_t tokens, std::uint32_t planes) {
  const std::uint64_t rest = tokens % slice_tokens == 0 ? 0 : slice_record_bytes(tokens % slice_tokens, planes);
  const std::uint64_t full = slice_record_bytes(slice_tokens, planes);
  return tokens / slice_tokens > (UINT64_MAX - rest) / full ? UINT64_MAX : tokens / slice_tokens * full + rest;
}

class Activation;
/// Writes the slice of `tokens` (1..8) tokens from `first` on: x.blocks() * slice_batches() records.
void make_columns(const Activation& x, std::uint64_t first, std::uint32_t tokens, std::uint8_t* out);

}  // namespace lanewise
