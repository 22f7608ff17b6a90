// Where a tile of rows of a launch lies: which target, which expert.
#pragma once

#include "backends/cuda/launch.h"
#include "backends/cuda/machine.cuh"

namespace lanewise::cuda {

/// Tiles of `tile_rows` rows of all targets; with experts, of one expert.
LW_BOTH std::uint64_t count_tiles(const Launch& launch, std::uint32_t tile_rows) {
  std::uint64_t tiles = 0;
  for (std::uint32_t i = 0; i < launch.count; ++i) tiles += (launch.targets[i].rows + tile_rows - 1) / tile_rows;
  return tiles;
}

struct Place {
  std::uint32_t target;
  std::uint64_t row;      ///< the tile's first
  const std::uint8_t* w;  ///< of the target, or of its expert
  std::int32_t expert;    ///< -1: none
};

/// Tile `tile` of a launch that has `tiles` of them an expert.
LW_DEVICE Place find_place(const Launch& launch, std::uint32_t tile_rows, std::uint64_t tiles, std::uint64_t tile) {
  Place place;
  if (launch.count == 1 && launch.route == nullptr) return {0, tile * tile_rows, launch.targets[0].w, -1};
  std::uint64_t index = 0;
  if (launch.route != nullptr) {
    index = tile / tiles;
    tile -= index * tiles;
  }
  place.target = 0;
  for (;;) {
    const std::uint64_t own = (launch.targets[place.target].rows + tile_rows - 1) / tile_rows;
    if (tile < own) break;
    tile -= own;
    ++place.target;
  }
  place.row = tile * tile_rows;
  if (launch.route != nullptr) {
    place.w = launch.route->w[place.target][index];
    place.expert = launch.route->experts[index];
  } else {
    place.w = launch.targets[place.target].w;
    place.expert = -1;
  }
  return place;
}

}  // namespace lanewise::cuda
