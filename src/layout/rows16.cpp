#include "layout/rows16.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "formats/traits.h"

namespace lanewise {
namespace {

// Calls visit(packed offset, raw offset of row 0, bytes a row) for every run of bytes that stays together,
// tile-relative.
template <class Visit>
void for_each_run(const FormatInfo& info, std::uint64_t cols, Visit visit) {
  const std::uint64_t beside = info.block_bytes % 4;
  const std::uint64_t lead = rows16_lead(info.format);
  const std::uint64_t beside_at = lead != 0 ? 0 : info.block_bytes - beside;
  const std::uint64_t words = info.block_bytes / 4;
  const std::uint64_t blocks = cols / info.block_elements;
  const std::uint64_t run = rows16_run(info.block_elements, info.block_bytes);
  std::uint64_t packed = 0;
  for (std::uint64_t first = 0; first < blocks; first += run) {
    const std::uint64_t end = std::min(first + run, blocks);
    for (std::uint64_t block = first; block < end; ++block) {
      for (std::uint64_t w = 0; w < words; ++w, packed += 64) visit(packed, block * info.block_bytes + lead + 4 * w, 4);
    }
    for (std::uint64_t block = first; block < end && beside != 0; ++block, packed += 16 * beside) {
      visit(packed, block * info.block_bytes + beside_at, beside);
    }
  }
}

}  // namespace

std::uint64_t rows16_units(std::uint64_t rows) { return ceil_div(rows, rows16_rows); }

std::uint64_t rows16_bytes(const MatrixView& shape) {
  return rows16_units(shape.rows) * rows16_tile_bytes(shape.info(), shape.cols);
}

std::uint64_t rows16_tile_bytes(const FormatInfo& info, std::uint64_t cols) { return 16 * row_bytes(info, cols); }

std::uint32_t rows16_lead(Format format) {
  return with_format(format, []<class T>(T) -> std::uint32_t {
    if constexpr (T::info.is_float()) {
      return 0;
    } else {
      return T::quad_part(0, 0).byte % 4;
    }
  });
}

void rows16_pack(const MatrixView& raw, std::uint64_t tile_begin, std::uint64_t tile_end, std::uint8_t* out) {
  const FormatInfo& info = raw.info();
  const std::uint64_t stride = raw.row_bytes();
  const std::uint64_t tile_bytes = rows16_tile_bytes(info, raw.cols);
  for (std::uint64_t tile = tile_begin; tile < tile_end; ++tile) {
    const std::uint64_t rows = std::min(rows16_rows, raw.rows - tile * rows16_rows);
    const std::uint8_t* from = raw.row(tile * rows16_rows);
    std::uint8_t* to = out + tile * tile_bytes;
    for_each_run(info, raw.cols, [&](std::uint64_t packed, std::uint64_t at, std::uint64_t bytes) {
      for (std::uint64_t r = 0; r < rows; ++r) std::memcpy(to + packed + r * bytes, from + r * stride + at, bytes);
      if (rows < rows16_rows) std::memset(to + packed + rows * bytes, 0, (rows16_rows - rows) * bytes);
    });
  }
}

void rows16_unpack(const MatrixView& shape, const std::uint8_t* packed_matrix, std::uint64_t tile_begin,
                   std::uint64_t tile_end, std::uint8_t* out) {
  const FormatInfo& info = shape.info();
  const std::uint64_t stride = shape.row_bytes();
  const std::uint64_t tile_bytes = rows16_tile_bytes(info, shape.cols);
  for (std::uint64_t tile = tile_begin; tile < tile_end; ++tile) {
    const std::uint64_t rows = std::min(rows16_rows, shape.rows - tile * rows16_rows);
    std::uint8_t* to = out + tile * rows16_rows * stride;
    const std::uint8_t* from = packed_matrix + tile * tile_bytes;
    for_each_run(info, shape.cols, [&](std::uint64_t packed, std::uint64_t at, std::uint64_t bytes) {
      for (std::uint64_t r = 0; r < rows; ++r) std::memcpy(to + r * stride + at, from + packed + r * bytes, bytes);
    });
  }
}

}  // namespace lanewise
