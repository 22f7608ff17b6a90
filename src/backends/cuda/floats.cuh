// Float weights: 64 chains an eighth, each in ascending k (docs/arithmetic.md, section 5).
//
// 64 / width lanes have a stretch of 64 elements, `width` each; the rest of the warp has other rows of the same
// stretch, and each lane `rows` of them, so that a value of x that was read serves them all. A warp walks whole
// eighths; the `splits` warps that share rows have their own. Rows and x come to shared memory a super-block at a time,
// some steps ahead; x is shared by the warps of a split, so the block goes in step.
//
// The fold by halves meets 64 / width lanes, and a lane holds an accumulator for each row, token and element. Lanes
// that meet would each have to choose what to keep: instead a lane keeps its rows and tokens in an order of its own
// (slot i holds output i ^ order), in which what it keeps has the lower slots, whichever side it is on.
#pragma once

#include "backends/cuda/place.cuh"
#include "backends/cuda/store.cuh"
#include "formats/traits_row.h"

namespace lanewise {
inline namespace LW_DECODE_SPACE {
namespace floats {

using namespace cuda;  // the machine's words

inline constexpr std::uint32_t most_warps = 8;

/// `tokens` 1, 4 or 8: x of so many is multiplied, whether the slice has them or not.
template <class T, std::uint32_t tokens_>
struct Shape {
  static constexpr std::uint32_t tokens = tokens_;
  static constexpr std::uint32_t bytes = T::info.block_bytes;
  static constexpr std::uint32_t width = bytes == 2 && tokens == 1 ? 8 : 4;
  static constexpr std::uint32_t lanes = 64 / width;
  static constexpr std::uint32_t rows = width == 8 ? 2 : 4;      ///< of a lane
  static constexpr std::uint32_t warp_rows = 32 / lanes * rows;  ///< 8
  static constexpr std::uint32_t outputs = rows * tokens;
  static constexpr std::uint32_t row_bytes = 256 * bytes;          ///< of a super-block of a row
  static constexpr std::uint32_t w_bytes = warp_rows * row_bytes;  ///< of a warp
  static constexpr std::uint32_t x_bytes = tokens * 1024;          ///< of a split
  /// Whether w * xq is exact in fp32.
  static constexpr bool exact = bytes == 2;
};

/// What the launch chose.
struct Plan {
  std::uint32_t warps;   ///< of a block: 1, 2, 4, 8
  std::uint32_t splits;  ///< of K, at most as many
  std::uint32_t stages;  ///< 2 to 4
};

template <class S>
LW_BOTH std::uint32_t block_rows_of(const Plan& plan) {
  return plan.warps / plan.splits * S::warp_rows;
}
template <class S>
LW_BOTH std::uint32_t stage_bytes(const Plan& plan) {
  return plan.warps * S::w_bytes + plan.splits * S::x_bytes;
}
template <class S>
LW_BOTH std::uint32_t sums_bytes(const Plan& plan) {
  return block_rows_of<S>(plan) * S::tokens * 8 * 4;
}

LW_DEVICE float limited_weight(float w) {
  const float magnitude = float_of(bits_of(w) & 0x7FFFFFFFu);
  if (magnitude < float_of(0x20000000u)) return 0.0F;                                                 // 2^-63
  if (magnitude >= float_of(0x5F000000u)) return float_of((bits_of(w) & 0x80000000u) | 0x7F800000u);  // 2^63
  return w;
}

/// `width` weights from shared memory.
template <class T, class S>
LW_DEVICE void read_weights(const std::uint8_t* at, float (&w)[S::width]) {
  if constexpr (S::bytes == 4) {
    const uint4 four = *reinterpret_cast<const uint4*>(at);
    w[0] = limited_weight(float_of(four.x));
    w[1] = limited_weight(float_of(four.y));
    w[2] = limited_weight(float_of(four.z));
    w[3] = limited_weight(float_of(four.w));
  } else {
    std::uint32_t pairs[S::width / 2];
    if constexpr (S::width == 8) {
      const uint4 four = *reinterpret_cast<const uint4*>(at);
      pairs[0] = four.x;
      pairs[1] = four.y;
      pairs[2] = four.z;
      pairs[3] = four.w;
    } else {
      const uint2 two = *reinterpret_cast<const uint2*>(at);
      pairs[0] = two.x;
      pairs[1] = two.y;
    }
    if constexpr (T::info.format == Format::F16) {
      LW_UNROLL
      for (std::uint32_t i = 0; i < S::width / 2; ++i) {
        w[2 * i] = half_value(pairs[i] & 0xFFFFu);
        w[2 * i + 1] = half_value(pairs[i] >> 16);
      }
    } else {
      // The usual weight has an exponent of 64 to 127 (2^-63 <= |w| < 2); only others need the limits.
      std::uint32_t unusual = 0;
      LW_UNROLL
      for (std::uint32_t i = 0; i < S::width / 2; ++i) {
        unusual |= pairs[i] ^ 0x20002000u;
        w[2 * i] = float_of(pairs[i] << 16);
        w[2 * i + 1] = float_of(pairs[i] & 0xFFFF0000u);
      }
      if ((unusual & 0x60006000u) != 0) {
        LW_UNROLL
        for (std::uint32_t i = 0; i < S::width; ++i) w[i] = limited_weight(w[i]);
      }
    }
  }
}

/// Where a lane stands.
template <class S>
struct Lane {
  std::uint32_t warp, split, group;  ///< group: of the warps with the same rows
  std::uint32_t place;               ///< of its elements in a stretch: width * place
  std::uint32_t other;               ///< which of the warp's sets of rows
  std::uint32_t order;               ///< of its outputs, row + rows * token
  LW_DEVICE_INSIDE explicit Lane(std::uint32_t splits)
      : warp(thread_index() / 32),
        split(warp % splits),
        group(warp / splits),
        place(thread_index() % S::lanes),
        other(thread_index() % 32 / S::lanes),
        order(0) {
    std::uint32_t bit = S::outputs / 2;
    LW_UNROLL
    for (std::uint32_t mask = S::lanes / 2; mask != 0; mask /= 2, bit /= 2) {
      if ((place & mask) != 0) order |= bit;
    }
  }
};

/// A super-block of the lane's rows, which lie at `w`, with x of the split.
template <class T, class S>
LW_DEVICE void add_super_block(const Lane<S>& lane, const std::uint8_t* w, const float* x,
                               float (&a)[S::outputs][S::width]) {
  const std::uint32_t row_order = lane.order % S::rows;
  const std::uint32_t token_order = lane.order / S::rows;
  LW_UNROLL
  for (std::uint32_t stretch = 0; stretch < 4; ++stretch) {
    const std::uint32_t k = stretch * 64 + lane.place * S::width;
    float weights[S::rows][S::width];
    LW_UNROLL
    for (std::uint32_t r = 0; r < S::rows; ++r) {
      const std::uint32_t row = lane.other * S::rows + (r ^ row_order);
      read_weights<T, S>(w + row * S::row_bytes + k * S::bytes, weights[r]);
    }
    LW_UNROLL
    for (std::uint32_t t = 0; t < S::tokens; ++t) {
      const float* const values = x + (t ^ token_order) * 256 + k;
      LW_UNROLL
      for (std::uint32_t i = 0; i < S::width; i += 4) {
        const uint4 four = *reinterpret_cast<const uint4*>(values + i);
        const float xq[4] = {float_of(four.x), float_of(four.y), float_of(four.z), float_of(four.w)};
        LW_UNROLL
        for (std::uint32_t r = 0; r < S::rows; ++r) {
          LW_UNROLL
          for (std::uint32_t j = 0; j < 4; ++j) {
            float& sum = a[t * S::rows + r][i + j];
            if constexpr (S::exact) {
              sum = add_exact_product(weights[r][i + j], xq[j], sum);
            } else {
              sum = add(sum, multiply(weights[r][i + j], xq[j]));
            }
          }
        }
      }
    }
  }
}

/// A step of the fold between lanes: those `mask` apart each keep one half of their `have` outputs; of a single one
/// both sides have the sum.
template <class S, std::uint32_t mask, std::uint32_t have>
LW_DEVICE void fold_lanes(float (&a)[S::outputs][S::width]) {
  if constexpr (mask != 0) {
    constexpr std::uint32_t keep = have > 1 ? have / 2 : 1;
    LW_UNROLL
    for (std::uint32_t i = 0; i < keep; ++i) {
      LW_UNROLL
      for (std::uint32_t j = 0; j < S::width; ++j) {
        a[i][j] = add(a[i][j], shuffle_xor(a[have > 1 ? i + keep : i][j], mask));
      }
    }
    fold_lanes<S, mask / 2, keep>(a);
  }
}
template <class S, std::uint32_t half>
LW_DEVICE void fold_elements(float (&a)[S::width]) {
  if constexpr (half != 0) {
    LW_UNROLL
    for (std::uint32_t j = 0; j < half; ++j) a[j] = add(a[j], a[j + half]);
    fold_elements<S, half / 2>(a);
  }
}

/// r[g] of the lane's outputs to `sums` ([row of the warp][token][8]), and the accumulators back to zero.
template <class S>
LW_DEVICE void fold_eighth(const Lane<S>& lane, std::uint32_t g, float* sums, float (&a)[S::outputs][S::width]) {
  fold_lanes<S, S::lanes / 2, S::outputs>(a);
  constexpr std::uint32_t left = S::outputs > S::lanes ? S::outputs / S::lanes : 1;
  constexpr std::uint32_t copies = S::lanes > S::outputs ? S::lanes / S::outputs : 1;  // lanes that have the same
  LW_UNROLL
  for (std::uint32_t i = 0; i < left; ++i) {
    fold_elements<S, S::width / 2>(a[i]);
    const std::uint32_t output = i ^ lane.order;
    const std::uint32_t row = lane.other * S::rows + output % S::rows;
    if (lane.place % copies == 0) sums[(row * S::tokens + output / S::rows) * 8 + g] = a[i][0];
  }
  LW_UNROLL
  for (std::uint32_t i = 0; i < S::outputs; ++i) {
    LW_UNROLL
    for (std::uint32_t j = 0; j < S::width; ++j) a[i][j] = 0;
  }
}

LW_DEVICE std::uint32_t eighth_begin(std::uint32_t g, std::uint32_t blocks) { return (g * blocks + 7) / 8; }

/// The copies of a warp: step by step its rows, tile by tile.
template <class S>
struct Copier {
  const Launch& launch;
  std::uint32_t block_rows;
  std::uint64_t tiles, all;   ///< of an expert; with all experts
  std::uint32_t steps;        ///< of a tile, for the whole block
  std::uint32_t first, stop;  ///< super-blocks of the warp's split
  std::uint32_t group, lane;
  std::uint64_t tile;
  std::uint32_t step;
  const std::uint8_t* from;  ///< the first row, at the step's super-block
  std::uint32_t rows;        ///< that there are

  LW_DEVICE_INSIDE void start(std::uint64_t at) {
    tile = at;
    step = 0;
    rows = 0;
    if (tile >= all) return;
    const Place place = find_place(launch, block_rows, tiles, tile);
    const std::uint64_t count = launch.targets[place.target].rows;
    const std::uint64_t index = place.row + group * S::warp_rows;
    if (index < count) rows = count - index < S::warp_rows ? static_cast<std::uint32_t>(count - index) : S::warp_rows;
    from = place.w + index * (launch.cols * S::bytes) + std::uint64_t{first} * S::row_bytes;
  }
  LW_DEVICE_INSIDE void next() {
    from += S::row_bytes;
    if (++step == steps) start(tile + grid_blocks());
  }
  LW_DEVICE_CONST bool idle() const { return tile >= all || first + step >= stop; }

  /// The step's super-block of each row. Rows that there aren't keep what lies there: nothing of theirs is stored.
  LW_DEVICE_INSIDE void copy(std::uint8_t* to) const {
    if (idle()) return;
    const std::uint64_t stride = launch.cols * S::bytes;
    const std::uint64_t k = std::uint64_t{first + step} * 256;
    if (stride % 16 == 0 && k + 256 <= launch.cols) {
      const std::uint8_t* at = from + 16 * lane;
      LW_UNROLL
      for (std::uint32_t r = 0; r < S::warp_rows; ++r, at += stride) {
        LW_UNROLL
        for (std::uint32_t i = 0; i < S::row_bytes; i += 512) {
          if (r < rows) copy_async(to + r * S::row_bytes + i + 16 * lane, at + i);
        }
      }
      return;
    }
    // Rows that start anywhere, and the last super-block of a K that isn't whole ones, by elements; past K, zeros.
    LW_NO_UNROLL
    for (std::uint32_t r = 0; r < rows; ++r) {
      LW_NO_UNROLL
      for (std::uint32_t i = lane; i < 256; i += 32) {
        const bool there = k + i < launch.cols;
        const std::uint8_t* const at = from + r * stride + i * S::bytes;
        std::uint8_t* const place = to + r * S::row_bytes + i * S::bytes;
        if constexpr (S::bytes == 4) {
          *reinterpret_cast<std::uint32_t*>(place) = there ? *reinterpret_cast<const std::uint32_t*>(at) : 0;
        } else {
          *reinterpret_cast<std::uint16_t*>(place) =
              there ? *reinterpret_cast<const std::uint16_t*>(at) : std::uint16_t{0};
        }
      }
    }
  }
};

/// `which`: of the three arrays xq of the image.
template <class T, std::uint32_t tokens>
LW_KERNEL_TEXT void LW_LAUNCH_BOUNDS(32 * most_warps, tokens == 1 ? 2 : 1)
    floats_kernel(LW_GRID_CONSTANT const Launch launch, Plan plan, std::uint32_t which) {
  using S = Shape<T, tokens>;
  LW_SHARED_MEMORY(memory);
  let_next_start();
  const Lane<S> lane(plan.splits);
  const std::uint32_t thread = thread_index();
  const std::uint32_t blocks = launch.blocks;
  const std::uint32_t slots = image_slots(launch.tokens);
  const ImageOffsets image(slots, launch.planes, blocks);
  const std::uint32_t block_rows = block_rows_of<S>(plan);
  const std::uint32_t stage_size = stage_bytes<S>(plan);
  auto* const sums = reinterpret_cast<float*>(memory);
  float* const own_sums = sums + lane.group * (S::warp_rows * S::tokens * 8);
  std::uint8_t* const ring = memory + sums_bytes<S>(plan);

  const std::uint32_t eighths = 8 / plan.splits;  // of a warp
  std::uint32_t steps = 0;                        // of the split with the most
  for (std::uint32_t s = 0; s < 8; s += eighths) {
    const std::uint32_t own = eighth_begin(s + eighths, blocks) - eighth_begin(s, blocks);
    steps = own > steps ? own : steps;
  }
  const std::uint64_t tiles = count_tiles(launch, block_rows);
  std::uint64_t all = tiles;
  if (launch.route != nullptr) {
    wait_for_previous();
    all = launch.route->bad != 0 ? 0 : tiles * launch.route->count;
  }
  Copier<S> copier{launch,
                   block_rows,
                   tiles,
                   all,
                   steps,
                   eighth_begin(lane.split * eighths, blocks),
                   eighth_begin((lane.split + 1) * eighths, blocks),
                   lane.group,
                   thread % 32,
                   0,
                   0,
                   nullptr,
                   0};
  const std::uint32_t first = copier.first;
  const std::uint32_t stop = copier.stop;
  copier.start(block_index());

  // x of the split, by its warps.
  const std::uint8_t* const xq = launch.x + image.xq + std::uint64_t{which} * slots * blocks * 1024;
  const auto copy_x = [&](bool idle, std::uint32_t step, std::uint32_t stage) {
    if (idle) return;
    std::uint8_t* const to = ring + stage * stage_size + plan.warps * S::w_bytes + lane.split * S::x_bytes;
    LW_NO_UNROLL
    for (std::uint32_t i = lane.group * 32 + thread % 32; i < slots * 64; i += 32 * plan.warps / plan.splits) {
      copy_async(to + 16 * i, xq + (std::uint64_t{i / 64} * blocks + first + step) * 1024 + i % 64 * 16);
    }
  };
  std::uint8_t* const own_rows = ring + lane.warp * S::w_bytes;

  // The first steps. Weights may be read before the launch before this one is done; x is what that one makes.
  const std::uint32_t distance = plan.stages - 1;
  Copier<S> x_of = copier;
  LW_NO_UNROLL
  for (std::uint32_t i = 0; i < distance; ++i) {
    copier.copy(own_rows + i * stage_size);
    copier.next();
  }
  if (launch.route == nullptr) wait_for_previous();
  LW_NO_UNROLL
  for (std::uint32_t i = 0; i < distance; ++i) {
    copy_x(x_of.idle(), x_of.step, i);
    copy_commit();  // the first of these has all the rows
    x_of.next();
  }

  float a[S::outputs][S::width] = {};
  std::uint32_t g = lane.split * eighths;
  std::uint32_t end_of_g = eighth_begin(g + 1, blocks);
  std::uint32_t stage = 0;
  std::uint32_t fill = distance;
  std::uint32_t step = 0;
  std::uint64_t tile = block_index();
  LW_NO_UNROLL
  while (tile < all) {
    if (plan.stages == 2) {
      copy_wait<0>();
    } else if (plan.stages == 3) {
      copy_wait<1>();
    } else {
      copy_wait<2>();
    }
    sync_block();  // the step's copies are there, and what the next ones overwrite has been read
    copier.copy(own_rows + fill * stage_size);
    copy_x(copier.idle(), copier.step, fill);
    copy_commit();
    copier.next();
    fill = fill + 1 == plan.stages ? 0 : fill + 1;

    const std::uint32_t b = first + step;
    if (b < stop) {
      add_super_block<T, S>(
          lane, own_rows + stage * stage_size,
          reinterpret_cast<const float*>(ring + stage * stage_size + plan.warps * S::w_bytes + lane.split * S::x_bytes),
          a);
    }
    stage = stage + 1 == plan.stages ? 0 : stage + 1;
    // The eighths that end here; one without a super-block is zero.
    const std::uint32_t done = b + 1 < stop ? b + 1 : stop;
    LW_NO_UNROLL
    while (g < (lane.split + 1) * eighths && end_of_g <= done) {
      fold_eighth<S>(lane, g, own_sums, a);
      ++g;
      end_of_g = eighth_begin(g + 1, blocks);
    }
    if (++step != steps) continue;

    sync_block();
    const Place place = find_place(launch, block_rows, tiles, tile);
    const std::uint64_t rows = launch.targets[place.target].rows;
    const auto* const poisoned = reinterpret_cast<const std::uint32_t*>(launch.x + image.poisoned);
    LW_NO_UNROLL
    for (std::uint32_t i = thread; i < block_rows * S::tokens; i += 32 * plan.warps) {
      const std::uint64_t index = place.row + i / S::tokens;
      const std::uint32_t t = i % S::tokens;
      if (index >= rows || t >= launch.tokens) continue;
      float r[8];
      LW_UNROLL
      for (std::uint32_t j = 0; j < 8; ++j) r[j] = sums[i * 8 + j];
      store_output(launch, launch.targets[place.target], index, t, fold_eighths(r), poisoned[t] != 0, place.expert);
    }
    // The next step's barrier keeps its sums from these reads.
    g = lane.split * eighths;
    end_of_g = eighth_begin(g + 1, blocks);
    step = 0;
    tile += grid_blocks();
  }
  copy_wait<0>();
}

}  // namespace floats
}  // namespace LW_DECODE_SPACE
}  // namespace lanewise
