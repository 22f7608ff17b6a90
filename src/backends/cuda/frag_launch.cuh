// Starts the `frag` kernels, and packs and unpacks their layout, for one format.
#pragma once

#include "backends/cuda/frag_kernel.cuh"
#include "backends/cuda/frag_pack_tile.cuh"
#include "backends/cuda/frag_stream.cuh"
#include "backends/cuda/start.cuh"

namespace lanewise::cuda {

// What a kernel reads of a matrix, and where the arrays of x are.
template <class F, class Mode>
void frag_locate(const Launch& launch, std::uint32_t slots, FragShape& shape) {
  shape.cols = launch.blocks;
  shape.overlapped = launch.overlapped;
  shape.w = launch.targets[0].w;
  const std::uint64_t tile_bytes = launch.cols / F::elements * F::bytes * frag_rows;
  shape.single = launch.count == 1 && launch.route == nullptr && tile_bytes <= UINT32_MAX;
  shape.tile_bytes = static_cast<std::uint32_t>(tile_bytes);
  const auto tail = static_cast<std::uint32_t>(launch.cols % frag_cols / F::elements);  // blocks
  shape.tail_short = tail == 0 ? 0 : FragPlan<F>::bytes - tail * F::bytes * frag_rows;
  const ImageOffsets at(slots, Mode::planes, launch.blocks);
  const std::uint64_t narrow = FragXSums<F, Mode>::digits ? at.digits16 : at.sums16;
  const std::uint64_t wide = FragXSums<F, Mode>::digits ? at.digits32 : at.sums32;
  shape.codes = launch.x + (FragPlan<F>::halves ? at.halves : at.codes);
  shape.scale = launch.x + (F::exponent_scale ? at.exponents : at.powers);
  shape.sums = launch.x + (FragFacts<F>::narrow ? narrow : wide);
  shape.flags = launch.x + at.poisoned;
}

template <class F, class Mode>
int frag_start(const Launch& launch, void* stream, bool& fits) {
  const std::uint32_t slots = image_slots(launch.tokens);
  const bool joined = F::has_min && Mode::joins && Mode::x_shared;
  FragNeeds needs{};
  needs.tile_bytes = FragPlan<F>::bytes;
  needs.grid_bytes = FragTables<F>::grid_bytes;
  needs.outputs = Mode::outputs;
  needs.most_groups = Mode::most_groups;
  needs.has_scratch = launch.cols % frag_cols != 0;
  const std::uint64_t x_bytes = std::uint64_t{launch.blocks} * 256 * slots * Mode::planes;
  fits = x_bytes < shared_most || !Mode::x_shared;
  if (!fits) return 0;
  if (Mode::x_shared) {
    needs.x_bytes = static_cast<std::uint32_t>(x_bytes);
    needs.zero_bytes = Mode::window == 1 ? FragX::zero_bytes : 0;
    needs.powers_bytes = launch.blocks * slots * 4;
    needs.joined_bytes = Mode::mins_by_product || Mode::offset_by_product ? launch.blocks * Mode::planes * 32 * slots
                         : joined         ? launch.blocks * FragFacts<F>::groups * 4 * slots
                         : F::offset != 0 ? launch.blocks * FragFacts<F>::groups * 4 * slots * Mode::planes
                                          : 0;
  }
  FragShape shape;
  fits = frag_shape(needs, launch, shape);
  if (!fits || shape.tiles == 0) return 0;
  frag_locate<F, Mode>(launch, slots, shape);
  const std::uint32_t threads = shape.groups * group_threads;
  const bool apart = FragXLoad<F, Mode>::apart && shape.groups < Mode::most_groups;
  shape.x_first = apart ? threads : FragXLoad<F, Mode>::apart ? threads - group_threads : 0;
  return start(frag_kernel<F, Mode>, shape.blocks, threads + (apart ? group_threads : 0), shape.bytes,
               launch.overlapped, stream, shape, launch);
}

// Five to eight tokens whose x doesn't fit into shared memory.
template <class F>
int frag_start_stream(const Launch& launch, void* stream, bool& fits) {
  using Mode = FragMany<F, 8, 2, true, true>;
  FragNeeds needs{};
  needs.grid_bytes = FragTables<F>::grid_bytes;
  needs.outputs = Mode::outputs;
  needs.has_scratch = launch.cols % frag_cols != 0;
  FragShape shape;
  fits = frag_stream_shape<F, Mode>(needs, launch, shape);
  if (!fits || shape.tiles == 0) return 0;
  frag_locate<F, Mode>(launch, Mode::window, shape);
  return start(frag_stream_kernel<F, Mode>, shape.blocks, group_threads, shape.bytes, launch.overlapped, stream, shape,
               launch);
}

/// cudaErrorInvalidConfiguration.
inline constexpr int frag_does_not_fit = 9;

/// Tokens 1..8 in one of three modes; where x doesn't fit into shared memory that of five to eight tokens comes there a
/// super-block at a time, other stays in global memory.
template <class F>
int frag_launch(const Launch& launch, void* stream) {
  bool fits = false;
  int error = 0;
  if (launch.planes == 2) {
    const std::uint32_t slots = image_slots(launch.tokens);
    error = slots == 1   ? frag_start<F, FragOne<F>>(launch, stream, fits)
            : slots == 4 ? frag_start<F, FragMany<F, 4, 2, true>>(launch, stream, fits)
                         : frag_start<F, FragMany<F, 8, 2, true>>(launch, stream, fits);
    if (!fits && slots == 8) error = frag_start_stream<F>(launch, stream, fits);
    if (!fits) error = frag_start<F, FragMany<F, 8, 2, false>>(launch, stream, fits);
  } else if (launch.planes == 1) {
    error = frag_start<F, FragMany<F, 8, 1, false>>(launch, stream, fits);
  } else {
    error = frag_start<F, FragMany<F, 8, 3, false>>(launch, stream, fits);
  }
  return fits ? error : frag_does_not_fit;
}

// ---- packing ----

// Sixteen rows of a super-block to shared memory, one after the other, by a warp, in pieces of T; missing rows are
// zeros.
template <class F, class T>
LW_DEVICE void frag_stage(const RawTile& raw, std::uint8_t* to) {
  constexpr std::uint32_t a_row = FragPlan<F>::row_bytes / sizeof(T);
  constexpr std::uint32_t pieces = frag_rows * a_row;
  constexpr std::uint32_t many = sizeof(T) == 16 ? 4 : 8;  // of a lane on their way at once
  const std::uint32_t lane = thread_index() % 32;
  LW_NO_UNROLL
  for (std::uint32_t first = 0; first < pieces; first += 32 * many) {
    T held[many];
    LW_UNROLL
    for (std::uint32_t i = 0; i < many; ++i) {
      const std::uint32_t n = first + 32 * i + lane;
      held[i] = T{};
      if (n < raw.rows * a_row) held[i] = reinterpret_cast<const T*>(raw.bytes + n / a_row * raw.stride)[n % a_row];
    }
    LW_UNROLL
    for (std::uint32_t i = 0; i < many; ++i) {
      const std::uint32_t n = first + 32 * i + lane;
      if (n < pieces) reinterpret_cast<T*>(to)[n] = held[i];
    }
  }
}

template <class F>
LW_KERNEL_TEXT void LW_LAUNCH_BOUNDS(256, 2)
    frag_pack_kernel(const std::uint8_t* from, std::uint64_t rows, std::uint64_t cols, std::uint8_t* to) {
  using P = FragPlan<F>;
  const std::uint64_t row_bytes = cols / F::elements * F::bytes;
  const std::uint64_t blocks = (cols + frag_cols - 1) / frag_cols;
  const std::uint64_t tiles = frag_tiles(rows) * blocks;
  const std::uint64_t step = std::uint64_t{grid_blocks()} * (block_threads() / 32);
  LW_NO_UNROLL
  for (std::uint64_t i = block_index() * std::uint64_t{block_threads() / 32} + thread_index() / 32; i < tiles;
       i += step) {
    const std::uint64_t tile = i / blocks;
    const std::uint64_t b = i % blocks;
    const std::uint64_t left = rows - tile * frag_rows;
    RawTile raw{from + tile * frag_rows * row_bytes + b * P::row_bytes, row_bytes,
                static_cast<std::uint32_t>(left < frag_rows ? left : frag_rows), 8};
    std::uint8_t* out = to + tile * frag_tile_row_bytes(row_bytes) + b * P::bytes;
    if (cols - b * frag_cols >= frag_cols) {
      // A lane gathers its words byte by byte, which global memory would take some thousand trips for.
      LW_SHARED_MEMORY(memory);
      std::uint8_t* const staged = memory + thread_index() / 32 * P::bytes;
      const std::uint64_t place = reinterpret_cast<std::uintptr_t>(raw.bytes) | row_bytes | P::row_bytes;
      sync_warp();
      if (P::row_bytes % 16 == 0 && place % 16 == 0) {
        frag_stage<F, uint4>(raw, staged);
      } else if (P::row_bytes % 4 == 0 && place % 4 == 0) {
        frag_stage<F, std::uint32_t>(raw, staged);
      } else if (place % 2 == 0) {
        frag_stage<F, std::uint16_t>(raw, staged);
      } else {
        frag_stage<F, std::uint8_t>(raw, staged);
      }
      sync_warp();
      FragTilePacker<F>{{staged}}.pack(out);
    } else {
      const auto bytes = static_cast<std::uint32_t>((cols - b * frag_cols) / F::elements * F::bytes);
      for (std::uint32_t n = thread_index() % 32; n < frag_rows * bytes; n += 32) {
        out[n] = n / bytes < raw.rows ? raw.bytes[n / bytes * row_bytes + n % bytes] : std::uint8_t{0};
      }
    }
  }
}

template <class F>
LW_KERNEL_TEXT void LW_LAUNCH_BOUNDS(256, 1)
    frag_unpack_kernel(const std::uint8_t* from, std::uint64_t rows, std::uint64_t cols, std::uint8_t* to) {
  using P = FragPlan<F>;
  const std::uint64_t row_bytes = cols / F::elements * F::bytes;
  const std::uint64_t row_blocks = cols / F::elements;
  const std::uint64_t step = std::uint64_t{grid_blocks()} * block_threads();
  LW_NO_UNROLL
  for (std::uint64_t i = block_index() * std::uint64_t{block_threads()} + thread_index(); i < rows * row_blocks;
       i += step) {
    const std::uint64_t row = i / row_blocks;
    const std::uint64_t block = i % row_blocks;
    const std::uint64_t b = block / (frag_cols / F::elements);
    const auto index = static_cast<std::uint32_t>(block % (frag_cols / F::elements));
    const auto in_tile = static_cast<std::uint32_t>(row % frag_rows);
    const std::uint8_t* tile = from + row / frag_rows * frag_tile_row_bytes(row_bytes) + b * P::bytes;
    std::uint8_t* out = to + row * row_bytes + block * F::bytes;
    if (cols - b * frag_cols >= frag_cols) {
      FragPacker<F>::unpack_block(tile, in_tile, index, out);
    } else {
      const std::uint64_t stride = (cols - b * frag_cols) / F::elements * F::bytes;
      for (std::uint32_t n = 0; n < F::bytes; ++n) out[n] = tile[in_tile * stride + index * F::bytes + n];
    }
  }
}

/// Device memory to device memory; `to` is aligned to 16.
template <class F>
int frag_pack(const std::uint8_t* from, std::uint64_t rows, std::uint64_t cols, std::uint8_t* to, void* stream) {
  if (rows == 0) return 0;
  const std::uint64_t tiles = frag_tiles(rows) * ((cols + frag_cols - 1) / frag_cols);
  const auto blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>((tiles + 7) / 8, 132U * 16));
  return start(frag_pack_kernel<F>, blocks, 256, 8 * FragPlan<F>::bytes, false, stream, from, rows, cols, to);
}
template <class F>
int frag_unpack(const std::uint8_t* from, std::uint64_t rows, std::uint64_t cols, std::uint8_t* to, void* stream) {
  if (rows == 0) return 0;
  const std::uint64_t threads = rows * (cols / F::elements);
  const auto blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>((threads + 255) / 256, 132U * 16));
  return start(frag_unpack_kernel<F>, blocks, 256, 0, false, stream, from, rows, cols, to);
}

}  // namespace lanewise::cuda
