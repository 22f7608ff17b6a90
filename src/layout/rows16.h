// The `rows16` layout: rows interleaved by sixteen, so that one vector register holds the same word of sixteen rows.
//
// A tile is sixteen rows of K elements, in one stream of runs, each as many consecutive blocks as rows16_run says (the
// last may have fewer). Of a run first the words of its blocks: [block][bytes / 4][16 rows] 32-bit words; then the
// bytes beside them (bytes % 4 of each block, which stand at its front or end, wherever its codes leave words
// unaligned): [block][16 rows][bytes % 4]. A run is a super-block or, where the bytes beside one would end in the midst
// of a cache line (66 = 16 words + 2: 32 bytes), two, so that every vector of words is aligned. Not a bit changes and
// none is added; rows past the last are zero.
#pragma once

#include <cstdint>

#include "formats/matrix_view.h"

namespace lanewise {

inline constexpr std::uint64_t rows16_rows = 16;

/// Blocks of a run, a power of two: a super-block's, or the fewest whose bytes beside words fill whole cache lines.
constexpr std::uint32_t rows16_run(std::uint32_t elements, std::uint32_t bytes) {
  std::uint32_t run = 256 / elements;
  while (run * (bytes % 4) % 4 != 0) run *= 2;
  return run;
}

/// Tiles: what the layout is packed in.
std::uint64_t rows16_units(std::uint64_t rows);
std::uint64_t rows16_bytes(const MatrixView& shape);
/// Bytes of one tile: sixteen rows.
std::uint64_t rows16_tile_bytes(const FormatInfo& info, std::uint64_t cols);
/// Bytes of a block that stand before its words (0, or all of bytes % 4).
std::uint32_t rows16_lead(Format format);
/// Packs tiles tile_begin .. tile_end-1 of a raw matrix; `out` is the first byte of the whole packed matrix.
void rows16_pack(const MatrixView& raw, std::uint64_t tile_begin, std::uint64_t tile_end, std::uint8_t* out);
/// The inverse: rows of the same tiles back to GGUF's bytes; `out` is the first byte of the whole raw matrix.
void rows16_unpack(const MatrixView& shape, const std::uint8_t* packed, std::uint64_t tile_begin,
                   std::uint64_t tile_end, std::uint8_t* out);

}  // namespace lanewise
