// Launches of float weights.
#pragma once

#include "backends/cuda/floats.cuh"
#include "backends/cuda/simt_launch.cuh"

namespace lanewise {
inline namespace LW_DECODE_SPACE {
namespace floats {

/// launch.tile: splits of K (1, 2, 4, 8), stages (2 to 4), blocks a multiprocessor; 0: chosen here.
template <class T, std::uint32_t tokens>
int launch_tokens(const Launch& what, void* stream) {
  using S = Shape<T, tokens>;
  const auto shared_of = [](const Plan& p) { return sums_bytes<S>(p) + p.stages * stage_bytes<S>(p); };
  const std::uint32_t limit = what.shared_bytes == 0 ? 48 * 1024 : what.shared_bytes;
  const std::uint32_t each = what.tile[2] != 0 ? what.tile[2] : tokens == 1 ? 2 : 1;
  // A device with little shared memory has smaller blocks.
  Plan plan{most_warps, 1, 2};
  while (plan.warps > 1 && shared_of(plan) > limit) plan.warps /= 2;
  if (what.tile[0] != 0) {
    plan.splits = what.tile[0];
  } else {
    // Of what keeps all multiprocessors busy to the end, the fewest: each split reads x for itself.
    std::uint64_t best = 0;
    for (Plan one = plan; one.splits <= plan.warps; one.splits *= 2) {
      const std::uint64_t tiles = count_tiles(what, block_rows_of<S>(one));
      const std::uint64_t places = std::uint64_t{each} * what.multiprocessors;
      const std::uint64_t busy = tiles * 1000 / ((tiles + places - 1) / places * places + 1);
      const std::uint64_t worth = busy * (100 - (tokens == 1 ? 1 : 4) * (one.splits - 1)) / 100;
      if (worth <= best) continue;
      best = worth;
      plan.splits = one.splits;
    }
  }
  if (plan.splits > plan.warps) plan.splits = plan.warps;
  while (plan.splits > 1 && shared_of(plan) > limit) plan.splits /= 2;
  // Two blocks of the one-token kernel share a multiprocessor.
  plan.stages = what.tile[1] != 0 ? what.tile[1] : 4;
  while (plan.stages > 2 && shared_of(plan) > (what.tile[1] == 0 && tokens == 1 ? limit / 2 : limit)) --plan.stages;
  std::uint32_t blocks = simt::grid_of(what, count_tiles(what, block_rows_of<S>(plan)));
  if (blocks == 0) return 0;
  if (blocks > each * what.multiprocessors) blocks = each * what.multiprocessors;
  constexpr std::uint32_t which = T::info.format == Format::F16 ? 0 : T::info.format == Format::BF16 ? 1 : 2;
  return start(floats_kernel<T, tokens>, blocks, 32 * plan.warps, shared_of(plan), what.overlapped, stream, what, plan,
               which);
}

template <class T>
int launch(const Launch& what, void* stream) {
  if (what.tokens == 1) return launch_tokens<T, 1>(what, stream);
  if (what.tokens <= 4) return launch_tokens<T, 4>(what, stream);
  return launch_tokens<T, 8>(what, stream);
}

}  // namespace floats
}  // namespace LW_DECODE_SPACE
}  // namespace lanewise
