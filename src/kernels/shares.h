// Who takes which part of a call that several threads work on.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace lanewise {

/// Parts 0 .. count-1, each taken once. A thread has a lane of its own, a run of neighbouring parts that it takes in
/// order: what it prefetches past one part's end is what its next part begins with. When its lane is empty it takes the
/// last part of the fullest other one. One counter for all, from which each thread takes the next part, costs a few
/// percent: a part's first lines come late, and what was prefetched past its end was for the other thread.
class PartShares {
 public:
  static constexpr std::uint32_t most_lanes = 32;

  PartShares(std::uint32_t count, std::uint32_t threads) : count_(std::clamp<std::uint32_t>(threads, 1, most_lanes)) {
    for (std::uint32_t i = 0; i < count_; ++i) {
      const auto begin = static_cast<std::uint32_t>(std::uint64_t{count} * i / count_);
      const auto end = static_cast<std::uint32_t>(std::uint64_t{count} * (i + 1) / count_);
      lanes_[i].left.store(range(begin, end), std::memory_order_relaxed);
    }
  }

  /// The next part for thread `thread` (more threads than lanes share them). False: all are taken.
  bool take(std::uint32_t thread, std::uint32_t& part) {
    std::uint32_t lane = thread % count_;
    if (take_first(lanes_[lane], part)) return true;
    while (fullest(lane)) {
      if (take_last(lanes_[lane], part)) return true;
    }
    return false;
  }
  [[nodiscard]] bool empty() const {
    std::uint32_t lane = 0;
    return !fullest(lane);
  }

 private:
  // Parts begin to end - 1, of which the lower half is `begin`.
  struct alignas(64) Lane {
    std::atomic<std::uint64_t> left;
  };
  static std::uint64_t range(std::uint32_t begin, std::uint32_t end) { return begin | std::uint64_t{end} << 32U; }
  static std::uint32_t begin_of(std::uint64_t left) { return static_cast<std::uint32_t>(left); }
  static std::uint32_t end_of(std::uint64_t left) { return static_cast<std::uint32_t>(left >> 32U); }

  static bool take_first(Lane& lane, std::uint32_t& part) {
    std::uint64_t left = lane.left.load(std::memory_order_relaxed);
    while (begin_of(left) < end_of(left)) {
      part = begin_of(left);
      if (lane.left.compare_exchange_weak(left, range(part + 1, end_of(left)), std::memory_order_relaxed)) return true;
    }
    return false;
  }
  static bool take_last(Lane& lane, std::uint32_t& part) {
    std::uint64_t left = lane.left.load(std::memory_order_relaxed);
    while (begin_of(left) < end_of(left)) {
      part = end_of(left) - 1;
      if (lane.left.compare_exchange_weak(left, range(begin_of(left), part), std::memory_order_relaxed)) return true;
    }
    return false;
  }
  bool fullest(std::uint32_t& lane) const {
    std::uint32_t most = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const std::uint64_t left = lanes_[i].left.load(std::memory_order_relaxed);
      const std::uint32_t parts = end_of(left) - begin_of(left);
      if (parts > most) {
        most = parts;
        lane = i;
      }
    }
    return most != 0;
  }

  std::uint32_t count_;
  std::array<Lane, most_lanes> lanes_;
};

}  // namespace lanewise
