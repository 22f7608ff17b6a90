// The row-interleaved kernels' table: one entry a target and format.
#pragma once

#include <bit>
#include <cstdint>

namespace lanewise {

struct MatrixView;
class Activation;
struct OutputView;

/// Sixteen rows times one slice of tokens.
struct Rows16Call {
  const std::uint8_t* packed;       ///< a tile of the rows16 layout; nullptr: `rows` instead
  const std::uint8_t* const* rows;  ///< sixteen rows of GGUF's bytes (a row may stand more than once)
  std::uint64_t cols;
  const std::uint8_t* x;     ///< the slice's records of the `columns` image
  int batches;               ///< of the slice
  float* y;                  ///< token t of row r at y[t * 16 + r]: batches * batch_tokens * 16 values
  std::uint64_t ahead;       ///< packed: how many bytes past what it reads to prefetch
  const std::uint8_t* next;  ///< rows: what to prefetch meanwhile, 16 rows' bytes from here on
};
using Rows16Tile = void (*)(const Rows16Call& call);
/// Packs sixteen rows of `cols` columns into their tile.
using Rows16Pack = void (*)(const std::uint8_t* const* rows, std::uint64_t cols, std::uint8_t* tile);

struct Rows16Kernels {
  Rows16Tile tile[3][4];  ///< by planes - 1 and log2 of the tokens in a batch (batch_tokens); null: none
  Rows16Pack pack;
};
/// A target's kernels, and another's for the batches that it has none for.
struct Rows16Choice {
  const Rows16Kernels& first;
  const Rows16Kernels& others;
  [[nodiscard]] Rows16Tile tile(std::uint32_t planes, std::uint32_t batch) const {
    const int log = std::countr_zero(batch);
    const Rows16Tile found = first.tile[planes - 1][log];
    return found != nullptr ? found : others.tile[planes - 1][log];
  }
};

/// Rows row_begin to row_end - 1 of every output of y by these kernels: W in the rows16 layout, or GGUF's rows,
/// transposed as they are read.
void gemv_rows16(const Rows16Choice& kernels, const MatrixView& w, const Activation& x, const OutputView& y,
                 std::uint64_t row_begin, std::uint64_t row_end);
void gemv_transposed(const Rows16Choice& kernels, const MatrixView& w, const Activation& x, const OutputView& y,
                     std::uint64_t row_begin, std::uint64_t row_end);

/// Kernels of kernels.def (see CpuLaunch): on GGUF's rows, transposed as they are read, and on the rows16 layout. A
/// build has those of its own architecture's targets; the others must not be called.
#define LW_TARGET_ROW(target, architecture, floats, flags)                                                          \
  void gemv_raw_##target(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t row_begin,    \
                         std::uint64_t row_end);                                                                    \
  void gemv_packed_##target(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t row_begin, \
                            std::uint64_t row_end);
#include "backends/cpu/targets.def"
#undef LW_TARGET_ROW

}  // namespace lanewise
