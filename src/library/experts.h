// The ids of an expert call, walked without scratch memory: who is among them, and which tokens an expert has.
//
// Each part of a call walks the ids itself: a few thousand comparisons at most, beside products of megabytes. So no
// list of tokens is kept anywhere, any number of calls may run at once, and none allocates or waits for another.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <span>

#include "arithmetic/activation.h"

namespace lanewise::edge {

/// `ids` holds `used` for each token; all of them are in 0 .. count-1.
struct ExpertIds {
  std::span<const std::int32_t> ids;
  std::uint64_t used;
  std::uint64_t count;

  static constexpr std::uint64_t window = 1024;  ///< experts looked at in one walk
  static constexpr std::size_t batch = 128;      ///< tokens of an expert that one launch takes
  /// Rows of an expert with more tokens than a batch are taken so many bytes at a time, so that all batches after the
  /// first find them in the cache: an expert is read from memory once.
  static constexpr std::uint64_t tile_bytes = std::uint64_t{32} << 10;

  /// visit(index, expert) for the experts among the ids, in ascending order, until it returns false.
  template <class Visit>
  void for_each_distinct(Visit&& visit) const {
    std::uint64_t index = 0;
    for (std::uint64_t base = 0; base < count; base += window) {
      std::bitset<window> present;
      for (const std::int32_t id : ids) {
        const std::uint64_t at = static_cast<std::uint64_t>(id) - base;  // below the window: wraps to a large number
        if (at < window) present.set(at);
      }
      if (present.none()) continue;
      for (std::uint64_t at = 0; at < window; ++at) {
        if (!present.test(at)) continue;
        if (!visit(index, static_cast<std::int32_t>(base + at))) return;
        ++index;
      }
    }
  }

  [[nodiscard]] std::uint64_t count_distinct() const {
    std::uint64_t distinct = 0;
    for_each_distinct([&](std::uint64_t, std::int32_t) {
      ++distinct;
      return true;
    });
    return distinct;
  }

  /// launch(slots, from, to) so that every row in begin .. end-1 meets every slot of `expert` once.
  template <class Launch>
  void for_each_batch(std::int32_t expert, std::uint64_t begin, std::uint64_t end, std::uint64_t row_bytes,
                      Launch&& launch) const {
    const auto tokens = static_cast<std::uint64_t>(std::ranges::count(ids, expert));
    const std::uint64_t tile = tokens <= batch ? end - begin : std::max<std::uint64_t>(1, tile_bytes / row_bytes);
    std::array<OutputSlot, batch> slots;
    for (std::uint64_t from = begin; from < end;) {
      const std::uint64_t to = end - from <= tile ? end : from + tile;
      std::size_t filled = 0;
      for (std::uint64_t p = 0; p < ids.size(); ++p) {
        if (ids[p] != expert) continue;
        slots[filled++] = {p / used, p};
        if (filled < batch) continue;
        launch(std::span<const OutputSlot>(slots), from, to);
        filled = 0;
      }
      if (filled != 0) launch(std::span<const OutputSlot>(slots.data(), filled), from, to);
      from = to;
    }
  }
};

}  // namespace lanewise::edge
