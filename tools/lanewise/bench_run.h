// Times the products of one matrix, window by window, beside the read ceiling, in interleaved rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench_crew.h"
#include "bench_machine.h"
#include "bench_peer.h"
#include "harness/case.h"
#include "harness/verify.h"

namespace lanewise::program {

/// One matrix and the windows to time.
struct BenchGroup {
  Case problem;  ///< all but its tokens; `kernel` as asked for, empty: select()'s
  std::vector<std::uint64_t> tokens;
  unsigned rounds = 7;
  unsigned threads = 1;
  bool spin = true;
  bool hot = false;                 ///< one copy, read over and over, instead of copies in turn
  std::optional<PeerOptions> peer;  ///< timed beside each window
  Launch replacement{};  ///< runs in the kernel's place (tests plant faults through it); empty: the kernel's own
};

/// What a peer took for a window; figures only where it gave one every round.
struct PeerTime {
  std::string missing;  ///< why there is no figure; empty: there is one
  std::string how;      ///< as the peer describes how it holds the case
  double median_us = 0;
  double spread = 0;
  double fraction = 0;   ///< of the same ceiling, for the same bytes
  double over_ours = 0;  ///< its time / ours: the median of the rounds' own ratios
};

/// Of a timed window what has no part in how a device is timed.
struct TimedCase {
  Case problem;             ///< with the kernel that ran
  std::string kernel;       ///< the last part of its name
  std::uint64_t bytes = 0;  ///< of W in GGUF's blocks: what has to be read at least once
  double image_us = 0;      ///< making the image of x, alone; in no other figure
  std::optional<PeerTime> peer;
  std::uint64_t compared = 0;  ///< outputs compared with the scalar kernel's after timing
  std::uint64_t differing = 0;
};

/// What a window took on the CPU; its image is made on one thread.
struct BenchTime : TimedCase {
  bool hot = false;
  double median_us = 0;     ///< of a call
  double spread = 0;        ///< (slowest round - fastest) / median
  double gbps = 0;          ///< bytes / median
  double fraction = 0;      ///< of the ceiling: the median of the rounds' own ratios
  double ceiling_gbps = 0;  ///< median over the rounds
  double over_first = 0;    ///< median_us / that of the group's first window
};

struct BenchGroupTimes {
  std::vector<BenchTime> times;
  std::vector<double> ceilings;  ///< GB/s, one a round: the best loop's
  std::vector<double> paces;     ///< one before each timing: see look_at_pace()
  double best_pace = 0;          ///< of many looks before the first timing, and of `paces`
  std::string best_loop;         ///< the fastest of the last round
  std::uint64_t copies = 0;
  unsigned threads = 0;   ///< that could be had
  double huge_pages = 0;  ///< see WalkedMemory
};

/// Bytes that one copy takes in the memory to walk.
std::uint64_t copy_stride(const Case& problem);

/// Fills `memory` (at least one copy_stride() long) with copies of the matrix and times it. Errors: those of the
/// case and of select(), LW_ERROR_MEMORY; stop_asked ends it early, with what there is unfinished.
Result<BenchGroupTimes> time_group(const BenchGroup& group, WalkedMemory& memory);

double median(std::vector<double> values);

}  // namespace lanewise::program
