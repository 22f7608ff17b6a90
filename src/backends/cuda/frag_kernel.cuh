// The `frag` kernel: persistent blocks of one or more groups of eight warps; warp g of a group owns eighth g of K for
// all of the group's tiles of 16 rows, so that an accumulator's chain never leaves a warp. Each warp has a ring of bulk
// copies of its own; the eight partial sums of an output meet in shared memory, a batch of tiles at a time.
#pragma once

#include "backends/cuda/frag_block.cuh"
#include "backends/cuda/frag_pack.cuh"
#include "backends/cuda/frag_shape.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/place.cuh"
#include "backends/cuda/store.cuh"

namespace lanewise::cuda {

template <class F, class Mode>
struct FragGroup {
  using P = FragPlan<F>;

  const Launch& launch;
  const FragShape& shape;
  std::uint8_t* memory;
  std::uint32_t warp = 0;   // of its group
  std::uint32_t first = 0;  // tile, and from one to the next
  std::uint32_t step = 0;
  std::uint32_t tiles = 0;             // of all experts
  std::uint32_t begin = 0, count = 0;  // the eighth's super-blocks
  std::uint8_t* scratch = nullptr;
  // What to ask for next: of which tile, how many super-blocks of it are left, and where they lie.
  std::uint32_t next_tile = 0, left = 0;
  const std::uint8_t* next = nullptr;
  const std::uint8_t* tile_at = nullptr;  // the eighth of that tile, and from one tile to the next of a single target
  std::uint64_t tile_stride = 0;
  std::uint32_t tail_short = 0;  // bytes that the eighth's last super-block lacks

  LW_DEVICE_CONST std::uint32_t tail_groups() const { return static_cast<std::uint32_t>(launch.cols % frag_cols / 32); }
  LW_DEVICE_CONST const std::uint8_t* tile_begin(std::uint32_t tile) const {
    if (shape.single) return shape.w + begin * P::bytes + std::uint64_t{tile} * shape.tile_bytes;
    const Place place = find_place(launch, frag_rows, shape.tiles, tile);
    const std::uint64_t tile_bytes = launch.cols / F::elements * F::bytes * frag_rows;
    return place.w + place.row / frag_rows * tile_bytes + begin * std::uint64_t{P::bytes};
  }
  // Before anything is asked for.
  LW_DEVICE_INSIDE void start() {
    if (P::has_tail && begin + count == shape.cols) tail_short = shape.tail_short;
    next_tile = count == 0 ? tiles : first;
    left = count;
    tile_stride = std::uint64_t{shape.tile_bytes} * step;
    if (next_tile < tiles) next = tile_at = tile_begin(next_tile);
  }
  // Asks for the next chunk into the stage at `to` of shared memory, if there is one. Kept short: a warp does this for
  // every chunk, and all of it waits. All lanes know where the warp stands, so that this is known to be the same in all
  // of them: copies and barriers take addresses of that kind, others one lane after the other.
  LW_DEVICE_INSIDE void issue(std::uint32_t lane, std::uint32_t to, Barrier* barrier) {
    if (next_tile >= tiles) return;
    const std::uint32_t n = left < shape.chunk ? left : shape.chunk;
    std::uint32_t bytes = n * P::bytes;
    left -= n;
    if (P::has_tail && left == 0) bytes -= tail_short;
    if (lane == 0) {
      barrier_expect(barrier, bytes);
      copy_bulk(memory + to, next, bytes, barrier);
    }
    if (left != 0) {
      next += n * P::bytes;
      return;
    }
    left = count;
    next_tile += step;
    if (shape.single) {
      next = tile_at += tile_stride;
    } else if (next_tile < tiles) {
      next = tile_begin(next_tile);
    }
  }

  LW_DEVICE_INSIDE void add_chunk(Mode& mode, const FragX& x, const FragTables<F>& tables, const std::uint8_t* at,
                                  std::uint32_t from, std::uint32_t n) {
    LW_NO_UNROLL
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint8_t* tile = at + i * P::bytes;
      if constexpr (P::has_tail) {
        if (from + i + 1 == shape.cols && tail_groups() != 0) {
          const std::uint64_t stride = tail_groups() * 32 / F::elements * F::bytes;
          FragPacker<F>::pack(RawTile{tile, stride, frag_rows, tail_groups()}, scratch);
          sync_warp();
          tile = scratch;
        }
      }
      FragTile<F> w;
      w.tables = &tables;
      w.load(tile, Mode::all_nibbles);
      mode.add_block(w, x, from + i);
    }
  }

  // The outputs of `n` tiles from `tile` on; by the whole group.
  LW_DEVICE_INSIDE void finish(const float* sums, std::uint32_t tile, std::uint32_t n, bool poisoned) {
    const std::uint32_t thread = thread_index() % group_threads;
    LW_NO_UNROLL
    for (std::uint32_t i = thread; i < n * Mode::outputs; i += group_threads) {
      const std::uint32_t index = i / Mode::outputs;
      const std::uint32_t output = i % Mode::outputs;
      const float* r = sums + index * group_warps * Mode::outputs + output;
      float eighths[8];
      LW_UNROLL
      for (std::uint32_t g = 0; g < 8; ++g) eighths[g] = r[g * Mode::outputs];
      float y = fold_eighths(eighths);
      if (poisoned) y = float_of(0x7FC00000U);
      const std::uint32_t token = output % Mode::window;
      const std::uint32_t at = tile + index * step;
      if (shape.single) {  // the way below is a hundred instructions longer
        const Target& target = launch.targets[0];
        const std::uint64_t row = std::uint64_t{at} * frag_rows + output / Mode::window;
        if (row < target.rows && token < launch.tokens) {
          store_element(target.y, token * target.y_stride + row, launch.dtype, y);
        }
        continue;
      }
      const Place place = find_place(launch, frag_rows, shape.tiles, at);
      const Target& target = launch.targets[place.target];
      const std::uint64_t row = place.row + output / Mode::window;
      if (row < target.rows && token < launch.tokens) {
        store_output(launch, target, row, token, y, false, place.expert);
      }
    }
  }
};

// In what form a kernel takes the sums of x.
template <class F, class Mode>
struct FragXSums {
  static constexpr bool digits = Mode::mins_by_product || Mode::offset_by_product;
  static constexpr bool joined = F::has_min && Mode::joins && !digits;
  static constexpr bool any = joined || digits || F::offset != 0;
};

// The slice of x on its way to shared memory. Each trip to the L2 cache is a good part of a small product's time, so
// all that a slice of K = 4096 needs is asked for at once, before anything is waited for. The codes of several tokens,
// 64 KB of them, come by bulk copies (2560x640 in Q4_K at eight tokens: 4.23 -> 3.64 us); one token's are few, and
// gain nothing by it.
template <class F, class Mode>
struct FragXLoad {
  using Sums = FragXSums<F, Mode>;
  const Launch& launch;
  const FragShape& shape;
  std::uint8_t* memory;
  std::uint32_t slots, columns;

  static constexpr bool by_copy = Mode::x_shared && Mode::window > 1;
  // Beside a grid, which all threads lay out, one token's x is brought by eight warps of its own, or by the last group
  // where there are as many as can be: the threads from shape.x_first on (IQ2_XXS 2560x640: 3.62 -> 3.30 us; formats
  // without a grid lose by it).
  static constexpr bool apart = Mode::window == 1 && F::grid_entries != 0;
  static constexpr bool sums_by_copy = by_copy && Sums::digits;
  static constexpr bool sums_by_load = Mode::x_shared && Sums::any && !sums_by_copy;
  // The warp that asks for copies: one that has as few super-blocks as any.
  static constexpr std::uint32_t copier = group_warps - 1;
  // Pieces and words of a thread under way at once: what is asked for later waits behind the weights (14336x4096 in
  // Q4_K at one token, with two pieces 11.6 us, with four 10.0). One token's sums come in pairs of planes.
  static constexpr std::uint32_t many_codes = Mode::window == 1 ? 4 : 1;
  static constexpr std::uint32_t many_sums = Mode::window > 1 ? 8 : FragFacts<F>::narrow ? 2 : 1;

  std::uint32_t poisoned = 0;
  uint4 first_codes[many_codes]{};
  std::uint32_t first_power = 0;
  uint2 first_sums[many_sums]{};

  LW_DEVICE_CONST std::uint32_t from() const { return apart ? thread_index() - shape.x_first : thread_index(); }
  LW_DEVICE_CONST std::uint32_t step() const { return apart ? block_threads() - shape.x_first : block_threads(); }
  LW_DEVICE_CONST std::uint32_t code_pieces() const { return shape.cols * 16U * columns; }  // of 16 bytes
  LW_DEVICE_CONST std::uint32_t powers() const { return shape.cols * slots; }
  LW_DEVICE_CONST std::uint32_t sum_count() const {
    if constexpr (Sums::digits) return shape.cols * Mode::planes * 8 * slots;
    return shape.cols * FragFacts<F>::groups * (Sums::joined || Mode::window == 1 ? slots : columns);
  }
  // Asked for only: nothing is done with what isn't there yet, since weights are to be asked for first.
  LW_DEVICE_INSIDE void ask_sum(std::uint32_t n, std::uint32_t i) {
    const auto* const sums = reinterpret_cast<const std::uint32_t*>(shape.sums);
    if constexpr (Mode::window == 1) {
      first_sums[n] = load2(sums + std::uint64_t{i} * 2);
    } else if constexpr (Sums::joined) {
      const std::uint32_t* group = sums + i / slots * columns;
      first_sums[n].x = load1(group + image_column(slots, Mode::planes, i % slots, 0));
      first_sums[n].y = load1(group + image_column(slots, Mode::planes, i % slots, 1));
    } else {
      first_sums[n].x = load1(sums + i);
    }
  }
  LW_DEVICE_INSIDE void put_sum(std::int32_t* to, std::uint32_t n, std::uint32_t i) const {
    const auto low = static_cast<std::int32_t>(first_sums[n].x);
    const auto high = static_cast<std::int32_t>(first_sums[n].y);
    if constexpr (Sums::joined) {
      to[i] = low + 256 * high;
    } else if constexpr (Mode::window == 1) {
      to[2 * i] = F::offset * low;
      to[2 * i + 1] = F::offset * high;
    } else {
      to[i] = F::offset * low;
    }
  }
  LW_DEVICE_INSIDE void ask_code(std::uint32_t begin, std::uint32_t n) {
    const std::uint32_t i = begin + n * step();
    if (i < code_pieces()) first_codes[n] = load4(shape.codes + std::uint64_t{i} * 16);
  }
  LW_DEVICE_INSIDE void ask_codes(std::uint32_t begin) {
    ask_code(begin, 0);
    if constexpr (many_codes == 4) {
      ask_code(begin, 1);
      if (code_pieces() > 2 * step()) {  // from K = 8192 on
        ask_code(begin, 2);
        ask_code(begin, 3);
      }
    }
  }
  LW_DEVICE_INSIDE void ask_sums(std::uint32_t begin) {
    LW_UNROLL
    for (std::uint32_t n = 0; n < many_sums; ++n) {
      const std::uint32_t i = begin + n * step();
      if (i < sum_count()) ask_sum(n, i);
    }
  }
  // What comes by bulk copies.
  LW_DEVICE_INSIDE void copy(Barrier* full) {
    const std::uint32_t code_bytes = code_pieces() * 16;
    const std::uint32_t sum_bytes = sums_by_copy ? sum_count() * 4 : 0;
    barrier_expect(full, code_bytes + sum_bytes + powers() * 4);
    copy_bulk_kept(memory + shape.x_at, shape.codes, code_bytes, full);
    if constexpr (sums_by_copy) copy_bulk_kept(memory + shape.joined_at, shape.sums, sum_bytes, full);
    copy_bulk_kept(memory + shape.powers_at, shape.scale, powers() * 4, full);
  }
  LW_DEVICE_INSIDE void ask(std::uint32_t warp, Barrier* full) {
    if constexpr (by_copy) {
      if (warp == copier && thread_index() % 32 == 0) copy(full);
    }
    if constexpr (Mode::x_shared) {
      if (!apart || thread_index() >= shape.x_first) {
        if constexpr (!by_copy) {
          ask_codes(from());
          if (from() < powers()) first_power = load1(shape.scale + from() * 4);
        }
        if constexpr (sums_by_load) ask_sums(from());
      }
    }
    // A thread's outputs are all of one token. (Asked for with the rest: a load that queues behind the copies of
    // weights takes a microsecond.)
    poisoned = load1(shape.flags + thread_index() % Mode::window * 4);
  }
  // What was asked for to shared memory.
  LW_DEVICE_INSIDE void take() {
    if (apart && thread_index() < shape.x_first) return;
    if constexpr (!by_copy) {
      auto* to = reinterpret_cast<uint4*>(memory + shape.x_at);
      LW_NO_UNROLL
      for (std::uint32_t i = from(); i < code_pieces(); i += many_codes * step()) {
        if (i != from()) ask_codes(i);
        LW_UNROLL
        for (std::uint32_t n = 0; n < many_codes; ++n) {
          if (i + n * step() < code_pieces()) to[i + n * step()] = first_codes[n];
        }
      }
      auto* powers_to = reinterpret_cast<std::uint32_t*>(memory + shape.powers_at);
      LW_NO_UNROLL
      for (std::uint32_t i = from(); i < powers(); i += step()) {
        powers_to[i] = i == from() ? first_power : load1(shape.scale + std::uint64_t{i} * 4);
      }
    }
    if constexpr (sums_by_load) {
      auto* sums_to = reinterpret_cast<std::int32_t*>(memory + shape.joined_at);
      LW_NO_UNROLL
      for (std::uint32_t i = from(); i < sum_count(); i += many_sums * step()) {
        if (i != from()) ask_sums(i);
        LW_UNROLL
        for (std::uint32_t n = 0; n < many_sums; ++n) {
          if (i + n * step() < sum_count()) put_sum(sums_to, n, i + n * step());
        }
      }
    }
    if constexpr (Mode::window == 1) {
      auto* zeros = reinterpret_cast<std::uint32_t*>(memory + shape.zeros_at);
      if (from() < FragX::zero_bytes / 4) zeros[from()] = 0;
    }
  }
  LW_DEVICE_CONST FragX x() const {
    FragX x;
    x.slots = slots;
    x.columns = columns;
    x.sums = reinterpret_cast<const std::int32_t*>(shape.sums);
    x.joined = x.starts = nullptr;
    x.digits = nullptr;
    x.zeros = nullptr;
    if constexpr (!Mode::x_shared) {
      x.codes = shape.codes;
      x.powers = reinterpret_cast<const std::uint32_t*>(shape.scale);
    } else {
      x.codes = memory + shape.x_at;
      x.zeros = memory + shape.zeros_at;
      x.joined = reinterpret_cast<const std::int32_t*>(memory + shape.joined_at);
      x.starts = x.joined;
      x.digits = memory + shape.joined_at;
      x.powers = reinterpret_cast<const std::uint32_t*>(memory + shape.powers_at);
    }
    return x;
  }
};

template <class F, class Mode>
LW_DEVICE void frag_gemv(const Launch& launch, const FragShape& shape) {
  using P = FragPlan<F>;
  using Load = FragXLoad<F, Mode>;
  LW_SHARED_MEMORY(memory);
  const std::uint32_t thread = thread_index();
  const std::uint32_t warp = shuffle(thread / 32, 0);  // the same in all lanes, and known to be
  const std::uint32_t lane = thread % 32;

  const std::uint32_t group = warp / group_warps;
  const std::uint32_t stage_bytes = shape.chunk * P::bytes;
  const std::uint32_t ring = shape.rings_at + warp * shape.stages * stage_bytes;
  auto* const barriers = reinterpret_cast<Barrier*>(memory + shape.barriers_at);
  Barrier* const full = barriers + warp * shape.stages;
  Barrier* const x_full = barriers + shape.groups * group_warps * shape.stages;
  const bool apart = Load::apart && group == shape.groups;  // a warp that only brings x
  if (lane == 0 && !apart) {                                // first: the fence would wait for loads under way
    LW_NO_UNROLL
    for (std::uint32_t i = 0; i < shape.stages; ++i) barrier_init(&full[i], 1);
    if constexpr (Load::by_copy) {
      if (warp == Load::copier) barrier_init(x_full, 1);
    }
    barrier_publish();
  }
  sync_warp();
  FragGroup<F, Mode> me{launch, shape, memory};
  me.warp = warp % group_warps;
  me.first = block_index() + grid_blocks() * group;  // what is left over in the last round falls on different blocks
  me.step = grid_blocks() * shape.groups;
  me.begin = eighth_begin(me.warp, shape.cols);
  me.count = eighth_begin(me.warp + 1, shape.cols) - me.begin;
  if (apart) me.count = 0;

  me.tiles = shape.tiles;
  if (!shape.single && launch.route != nullptr) {
    wait_for_previous();  // which experts there are is known only once the launch before is done
    me.tiles = launch.route->bad != 0 ? 0 : shape.tiles * launch.route->count;
  }

  // Where x is in shared memory a window has its own kernel, and the slots are known when compiled.
  const std::uint32_t slots = Mode::x_shared ? Mode::window : image_slots(launch.tokens);
  Load loading{launch, shape, memory, slots, slots * Mode::planes};
  FragGrid<F> grid;
  if constexpr (F::grid_entries != 0) grid.ask();
  if (!shape.overlapped) {
    loading.ask(warp, x_full);
    me.start();
    LW_NO_UNROLL
    for (std::uint32_t i = 0; i < shape.stages; ++i) me.issue(lane, ring + i * stage_bytes, &full[i]);
  } else {
    // Only the first stage's weights before x, which would wait behind all of them (Q8_0 4096x4096 with an image of x
    // made for it: 8.86 -> 7.71 us).
    let_next_start();
    me.start();
    me.issue(lane, ring, &full[0]);
    wait_for_previous();
    loading.ask(warp, x_full);
    LW_NO_UNROLL
    for (std::uint32_t i = 1; i < shape.stages; ++i) me.issue(lane, ring + i * stage_bytes, &full[i]);
  }
  me.scratch = memory + shape.scratch_at + group * P::bytes;
  if constexpr (F::grid_entries != 0) grid.fill(memory);
  if constexpr (Mode::x_shared) loading.take();
  sync_block();
  if (apart) return;
  const FragX x = loading.x();
  if constexpr (Load::by_copy) barrier_wait(x_full, 0);

  float* sums =
      reinterpret_cast<float*>(memory + shape.sums_at) + group * 2 * shape.batch * group_warps * Mode::outputs;
  Mode mode;
  FragTables<F> tables;
  tables.set();
  std::uint32_t stage = 0;
  std::uint32_t at = ring;
  std::uint32_t parity = 0;
  bool second = false;
  LW_NO_UNROLL
  for (std::uint32_t tile = me.first; tile < me.tiles;) {
    std::uint32_t n = 0;
    float* out = sums + me.warp * Mode::outputs;
    const std::uint32_t from = tile;
    LW_NO_UNROLL
    do {
      LW_NO_UNROLL
      for (std::uint32_t done = 0; done < me.count;) {
        const std::uint32_t some = me.count - done < shape.chunk ? me.count - done : shape.chunk;
        barrier_wait(&full[stage], parity);
        me.add_chunk(mode, x, tables, memory + at, me.begin + done, some);
        done += some;
        sync_warp();
        me.issue(lane, at, &full[stage]);
        at += stage_bytes;
        if (++stage == shape.stages) {
          stage = 0;
          at = ring;
          parity ^= 1;
        }
      }
      mode.fold(out);
      out += group_warps * Mode::outputs;
      tile += me.step;
    } while (++n < shape.batch && tile < me.tiles);
    sync_group(group);
    me.finish(sums, from, n, loading.poisoned != 0);
    // Two batches take turns, so that no one waits for who is still storing.
    const std::uint32_t batch = shape.batch * group_warps * Mode::outputs;
    sums = second ? sums - batch : sums + batch;
    second = !second;
  }
}

template <class F, class Mode>
LW_KERNEL_TEXT void LW_LAUNCH_BOUNDS(Mode::most_groups* group_threads, 1)
    frag_kernel(const LW_GRID_CONSTANT FragShape shape, const LW_GRID_CONSTANT Launch launch) {
  frag_gemv<F, Mode>(launch, shape);
}

}  // namespace lanewise::cuda
