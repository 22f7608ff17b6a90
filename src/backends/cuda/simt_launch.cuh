// Launches of the plain family.
#pragma once

#include "backends/cuda/simt.cuh"
#include "backends/cuda/start.cuh"

namespace lanewise {
inline namespace LW_DECODE_SPACE {
namespace simt {

/// Blocks for `tiles` tiles: one each, as far as a grid goes; blocks with more take them in turn.
inline std::uint32_t grid_of(const Launch& launch, std::uint64_t tiles) {
  if (launch.route != nullptr) {
    const std::uint64_t asked = std::uint64_t{launch.tokens} * launch.used;
    tiles *= asked < most_experts ? asked : most_experts;
  }
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  return static_cast<std::uint32_t>(tiles < most ? tiles : most);
}

template <class T, class Grid, class Tile>
int launch_tile(const Launch& launch, void* stream) {
  using Shape = SimtShape<T, Tile::lanes>;
  constexpr std::uint32_t shared = simt_shared_bytes<Shape, Tile>(Grid::words);
  static_assert(shared <= 48 * 1024, "what every device gives a block");
  const std::uint32_t blocks = grid_of(launch, count_tiles(launch, Tile::block_rows));
  if (blocks == 0) return 0;
  return start(simt_kernel<T, Grid, Tile>, blocks, simt_threads, shared, launch.overlapped, stream, launch);
}

/// launch.tile[0]: lanes of an eighth, 4 or 16; 0: as many as the rows leave room for.
template <class T, class Grid>
int launch(const Launch& what, void* stream) {
  if (what.tokens > 1) return launch_tile<T, Grid, SimtTile<4, 2, 8>>(what, stream);
  using Wide = SimtTile<4, 2, 1>;
  const bool few = count_tiles(what, Wide::block_rows) < std::uint64_t{4} * what.multiprocessors;
  const bool split = what.tile[0] == 0 ? few : what.tile[0] == 16;
  return split ? launch_tile<T, Grid, SimtTile<16, 1, 1>>(what, stream) : launch_tile<T, Grid, Wide>(what, stream);
}

}  // namespace simt
}  // namespace LW_DECODE_SPACE
}  // namespace lanewise
