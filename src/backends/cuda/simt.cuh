// The plain family: rows as GGUF holds them, walked by dot products of quads, on every device. Thirty-two lanes or more
// have a row, 4 or 16 an eighth of it; each super-block is copied to shared memory by the lanes that read it, some
// steps ahead, where a word at any address costs little.
#pragma once

#include "backends/cuda/place.cuh"
#include "backends/cuda/simt_format.cuh"
#include "backends/cuda/simt_shape.h"
#include "backends/cuda/store.cuh"

namespace lanewise {
inline namespace LW_DECODE_SPACE {
namespace simt {

using namespace cuda;  // the machine's words

/// F(J).
LW_DEVICE float plane_value(const std::int32_t (&sums)[3], std::uint32_t planes) {
  float value = to_float(sums[0]);
  if (planes >= 2) value = add(value, multiply(256.0F, to_float(sums[1])));
  if (planes == 3) value = add(value, multiply(65536.0F, to_float(sums[2])));
  return value;
}

LW_DEVICE float capped_power(std::int32_t exponent) {
  if (exponent < -126) return 0.0F;
  if (exponent > 90) return float_of(0x7F800000u);
  return float_of(static_cast<std::uint32_t>(exponent + 127) << 23);
}

/// The slice of x, as a kernel reads it.
struct Slice {
  const std::uint8_t* base;
  ImageOffsets at;
  std::uint32_t slots, planes;

  LW_DEVICE_INSIDE explicit Slice(const Launch& launch)
      : base(launch.x),
        at(image_slots(launch.tokens), launch.planes, launch.blocks),
        slots(image_slots(launch.tokens)),
        planes(launch.planes) {}
  LW_DEVICE_CONST const std::uint8_t* codes(std::uint32_t b, std::uint32_t eight, std::uint32_t column) const {
    return base + at.codes + ((std::uint64_t{b} * 8 + eight) * (slots * planes) + column) * 32;
  }
  /// The sum of the group of `group` (16 or 32) elements with index `index` in the super-block.
  LW_DEVICE_CONST std::int32_t sum(std::uint32_t group, std::uint32_t b, std::uint32_t index,
                                   std::uint32_t column) const {
    const std::uint64_t array = group == 16 ? at.sums16 : at.sums32;
    const std::uint64_t place = (std::uint64_t{b} * (256 / group) + index) * (slots * planes) + column;
    return static_cast<std::int32_t>(load1(base + array + 4 * place));
  }
  LW_DEVICE_CONST float power(std::uint32_t b, std::uint32_t token) const {
    return float_of(load1(base + at.powers + 4 * (std::uint64_t{b} * slots + token)));
  }
  LW_DEVICE_CONST std::int32_t exponent(std::uint32_t b, std::uint32_t token) const {
    return static_cast<std::int32_t>(load1(base + at.exponents + 4 * (std::uint64_t{b} * slots + token)));
  }
};

/// `count` (1, 2, 4, or a multiple of 8) words of a plane, from quad `quad` of super-block b on.
template <std::uint32_t count>
LW_DEVICE void load_quads(const Slice& x, std::uint32_t b, std::uint32_t quad, std::uint32_t column,
                          std::uint32_t (&words)[count]) {
  if constexpr (count >= 4) {
    LW_UNROLL
    for (std::uint32_t i = 0; i < count; i += 4) {
      const uint4 four = load4(x.codes(b, (quad + i) / 8, column) + (quad + i) % 8 * 4);
      words[i] = four.x;
      words[i + 1] = four.y;
      words[i + 2] = four.z;
      words[i + 3] = four.w;
    }
  } else if constexpr (count == 2) {
    const uint2 two = load2(x.codes(b, quad / 8, column) + quad % 8 * 4);
    words[0] = two.x;
    words[1] = two.y;
  } else {
    words[0] = load1(x.codes(b, quad / 8, column) + quad % 8 * 4);
  }
}

/// The part of a d-group that a lane has, decoded.
template <class T, class Shape>
struct Decoded {
  std::uint32_t codes[Shape::quads];
  std::int32_t sub_scales[Shape::groups];
  std::int32_t sub_mins[Shape::groups];
  float d, m;
  std::int32_t exponent;

  /// From quad `first` of d-group `dgroup` of a block.
  LW_DEVICE_INSIDE void read(const std::uint8_t* bytes, std::uint32_t dgroup, std::uint32_t first) {
    const BlockWords<T> block(bytes);
    const std::uint32_t quad = dgroup * (Shape::dgroup / 4) + first;
    LW_UNROLL
    for (std::uint32_t i = 0; i < Shape::quads; ++i) codes[i] = block.quad(quad + i);
    LW_UNROLL
    for (std::uint32_t i = 0; i < Shape::groups; ++i) {
      const std::uint32_t group = quad / Shape::group_quads + i;
      sub_scales[i] = T::sc_parts != 0 ? block.sub_scale(group) : 1;
      sub_mins[i] = 0;
      if constexpr (T::info.has_min) {
        // Of lanes that share a group, the first counts its min.
        const bool mine = Shape::quads >= Shape::group_quads || quad % Shape::group_quads == 0;
        sub_mins[i] = mine ? block.sub_min(group) : 0;
      }
    }
    if constexpr (T::info.kind == FormatKind::EXP) {
      exponent = T::exponent(block.scale_bits(dgroup));
      d = 0;
    } else {
      d = T::d(block.scale_bits(dgroup));
      exponent = 0;
    }
    m = 0;
    if constexpr (T::info.has_min) m = T::m(block.min_bits(dgroup));
  }
};

/// What a lane needs to know of itself.
template <class Shape>
struct Lane {
  std::uint32_t g, chain, sharer;
};

/// The d-groups of super-block b that a lane has, of `Tile::rows` rows whose copies lie `row_stride` apart, for all
/// tokens. `counts`: that the super-block is one of the lane's eighth; where it isn't, all else goes on, as the lanes
/// of a warp exchange sums.
template <class T, class Shape, class Tile>
LW_DEVICE void add_super_block(const Launch& launch, const Slice& x, const Lane<Shape>& lane,
                               const std::uint8_t* const (&copies)[Tile::rows], std::uint32_t b, bool counts,
                               float (&a)[Tile::rows][Tile::tokens]) {
  constexpr std::uint32_t in_block = Shape::block_elements / Shape::dgroup;  // d-groups of a block
  LW_UNROLL
  for (std::uint32_t pass = 0; pass < Shape::passes; ++pass) {
    const std::uint32_t dgroup = pass * Shape::chains + lane.chain;
    const bool mine = counts && std::uint64_t{b} * 256 + dgroup * Shape::dgroup < launch.cols;
    const std::uint32_t first = lane.sharer * Shape::quads;
    const std::uint32_t quad = dgroup * (Shape::dgroup / 4) + first;
    Decoded<T, Shape> w[Tile::rows];
    LW_UNROLL
    for (std::uint32_t r = 0; r < Tile::rows; ++r) {
      w[r].read(copies[r] + dgroup / in_block * Shape::block_bytes, dgroup % in_block, first);
    }
    LW_UNROLL
    for (std::uint32_t t = 0; t < Tile::tokens; ++t) {
      if (t >= launch.tokens) break;
      std::int32_t sums[Tile::rows][3] = {};
      std::int32_t mins[Tile::rows][3] = {};
      LW_UNROLL
      for (std::uint32_t p = 0; p < 3; ++p) {
        if (p >= x.planes) break;
        const std::uint32_t column = image_column(x.slots, x.planes, t, p);
        std::uint32_t words[Shape::quads];
        load_quads<Shape::quads>(x, b, quad, column, words);
        LW_UNROLL
        for (std::uint32_t r = 0; r < Tile::rows; ++r) {
          LW_UNROLL
          for (std::uint32_t i = 0; i < Shape::groups; ++i) {
            std::int32_t dot = 0;
            LW_UNROLL
            for (std::uint32_t j = i * Shape::run; j < (i + 1) * Shape::run; ++j)
              dot = dot4(w[r].codes[j], words[j], dot);
            sums[r][p] += w[r].sub_scales[i] * dot;
          }
        }
        if constexpr (T::info.has_min) {
          LW_UNROLL
          for (std::uint32_t i = 0; i < Shape::groups; ++i) {
            const std::int32_t sum = x.sum(T::info.group, b, quad / Shape::group_quads + i, column);
            LW_UNROLL
            for (std::uint32_t r = 0; r < Tile::rows; ++r) mins[r][p] += w[r].sub_mins[i] * sum;
          }
        }
        LW_UNROLL
        for (std::uint32_t r = 0; r < Tile::rows; ++r) {
          LW_UNROLL
          for (std::uint32_t mask = 1; mask < Shape::sharers; mask *= 2) {
            sums[r][p] += shuffle_xor(sums[r][p], mask);
            if constexpr (T::info.has_min) mins[r][p] += shuffle_xor(mins[r][p], mask);
          }
        }
      }
      LW_UNROLL
      for (std::uint32_t r = 0; r < Tile::rows; ++r) {
        const float value = plane_value(sums[r], x.planes);
        float term;
        float min_term = 0;
        if constexpr (T::info.kind == FormatKind::EXP) {
          term = multiply(value, capped_power(w[r].exponent + x.exponent(b, t)));
        } else {
          const float power = x.power(b, t);
          term = multiply(multiply(w[r].d, value), power);
          if constexpr (T::info.has_min) min_term = multiply(multiply(w[r].m, plane_value(mins[r], x.planes)), power);
        }
        if (mine) {
          a[r][t] = add(a[r][t], term);
          if constexpr (T::info.has_min) a[r][t] = add(a[r][t], min_term);
        }
      }
    }
  }
}

/// r[g], in all lanes of the eighth.
template <class Shape>
LW_DEVICE float fold_chains(float a) {
  LW_UNROLL
  for (std::uint32_t mask = Shape::sharers; mask < Shape::lanes; mask *= 2) a = add(a, shuffle_xor(a, mask));
  return a;
}

/// Starts the copy of super-block b of a row, by the lanes of an eighth; what lies past the tensor's end isn't read.
template <class Shape>
LW_DEVICE void copy_super_block(std::uint8_t* to, const std::uint8_t* row, std::uint32_t b, const std::uint8_t* end,
                                std::uint32_t lane, bool counts) {
  const std::uint8_t* from = row + std::uint64_t{b} * Shape::super_bytes;
  from -= reinterpret_cast<std::uintptr_t>(from) & 15;
  LW_UNROLL
  for (std::uint32_t i = 0; i < Shape::pieces; i += Shape::lanes) {
    const std::uint32_t piece = i + lane;
    const std::uint8_t* const at = from + 16 * piece;
    if (!counts || piece >= Shape::pieces || at >= end) continue;
    const auto left = static_cast<std::uint64_t>(end - at);
    copy_async(to + 16 * piece, at, left < 16 ? static_cast<std::uint32_t>(left) : 16);
  }
}

/// The tile of rows at `place`.
template <class T, class Shape, class Tile>
LW_DEVICE void compute_tile(const Launch& launch, const Place& place, std::uint8_t* copies, float* sums, bool& waited) {
  const std::uint32_t thread = thread_index();
  const std::uint32_t unit = thread / Shape::lanes;
  const std::uint32_t in_unit = thread % Shape::lanes;
  const Lane<Shape> lane{unit % 8, in_unit / Shape::sharers, in_unit % Shape::sharers};
  const std::uint64_t rows = launch.targets[place.target].rows;
  const std::uint64_t row_bytes = launch.cols / Shape::block_elements * Shape::block_bytes;
  const std::uint8_t* const end = place.w + rows * row_bytes;
  // Rows past the last are walked as the last one: nothing of them is stored.
  const std::uint8_t* row[Tile::rows];
  LW_UNROLL
  for (std::uint32_t r = 0; r < Tile::rows; ++r) {
    const std::uint64_t index = place.row + unit / 8 * Tile::rows + r;
    row[r] = place.w + (index < rows ? index : rows - 1) * row_bytes;
  }
  const std::uint32_t blocks = launch.blocks;
  const auto begin = static_cast<std::uint32_t>((std::uint64_t{lane.g} * blocks + 7) / 8);
  const auto stop = static_cast<std::uint32_t>((std::uint64_t{lane.g + 1} * blocks + 7) / 8);
  const std::uint32_t steps = blocks / 8 + (blocks % 8 != 0 ? 1 : 0);  // of the longest eighth
  std::uint8_t* const own = copies + unit * Tile::rows * Shape::chunk;
  constexpr std::uint32_t stages = simt_stages<Shape, Tile>();
  constexpr std::uint32_t stage_bytes = Tile::units * Tile::rows * Shape::chunk;
  const auto copy = [&](std::uint32_t step) {
    LW_UNROLL
    for (std::uint32_t r = 0; r < Tile::rows; ++r) {
      copy_super_block<Shape>(own + step % stages * stage_bytes + r * Shape::chunk, row[r], begin + step, end, in_unit,
                              begin + step < stop);
    }
    copy_commit();
  };

  float a[Tile::rows][Tile::tokens] = {};
  for (std::uint32_t step = 0; step < stages - 1; ++step) copy(step);
  if (!waited) wait_for_previous();
  waited = true;
  const Slice x(launch);
  LW_NO_UNROLL
  for (std::uint32_t step = 0; step < steps; ++step) {
    sync_warp();  // all have read what the next copy overwrites
    copy(step + stages - 1);
    copy_wait<stages - 1>();
    sync_warp();
    const std::uint32_t b = begin + step < blocks ? begin + step : blocks - 1;
    const std::uint8_t* here[Tile::rows];
    LW_UNROLL
    for (std::uint32_t r = 0; r < Tile::rows; ++r) {
      const std::uint8_t* const from = row[r] + std::uint64_t{b} * Shape::super_bytes;
      here[r] = own + step % stages * stage_bytes + r * Shape::chunk + (reinterpret_cast<std::uintptr_t>(from) & 15);
    }
    add_super_block<T, Shape, Tile>(launch, x, lane, here, b, begin + step < stop, a);
  }
  copy_wait<0>();

  LW_UNROLL
  for (std::uint32_t r = 0; r < Tile::rows; ++r) {
    LW_UNROLL
    for (std::uint32_t t = 0; t < Tile::tokens; ++t) {
      const float folded = fold_chains<Shape>(a[r][t]);
      if (in_unit == 0) sums[((unit / 8 * Tile::rows + r) * Tile::tokens + t) * 8 + lane.g] = folded;
    }
  }
  sync_block();
  const auto* const poisoned = reinterpret_cast<const std::uint32_t*>(launch.x + x.at.poisoned);
  for (std::uint32_t i = thread; i < Tile::block_rows * Tile::tokens; i += simt_threads) {
    const std::uint64_t index = place.row + i / Tile::tokens;
    const std::uint32_t t = i % Tile::tokens;
    if (index >= rows || t >= launch.tokens) continue;
    float r[8];
    LW_UNROLL
    for (std::uint32_t g = 0; g < 8; ++g) r[g] = sums[i * 8 + g];
    store_output(launch, launch.targets[place.target], index, t, fold_eighths(r), poisoned[t] != 0, place.expert);
  }
  sync_block();
}

template <class T, class Grid, class Tile>
LW_KERNEL_TEXT void LW_LAUNCH_BOUNDS(simt_threads, Tile::tokens == 1 ? 4 : 3)
    simt_kernel(LW_GRID_CONSTANT const Launch launch) {
  using Shape = SimtShape<T, Tile::lanes>;
  LW_SHARED_MEMORY(memory);
  let_next_start();
  auto* const table = reinterpret_cast<std::uint32_t*>(memory);
  if constexpr (T::info.has_grid) {
    for (std::uint32_t i = thread_index(); i < Grid::words; i += simt_threads) table[i] = Grid::word(i);
    sync_block();
  }
  auto* const sums = reinterpret_cast<float*>(table + Grid::words);
  std::uint8_t* const copies = memory + (Grid::words + Tile::sums) * 4;
  const std::uint64_t tiles = count_tiles(launch, Tile::block_rows);
  std::uint64_t all = tiles;
  bool waited = false;
  if (launch.route != nullptr) {
    wait_for_previous();
    waited = true;
    all = launch.route->bad != 0 ? 0 : tiles * launch.route->count;
  }
  LW_NO_UNROLL
  for (std::uint64_t tile = block_index(); tile < all; tile += grid_blocks()) {
    compute_tile<T, Shape, Tile>(launch, find_place(launch, Tile::block_rows, tiles, tile), copies, sums, waited);
  }
}

}  // namespace simt
}  // namespace LW_DECODE_SPACE
}  // namespace lanewise
