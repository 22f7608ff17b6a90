// The `frag` kernel for a K whose x doesn't fit into shared memory beside the rings, at up to eight tokens: x comes a
// super-block at a time, with the weights of two tiles that it meets, so that each word of it is read from the L2 cache
// once for two tiles (where x is left in global memory: once for each). A block is one group of eight warps, an eighth
// of K each.
#pragma once

#include "backends/cuda/frag_kernel.cuh"

namespace lanewise::cuda {

template <class F, class Mode>
struct FragStream {
  using P = FragPlan<F>;
  using Facts = FragFacts<F>;
  static constexpr std::uint32_t tiles = 2;  ///< that share x
  static constexpr bool digits = FragXSums<F, Mode>::digits;
  // A super-block of x, array after array.
  static constexpr std::uint32_t code_bytes = 256 * Mode::window * Mode::planes;
  static constexpr std::uint32_t sum_bytes = !FragXSums<F, Mode>::any ? 0
                                             : digits                 ? Mode::planes * 32 * Mode::window
                                                                      : Facts::groups * Mode::window * Mode::planes * 4;
  static constexpr std::uint32_t power_bytes = Mode::window * 4;
  static constexpr std::uint32_t x_bytes = code_bytes + sum_bytes + power_bytes;
  static constexpr std::uint32_t stage_bytes = (tiles * P::bytes + x_bytes + 127) / 128 * 128;

  FragGroup<F, Mode>& me;
  const FragShape& shape;
  std::uint8_t* memory;
  std::uint32_t lane;
  // What to ask for next: of which tiles, and which super-block of the eighth.
  std::uint32_t next_tile = 0, next = 0;

  LW_DEVICE_INSIDE void start() {
    me.tail_short = P::has_tail && me.begin + me.count == shape.cols ? shape.tail_short : 0;
    next_tile = me.count == 0 ? me.tiles : me.first;
  }
  // A super-block of both tiles, and x of it, into the stage at `to` of shared memory.
  LW_DEVICE_INSIDE void issue(std::uint32_t to, Barrier* barrier) {
    if (next_tile >= me.tiles) return;
    const std::uint32_t second = next_tile + me.step;
    const std::uint32_t tile_bytes = P::bytes - (next + 1 == me.count ? me.tail_short : 0);
    if (lane == 0) {
      const std::uint64_t b = me.begin + next;
      barrier_expect(barrier, x_bytes + (second < me.tiles ? 2 : 1) * tile_bytes);
      copy_bulk(memory + to, me.tile_begin(next_tile) + next * std::uint64_t{P::bytes}, tile_bytes, barrier);
      if (second < me.tiles) {
        copy_bulk(memory + to + P::bytes, me.tile_begin(second) + next * std::uint64_t{P::bytes}, tile_bytes, barrier);
      }
      std::uint8_t* const x = memory + to + tiles * P::bytes;
      copy_bulk_kept(x, shape.codes + b * code_bytes, code_bytes, barrier);
      if constexpr (sum_bytes != 0) {
        copy_bulk_kept(x + code_bytes, shape.sums + b * sum_bytes, sum_bytes, barrier);
      }
      copy_bulk_kept(x + code_bytes + sum_bytes, shape.scale + b * power_bytes, power_bytes, barrier);
    }
    if (++next != me.count) return;
    next = 0;
    next_tile += tiles * me.step;
  }
  LW_DEVICE_CONST FragX x_at(const std::uint8_t* at) const {
    FragX x;
    x.slots = Mode::window;
    x.columns = Mode::window * Mode::planes;
    x.codes = at;
    x.sums = reinterpret_cast<const std::int32_t*>(at + code_bytes);
    x.digits = at + code_bytes;
    x.powers = reinterpret_cast<const std::uint32_t*>(at + code_bytes + sum_bytes);
    x.joined = x.starts = nullptr;
    x.zeros = nullptr;
    return x;
  }
  LW_DEVICE_INSIDE void add(Mode& mode, const FragX& x, const FragTables<F>& tables, const std::uint8_t* tile,
                            bool last) {
    if constexpr (P::has_tail) {
      if (last && me.tail_short != 0) {
        const std::uint64_t stride = me.tail_groups() * 32 / F::elements * F::bytes;
        sync_warp();  // the other tile was read from there
        FragPacker<F>::pack(RawTile{tile, stride, frag_rows, me.tail_groups()}, me.scratch);
        sync_warp();
        tile = me.scratch;
      }
    }
    FragTile<F> w;
    w.tables = &tables;
    w.load(tile, Mode::all_nibbles);
    mode.add_block(w, x, 0);
  }
};

template <class F, class Mode>
LW_DEVICE void frag_stream(const Launch& launch, const FragShape& shape) {
  using P = FragPlan<F>;
  using Stream = FragStream<F, Mode>;
  LW_SHARED_MEMORY(memory);
  const std::uint32_t warp = shuffle(thread_index() / 32, 0);  // the same in all lanes, and known to be
  const std::uint32_t lane = thread_index() % 32;
  const std::uint32_t ring = shape.rings_at + warp * shape.stages * Stream::stage_bytes;
  Barrier* const full = reinterpret_cast<Barrier*>(memory + shape.barriers_at) + warp * shape.stages;
  if (lane == 0) {
    LW_NO_UNROLL
    for (std::uint32_t i = 0; i < shape.stages; ++i) barrier_init(&full[i], 1);
    barrier_publish();
  }
  sync_warp();
  FragGroup<F, Mode> me{launch, shape, memory};
  me.warp = warp;
  me.first = block_index();
  me.step = grid_blocks();
  me.begin = eighth_begin(warp, shape.cols);
  me.count = eighth_begin(warp + 1, shape.cols) - me.begin;
  me.scratch = memory + shape.scratch_at;
  me.tiles = shape.tiles;
  FragGrid<F> grid;
  if constexpr (F::grid_entries != 0) grid.ask();
  if (shape.overlapped) {
    let_next_start();
    wait_for_previous();
  }
  if (!shape.single &&
      launch.route != nullptr) {  // which experts there are is known only once the launch before is done
    wait_for_previous();
    me.tiles = launch.route->bad != 0 ? 0 : shape.tiles * launch.route->count;
  }
  const std::uint32_t poisoned = load1(shape.flags + thread_index() % Mode::window * 4);
  Stream stream{me, shape, memory, lane};
  stream.start();
  LW_NO_UNROLL
  for (std::uint32_t i = 0; i < shape.stages; ++i) stream.issue(ring + i * Stream::stage_bytes, &full[i]);
  if constexpr (F::grid_entries != 0) {
    grid.fill(memory);
    sync_block();
  }

  float* sums = reinterpret_cast<float*>(memory + shape.sums_at);
  constexpr std::uint32_t half = Stream::tiles * group_warps * Mode::outputs;
  Mode modes[Stream::tiles];
  FragTables<F> tables;
  tables.set();
  std::uint32_t stage = 0;
  std::uint32_t parity = 0;
  bool odd = false;
  LW_NO_UNROLL
  for (std::uint32_t tile = me.first; tile < me.tiles; tile += Stream::tiles * me.step) {
    const bool two = tile + me.step < me.tiles;
    LW_NO_UNROLL
    for (std::uint32_t b = 0; b < me.count; ++b) {
      barrier_wait(&full[stage], parity);
      const std::uint8_t* const at = memory + ring + stage * Stream::stage_bytes;
      const FragX x = stream.x_at(at + Stream::tiles * P::bytes);
      const bool last = b + 1 == me.count;
      stream.add(modes[0], x, tables, at, last);
      if (two) stream.add(modes[1], x, tables, at + P::bytes, last);
      sync_warp();
      stream.issue(ring + stage * Stream::stage_bytes, &full[stage]);
      if (++stage == shape.stages) {
        stage = 0;
        parity ^= 1;
      }
    }
    // Two sets of sums take turns, so that no one waits for who is still storing.
    float* const out = sums + (odd ? half : 0);
    odd = !odd;
    modes[0].fold(out + warp * Mode::outputs);
    if (two) modes[1].fold(out + (group_warps + warp) * Mode::outputs);
    sync_group(0);
    me.finish(out, tile, two ? 2 : 1, poisoned != 0);
  }
}

template <class F, class Mode>
LW_KERNEL_TEXT void LW_LAUNCH_BOUNDS(group_threads, 1)
    frag_stream_kernel(const LW_GRID_CONSTANT FragShape shape, const LW_GRID_CONSTANT Launch launch) {
  frag_stream<F, Mode>(launch, shape);
}

/// False where it isn't for this launch or doesn't fit into shared memory.
template <class F, class Mode>
bool frag_stream_shape(const FragNeeds& needs, const Launch& launch, FragShape& shape) {
  std::uint64_t tiles = count_tiles(launch, frag_rows);
  shape.tiles = static_cast<std::uint32_t>(tiles);
  if (launch.route != nullptr) tiles *= std::min(launch.tokens * launch.used, most_experts);
  if (tiles > UINT32_MAX / 4) return false;
  const std::uint32_t multiprocessors = std::max(launch.multiprocessors, 1U);
  shape.groups = 1;
  shape.batch = FragStream<F, Mode>::tiles;
  shape.blocks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(tiles, 1, multiprocessors));
  FragNeeds own = needs;
  own.tile_bytes = FragStream<F, Mode>::stage_bytes;
  own.x_bytes = own.joined_bytes = own.powers_bytes = own.zero_bytes = 0;
  shape.chunk = 1;
  for (shape.stages = launch.tile[2] != 0 ? std::clamp(launch.tile[2], 2U, 4U) : 3; shape.stages >= 2; --shape.stages) {
    frag_offsets(own, shape);
    if (shape.bytes <= shared_most) return true;
  }
  return false;
}

}  // namespace lanewise::cuda
