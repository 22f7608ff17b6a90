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
  std::uint64_t skip = 0;        // from the end of this group's tile to its next, where there is one target
  std::uint32_t tail_short = 0;  // bytes that the eighth's last super-block lacks

  LW_DEVICE_CONST std::uint32_t tail_groups() const { return static_cast<std::uint32_t>(launch.cols % frag_cols / 32); }
  LW_DEVICE_CONST bool is_single() const { return launch.count == 1 && launch.route == nullptr; }
  LW_DEVICE_CONST std::uint64_t tile_row_bytes() const { return launch.cols / F::elements * F::bytes * frag_rows; }
  LW_DEVICE_CONST const std::uint8_t* tile_begin(std::uint32_t tile) const {
    const Place place = find_place(launch, frag_rows, shape.tiles, tile);
    return place.w + place.row / frag_rows * tile_row_bytes() + begin * std::uint64_t{P::bytes};
  }
  // Asks for the first chunks, one a stage, by as many lanes; and leaves lane 0 with what comes next. Most of a small
  // product's time is over before its weights arrive, so that this is done before all else and by all lanes at once:
  // one copy after the other took 400 cycles each.
  LW_DEVICE_INSIDE void start(std::uint32_t lane, std::uint32_t ring, std::uint32_t stage_bytes, Barrier* full) {
    if (P::has_tail && begin + count == launch.blocks && tail_groups() != 0) {
      tail_short = P::bytes - tail_groups() * 32 / F::elements * F::bytes * frag_rows;
    }
    skip = tile_row_bytes() * step - count * std::uint64_t{P::bytes};
    // The lane's copy is number `lane` of the warp's: of which tile, and how far into it.
    const std::uint32_t copies = count == launch.blocks / 8 ? shape.least_copies : shape.most_copies;  // of a tile
    std::uint32_t done = lane;
    next_tile = count == 0 ? tiles : first;
    LW_UNROLL
    for (std::uint32_t i = 0; i < most_stages; ++i) {
      if (done < copies) break;
      done -= copies;
      next_tile += count == 0 ? 0 : step;
    }
    done *= shape.chunk;
    left = count - done;
    if (next_tile < tiles) next = tile_begin(next_tile) + done * std::uint64_t{P::bytes};
    if (lane < shape.stages) issue(ring + lane * stage_bytes, &full[lane]);
    // After the last stage's.
    next_tile = shuffle(next_tile, shape.stages);
    left = shuffle(left, shape.stages);
    const auto place = reinterpret_cast<std::uintptr_t>(next);
    const std::uint64_t low = shuffle(static_cast<std::uint32_t>(place), shape.stages);
    const std::uint64_t high = shuffle(static_cast<std::uint32_t>(place >> 32), shape.stages);
    next = reinterpret_cast<const std::uint8_t*>(low | high << 32);
  }
  // One lane: asks for the next chunk into the stage at `to` of shared memory, if there is one. Kept short: a warp does
  // this for every chunk, and all of it waits.
  LW_DEVICE_INSIDE void issue(std::uint32_t to, Barrier* barrier) {
    if (next_tile >= tiles) return;
    const std::uint32_t n = left < shape.chunk ? left : shape.chunk;
    std::uint32_t bytes = n * P::bytes;
    if (P::has_tail && left == n) bytes -= tail_short;
    barrier_expect(barrier, bytes);
    copy_bulk(memory + to, next, bytes, barrier);
  }
  // What follows it.
  LW_DEVICE_INSIDE void advance() {
    if (next_tile >= tiles) return;
    const std::uint32_t n = left < shape.chunk ? left : shape.chunk;
    next += n * std::uint64_t{P::bytes};
    left -= n;
    if (left != 0) return;
    left = count;
    next_tile += step;
    if (is_single()) {
      next += skip;
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
        if (from + i + 1 == launch.blocks && tail_groups() != 0) {
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
      const float y = fold_eighths(eighths);
      const Place place = find_place(launch, frag_rows, shape.tiles, tile + index * step);
      const Target& target = launch.targets[place.target];
      const std::uint64_t row = place.row + output / Mode::window;
      const std::uint32_t token = output % Mode::window;
      if (row < target.rows && token < launch.tokens) {
        store_output(launch, target, row, token, y, poisoned, place.expert);
      }
    }
  }
};

// The slice of x on its way to shared memory. Each trip to the L2 cache is a good part of a small product's time, so
// all that a slice of K = 4096 needs is asked for at once, before anything is waited for.
template <class F, class Mode>
struct FragXLoad {
  const Launch& launch;
  const FragShape& shape;
  std::uint8_t* memory;
  std::uint32_t slots, columns;
  const std::uint32_t* scale = nullptr;
  const std::int32_t* sums = nullptr;  // or words of digits
  const std::uint8_t* codes = nullptr;
  const std::uint32_t* flags = nullptr;

  static constexpr bool digits = Mode::mins_by_product || Mode::offset_by_product;
  static constexpr bool joined = F::has_min && Mode::joins && !digits;
  static constexpr bool has_sums = joined || digits || F::offset != 0;
  // Pieces and words of a thread under way at once.
  static constexpr std::uint32_t many_codes = Mode::window == 1 ? 2 : Mode::window;
  static constexpr std::uint32_t many_sums = Mode::window == 1 ? 2 : digits ? 4 : 8;

  std::uint32_t poisoned = 0;
  uint4 first_codes[many_codes]{};
  std::uint32_t first_power = 0;
  std::uint32_t first_sums[many_sums]{};
  std::uint32_t first_high[joined ? many_sums : 1]{};

  LW_DEVICE_INSIDE void locate() {
    const ImageOffsets at(slots, Mode::planes, launch.blocks);
    scale = reinterpret_cast<const std::uint32_t*>(launch.x + (F::exponent_scale ? at.exponents : at.powers));
    const std::uint64_t narrow = digits ? at.digits16 : at.sums16;
    const std::uint64_t wide = digits ? at.digits32 : at.sums32;
    sums = reinterpret_cast<const std::int32_t*>(launch.x + (FragFacts<F>::narrow ? narrow : wide));
    codes = launch.x + (FragPlan<F>::halves ? at.halves : at.codes);
    flags = reinterpret_cast<const std::uint32_t*>(launch.x + at.poisoned);
  }
  LW_DEVICE_CONST std::uint32_t code_pieces() const { return launch.blocks * 16U * columns; }  // of 16 bytes
  LW_DEVICE_CONST std::uint32_t powers() const { return launch.blocks * slots; }
  LW_DEVICE_CONST std::uint32_t sum_count() const {
    if constexpr (digits) return launch.blocks * Mode::planes * 8 * slots;
    return launch.blocks * FragFacts<F>::groups * (joined ? slots : columns);
  }
  // Asked for only: nothing is done with what isn't there yet, since weights are to be asked for first.
  LW_DEVICE_INSIDE void ask_sum(std::uint32_t n, std::uint32_t i) {
    if constexpr (joined) {
      const std::int32_t* group = sums + i / slots * columns;
      first_sums[n] = load1(group + image_column(slots, Mode::planes, i % slots, 0));
      first_high[n] = load1(group + image_column(slots, Mode::planes, i % slots, 1));
    } else {
      first_sums[n] = load1(sums + i);
    }
  }
  LW_DEVICE_CONST std::int32_t sum(std::uint32_t n) const {
    const auto low = static_cast<std::int32_t>(first_sums[n]);
    if constexpr (joined) return low + 256 * static_cast<std::int32_t>(first_high[n]);
    return digits ? low : F::offset * low;
  }
  LW_DEVICE_INSIDE void ask_codes(std::uint32_t from) {
    LW_UNROLL
    for (std::uint32_t n = 0; n < many_codes; ++n) {
      const std::uint32_t i = from + n * block_threads();
      if (i < code_pieces()) first_codes[n] = load4(codes + 16ULL * i);
    }
  }
  LW_DEVICE_INSIDE void ask_sums(std::uint32_t from) {
    LW_UNROLL
    for (std::uint32_t n = 0; n < many_sums; ++n) {
      const std::uint32_t i = from + n * block_threads();
      if (i < sum_count()) ask_sum(n, i);
    }
  }
  LW_DEVICE_INSIDE void ask() {
    // A thread's outputs are all of one token. (Asked for with the rest: a load that queues behind the copies of
    // weights takes a microsecond.)
    poisoned = load1(flags + thread_index() % Mode::window);
    if constexpr (Mode::x_shared) {
      ask_codes(thread_index());
      if (thread_index() < powers()) first_power = load1(scale + thread_index());
      if constexpr (has_sums) ask_sums(thread_index());
    }
  }
  LW_DEVICE_INSIDE void take(FragX& x) {
    x.slots = slots;
    x.columns = columns;
    x.sums = sums;
    x.joined = x.starts = nullptr;
    x.digits = nullptr;
    x.zeros = nullptr;
    if constexpr (!Mode::x_shared) {
      x.codes = codes;
      x.powers = scale;
    } else {
      const std::uint32_t step = block_threads();
      auto* to = reinterpret_cast<uint4*>(memory + shape.x_at);
      LW_NO_UNROLL
      for (std::uint32_t i = thread_index(); i < code_pieces(); i += many_codes * step) {
        if (i != thread_index()) ask_codes(i);
        LW_UNROLL
        for (std::uint32_t n = 0; n < many_codes; ++n) {
          if (i + n * step < code_pieces()) to[i + n * step] = first_codes[n];
        }
      }
      auto* powers_to = reinterpret_cast<std::uint32_t*>(memory + shape.powers_at);
      for (std::uint32_t i = thread_index(); i < powers(); i += step) {
        powers_to[i] = i == thread_index() ? first_power : load1(scale + i);
      }
      if constexpr (has_sums) {
        auto* sums_to = reinterpret_cast<std::int32_t*>(memory + shape.joined_at);
        LW_NO_UNROLL
        for (std::uint32_t i = thread_index(); i < sum_count(); i += many_sums * step) {
          if (i != thread_index()) ask_sums(i);
          LW_UNROLL
          for (std::uint32_t n = 0; n < many_sums; ++n) {
            if (i + n * step < sum_count()) sums_to[i + n * step] = sum(n);
          }
        }
      }
      if constexpr (Mode::window == 1) {
        auto* zeros = reinterpret_cast<std::uint32_t*>(memory + shape.zeros_at);
        if (thread_index() < FragX::zero_bytes / 4) zeros[thread_index()] = 0;
      }
      x.codes = memory + shape.x_at;
      x.zeros = memory + shape.zeros_at;
      x.joined = reinterpret_cast<const std::int32_t*>(memory + shape.joined_at);
      x.starts = x.joined;
      x.digits = memory + shape.joined_at;
      x.powers = reinterpret_cast<const std::uint32_t*>(memory + shape.powers_at);
    }
  }
};

template <class F, class Mode>
LW_DEVICE void frag_gemv(const Launch& launch, const FragShape& shape) {
  using P = FragPlan<F>;
  LW_SHARED_MEMORY(memory);
  const std::uint32_t thread = thread_index();
  const std::uint32_t group = thread / group_threads;
  const std::uint32_t warp = thread / 32;
  const std::uint32_t lane = thread % 32;

  const std::uint32_t stage_bytes = shape.chunk * P::bytes;
  const std::uint32_t ring = shape.rings_at + warp * shape.stages * stage_bytes;
  auto* const full = reinterpret_cast<Barrier*>(memory + shape.barriers_at) + warp * shape.stages;
  if (lane < shape.stages) {  // first: the fence would wait for loads under way
    barrier_init(&full[lane], 1);
    barrier_publish();
  }
  sync_warp();
  FragGroup<F, Mode> me{launch, shape, memory};
  me.warp = warp % group_warps;
  me.first = block_index() + grid_blocks() * group;  // what is left over in the last round falls on different blocks
  me.step = grid_blocks() * shape.groups;
  me.begin = eighth_begin(me.warp, launch.blocks);
  me.count = eighth_begin(me.warp + 1, launch.blocks) - me.begin;
  me.scratch = memory + shape.scratch_at + group * P::bytes;

  me.tiles = shape.tiles;
  if (launch.route != nullptr) {  // which experts there are is known only once the launch before is done
    wait_for_previous();
    me.tiles = launch.route->bad != 0 ? 0 : shape.tiles * launch.route->count;
  }

  // Where x is in shared memory a window has its own kernel, and the slots are known when compiled.
  const std::uint32_t slots = Mode::x_shared ? Mode::window : image_slots(launch.tokens);
  FragXLoad<F, Mode> loading{launch, shape, memory, slots, slots * Mode::planes};
  loading.locate();
  if (!launch.overlapped) loading.ask();
  FragGrid<F> grid;
  if constexpr (F::grid_entries != 0) grid.ask();
  me.start(lane, ring, stage_bytes, full);
  if constexpr (F::grid_entries != 0) grid.fill(memory);
  if (launch.overlapped) {
    let_next_start();
    wait_for_previous();
    loading.ask();
  }
  FragX x;
  loading.take(x);
  sync_block();

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
        if (lane == 0) {
          me.issue(at, &full[stage]);
          me.advance();
        }
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
