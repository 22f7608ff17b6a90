// The `rows16` layout: rows interleaved by sixteen, so that one vector register holds the same word of sixteen rows.
//
// A tile is sixteen rows of K elements. First the words of all its blocks: [block][bytes / 4][16 rows] 32-bit words;
// then the bytes beside them (bytes % 4 of each block, which stand at its front or end, wherever its codes leave words
// unaligned): [block][16 rows][bytes % 4]. Apart, so that every vector of words is aligned: behind the words of its own
// super-block, 32 bytes (66 = 16 words + 2) would put the words of every second one across two cache lines. Not a bit
// changes and none is added; rows past the last are zero.
#pragma once

#include <cstdint>

#include "formats/matrix_view.h"

namespace lanewise {

inline constexpr std::uint64_t rows16_rows = 16;

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
