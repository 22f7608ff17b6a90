// The row-interleaved kernels' table: one entry a target and format.
#pragma once

#include <cstdint>

namespace lanewise {

/// y of sixteen rows for one slice of tokens: `w` a tile of the rows16 layout, `x` the slice's records (both of `cols`
/// columns) in `batches` batches, token t's outputs at y + t * stride, also those of the tokens that fill the last
/// batch. Prefetches `ahead` bytes past what it reads.
using Rows16Tile = void (*)(const std::uint8_t* w, std::uint64_t cols, const std::uint8_t* x, int batches, float* y,
                            std::uint64_t stride, std::uint64_t ahead);

struct Rows16Kernels {
  Rows16Tile tile[3][3];  ///< by planes - 1 and batch: 1, 2 or 4 tokens
};

}  // namespace lanewise
