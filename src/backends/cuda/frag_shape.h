// How a launch of a `frag` kernel is laid out over blocks and shared memory: chosen here, on the host. The bits are the
// same whatever is chosen.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cuda/frag_plan.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/place.cuh"

namespace lanewise::cuda {

inline constexpr std::uint32_t group_warps = 8;
inline constexpr std::uint32_t most_stages = 8;
inline constexpr std::uint32_t group_threads = 32 * group_warps;
/// Shared memory that a block may have, sm_90.
inline constexpr std::uint32_t shared_most = 227 * 1024;

struct FragShape {
  // What a kernel needs before it asks for weights, in the first 48 bytes: a line of 64 of the parameters, of which the
  // first 16 are the runtime's, costs 70 cycles when it is first read. Much of it is worked out here because a warp
  // takes five cycles for each instruction that waits for the one before: 330 of them before the first copy were a
  // microsecond of each launch.
  std::uint32_t stages = 2;                     ///< of a warp's ring
  std::uint32_t chunk = 1;                      ///< super-blocks a stage
  std::uint32_t groups = 1;                     ///< of eight warps a block
  std::uint32_t tiles = 0;                      ///< of all targets, of one expert
  std::uint32_t cols = 0;                       ///< super-blocks of K
  bool single = false;                          ///< one target, no experts, rows of tiles below 4 GiB
  bool overlapped = false;                      ///< as the launch's
  std::uint32_t rings_at = 0, barriers_at = 0;  ///< offsets in shared memory, as those below
  std::uint32_t tile_bytes = 0;                 ///< of a row of tiles
  std::uint32_t x_first = 0;                    ///< the first thread of those that bring x
  const std::uint8_t* w = nullptr;              ///< of the single target
  // And what it needs before it asks for x.
  const std::uint8_t *codes = nullptr, *scale = nullptr, *sums = nullptr, *flags = nullptr;  ///< arrays of x
  std::uint32_t tail_short = 0;  ///< bytes that a row's last super-block lacks
  std::uint32_t batch = 1;       ///< tiles whose sums meet at once
  std::uint32_t x_at = 0, zeros_at = 0, joined_at = 0, powers_at = 0, scratch_at = 0, sums_at = 0;
  std::uint32_t bytes = 0;   ///< of shared memory; a format's grid lies at 0
  std::uint32_t blocks = 1;  ///< of the grid
};

/// First super-block of eighth g (0..8) of a row of `blocks`.
LW_BOTH std::uint32_t eighth_begin(std::uint32_t g, std::uint32_t blocks) { return (g * blocks + 7) / 8; }

/// What of a kernel the layout depends on.
struct FragNeeds {
  std::uint32_t tile_bytes;
  std::uint32_t grid_bytes;
  std::uint32_t x_bytes;  ///< of the slice's codes; 0: not in shared memory
  std::uint32_t zero_bytes;
  std::uint32_t joined_bytes;  ///< of its sums
  std::uint32_t powers_bytes;
  std::uint32_t outputs;      ///< floats a tile
  std::uint32_t most_groups;  ///< that the kernel has registers for
  bool has_scratch;           ///< the last super-block is short
};

inline void frag_offsets(const FragNeeds& needs, FragShape& shape) {
  const auto up = [](std::uint64_t bytes) { return (bytes + 127) / 128 * 128; };
  std::uint64_t at = up(needs.grid_bytes);
  const auto take = [&](std::uint64_t bytes) {
    const std::uint64_t here = at;
    at = up(at + bytes);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(here, UINT32_MAX));
  };
  shape.x_at = take(needs.x_bytes);
  shape.zeros_at = take(needs.zero_bytes);
  shape.joined_at = take(needs.joined_bytes);
  shape.powers_at = take(needs.powers_bytes);
  shape.rings_at = take(std::uint64_t{shape.groups} * group_warps * shape.stages * shape.chunk * needs.tile_bytes);
  shape.scratch_at = take(needs.has_scratch ? std::uint64_t{shape.groups} * needs.tile_bytes : 0);
  shape.sums_at = take(std::uint64_t{shape.groups} * 2 * shape.batch * group_warps * needs.outputs * 4);
  shape.barriers_at = take((std::uint64_t{shape.groups} * group_warps * shape.stages + 1) * 8);  // the last: of x
  shape.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(at, UINT32_MAX));
}

/// False where the kernel doesn't fit into shared memory.
inline bool frag_shape(const FragNeeds& needs, const Launch& launch, FragShape& shape) {
  std::uint64_t tiles = count_tiles(launch, frag_rows);
  shape.tiles = static_cast<std::uint32_t>(tiles);
  // As many distinct experts as there can be.
  if (launch.route != nullptr) tiles *= std::min(launch.tokens * launch.used, most_experts);
  if (tiles > UINT32_MAX / 2) return false;
  const std::uint32_t eighth = (launch.blocks + 7) / 8;
  // What an H200 likes, by sweeps over five formats (docs/cuda.md): an eighth in one copy where there is but one tile a
  // multiprocessor; else copies of about 2.5 KB, and no more of them on their way than about 100 KB a multiprocessor,
  // since asking for many delays the first; single super-blocks and half of that where a group has one tile only.
  const std::uint32_t multiprocessors = std::max(launch.multiprocessors, 1U);
  const bool single = tiles <= multiprocessors;
  // A third group pays where each has many tiles.
  const std::uint32_t best_groups = single                            ? 1
                                    : tiles < 12ULL * multiprocessors ? std::min(2U, needs.most_groups)
                                                                      : needs.most_groups;
  const auto wish = [&](std::uint32_t i, std::uint32_t otherwise) {
    return launch.tile[i] != 0 ? launch.tile[i] : otherwise;
  };
  for (std::uint32_t groups = std::min(wish(0, best_groups), needs.most_groups); groups >= 1; --groups) {
    shape.groups = groups;
    const auto a_group = static_cast<std::uint32_t>((tiles + std::uint64_t{multiprocessors} * groups - 1) /
                                                    (std::uint64_t{multiprocessors} * groups));
    const std::uint32_t copy_most = single ? 9216 : a_group == 1 && needs.outputs > frag_rows ? 0 : 2700;
    const std::uint32_t flight_most = single || a_group > 1 ? 96 * 1024 : 48 * 1024;
    // A second group is worth more than sums of many tiles that meet at once: Q6_K of eight tokens at 4096x128256 takes
    // 116 us with one group and four tiles, 103 with two and two.
    shape.batch = std::clamp(a_group, 1U, wish(3, std::max(128U / needs.outputs, 4U)));
    for (; shape.batch >= 1; shape.batch /= 2) {
      for (std::uint32_t chunk = std::clamp(wish(1, copy_most / needs.tile_bytes), 1U, eighth); chunk >= 1; --chunk) {
        // As even pieces of an eighth as there can be.
        shape.chunk = (eighth + (eighth + chunk - 1) / chunk - 1) / ((eighth + chunk - 1) / chunk);
        const std::uint32_t all = a_group * ((eighth + shape.chunk - 1) / shape.chunk);  // copies that a warp asks for
        shape.stages =
            std::clamp(wish(2, flight_most / (groups * group_warps * shape.chunk * needs.tile_bytes)), 2U, most_stages);
        shape.stages = std::min(shape.stages, all);
        for (; shape.stages >= std::min(2U, all); --shape.stages) {
          frag_offsets(needs, shape);
          if (shape.bytes > shared_most) continue;
          shape.blocks =
              static_cast<std::uint32_t>(std::clamp<std::uint64_t>((tiles + groups - 1) / groups, 1, multiprocessors));
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace lanewise::cuda
