// How the lanes of a simt kernel share a row, in numbers.
#pragma once

#include <cstdint>

namespace lanewise::cuda {

inline constexpr std::uint32_t simt_threads = 128;

constexpr std::uint32_t common_divisor(std::uint32_t a, std::uint32_t b) {
  return b == 0 ? a : common_divisor(b, a % b);
}

/// `lanes` (4 to 32) lanes walk an eighth of K a super-block at a time. `chains` of them or groups of them each hold an
/// accumulator and take its d-groups in turn; the `sharers` of a group split the quads of a d-group.
/// T: a format (dgroup, group, block_elements, block_bytes).
template <class T, std::uint32_t lanes_>
struct SimtShape {
  static constexpr std::uint32_t lanes = lanes_;
  static constexpr std::uint32_t dgroup = T::info.dgroup;
  static constexpr std::uint32_t block_elements = T::info.block_elements;
  static constexpr std::uint32_t block_bytes = T::info.block_bytes;
  static constexpr std::uint32_t dgroups = 256 / dgroup;
  static constexpr std::uint32_t chains = dgroups < 4 ? dgroups : 4;
  static constexpr std::uint32_t sharers = lanes / chains;
  static constexpr std::uint32_t passes = dgroups / chains;
  static constexpr std::uint32_t quads = dgroup / 4 / sharers;  ///< of a lane in a pass
  static constexpr std::uint32_t group_quads = T::info.group / 4;
  static constexpr std::uint32_t groups = quads > group_quads ? quads / group_quads : 1;  ///< that those quads meet
  static constexpr std::uint32_t run =
      quads > group_quads ? group_quads : quads;  ///< of those quads that one group has
  static_assert(quads * sharers * 4 == dgroup && groups * run == quads);

  // A super-block as it is copied to shared memory: whole pieces of 16 bytes. An odd number of pieces from one to the
  // next keeps the lanes of different eighths in different banks.
  static constexpr std::uint32_t super_bytes = 256 / block_elements * block_bytes;
  static constexpr std::uint32_t skew = 16 - common_divisor(16, block_bytes);  ///< bytes before its first, at most
  static constexpr std::uint32_t pieces = (super_bytes + skew + 15) / 16;
  // A word at an odd address is made of two, of which the second may start where the copy ends: room that is its own,
  // so that no lane reads, if for nothing, what another writes.
  static constexpr std::uint32_t chunk = 16 * ((super_bytes + skew + (skew != 0 ? 4 : 0) + 15) / 16 | 1);
};

/// A tile: `lanes` of an eighth, `rows` that they walk at once, tokens of the slice (1, or up to 8).
template <std::uint32_t lanes_, std::uint32_t rows_, std::uint32_t tokens_>
struct SimtTile {
  static constexpr std::uint32_t lanes = lanes_;
  static constexpr std::uint32_t rows = rows_;
  static constexpr std::uint32_t tokens = tokens_;
  static constexpr std::uint32_t units = simt_threads / lanes;  ///< of an eighth and `rows` rows, in a block
  static constexpr std::uint32_t block_rows = units / 8 * rows;
  static constexpr std::uint32_t sums = block_rows * 8 * tokens;  ///< r[g] of a block's rows and tokens
};

/// Super-blocks of each row that lie in shared memory at once: as many as help, within what every device gives a block.
template <class Shape, class Tile>
constexpr std::uint32_t simt_stages() {
  constexpr std::uint32_t room = 39 * 1024 / (Tile::units * Tile::rows * Shape::chunk);
  return room < 2 ? 2 : room > 4 ? 4 : room;
}

/// Shared memory of a block: the format's grid, the sums, the copies.
template <class Shape, class Tile>
constexpr std::uint32_t simt_shared_bytes(std::uint32_t grid_words) {
  return (grid_words + Tile::sums) * 4 + simt_stages<Shape, Tile>() * Tile::units * Tile::rows * Shape::chunk + 16;
}

}  // namespace lanewise::cuda
