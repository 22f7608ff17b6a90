// How a call on the CPU is cut into parts: ranges of rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "kernels/kernel.h"
#include "kernels/tuning.h"

namespace lanewise {

// A part gets at least so many rows (a cache line of y).
inline constexpr std::uint64_t least_part_rows = 16;
/// What is worth cutting, in bytes of weights; each vector of y but the first counts as an eighth of them again, since
/// eight take about twice the time of one.
struct PartSizes {
  std::uint64_t least_cut;  ///< a call of less stays whole
  std::uint64_t least_part;
};
/// For threads that sleep: waking one takes 5 to 30 us, in which another reads as much. On two processors of a virtual
/// machine 640x256 in Q5_0, 110 KB, took 8.6 us on one thread and 14 on two, in a window of eight 16 and 31.
inline constexpr PartSizes sleepers_parts{std::uint64_t{256} << 10, std::uint64_t{128} << 10};
/// For threads that the caller brings, which may well be awake.
inline constexpr PartSizes callers_parts{0, std::uint64_t{16} << 10};

// Parts a thread: so many that a thread that was interrupted delays the call by a fraction of its share. More cost next
// to nothing, since a thread's parts are neighbours (shares.h).
inline constexpr std::uint32_t parts_a_thread = 16;
/// Of a call that `threads` threads share; one alone has nobody to share with.
constexpr std::uint32_t most_parts(std::uint32_t threads) { return threads == 1 ? 1 : threads * parts_a_thread; }

struct RowRange {
  std::uint64_t begin;
  std::uint64_t end;
};

// Part `part` of `parts` of 0 .. total-1: all but equal, and without a product that could wrap.
inline RowRange range_of(std::uint64_t total, std::uint32_t part, std::uint32_t parts) {
  const std::uint64_t each = total / parts;
  const std::uint64_t larger = total % parts;
  const std::uint64_t begin = each * part + std::min<std::uint64_t>(part, larger);
  return {begin, begin + each + (part < larger ? 1 : 0)};
}

// A range moved to where the kernel's tiles end, so that no tile is computed by two parts: both ends move alike, so
// parts that met still meet.
inline RowRange whole_tiles(const KernelDesc& kernel, RowRange rows, std::uint64_t total) {
  const auto up = [&](std::uint64_t row) {
    return std::min(ceil_div(row, kernel.tile.rows) * kernel.tile.rows, total);
  };
  return {up(rows.begin), up(rows.end)};
}

/// Parts that a product of so many rows, bytes of weights and vectors of y is worth, of at most `most`.
inline std::uint32_t count_parts(std::uint64_t rows, std::uint64_t bytes, std::uint64_t outputs, std::uint32_t most,
                                 const PartSizes& sizes = sleepers_parts) {
  const std::uint64_t shares = checked_add(outputs, 7).value_or(UINT64_MAX);
  const std::uint64_t work = checked_mul(bytes / 8, shares).value_or(UINT64_MAX);
  const std::uint64_t worth = work < sizes.least_cut ? 1 : std::min(rows / least_part_rows, work / sizes.least_part);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(worth, 1, most));
}

}  // namespace lanewise
