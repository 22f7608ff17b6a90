// What a device with memory of its own is verified with beyond one plain launch of one matrix.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/gpu/gpu.h"
#include "harness/case.h"

namespace lanewise {

/// What a sweep is made for; the lists are those that the whole verification has.
struct SweepWish {
  Format format;
  std::vector<Layout> layouts;
  std::vector<std::uint64_t> tokens;
  std::vector<Planes> planes;
  std::string kernel;  ///< empty: each that the device has
  std::uint64_t seed = 1;
};

/// Cases of one W and x (verify_runs() takes them), by what they sweep:
///   tilings   each kernel in each of its tilings (gpu::Device::tilings) and in its own choice, plain and overlapped,
///   at
///             up to four of the windows: the narrowest, one of two to four, the widest up to eight, the widest. Three
///             shapes: a few rows with several super-blocks an eighth, more tiles than the device has multiprocessors,
///             and a K whose x doesn't fit into shared memory
///   groups    several matrices in one launch, one of no rows and one of a single row among them, and eight
///   experts   lists of 4 to 48, one and two of them in one launch, ids in range and out of range
/// Empty where the device has no kernel for the format in those layouts.
std::vector<std::vector<Case>> launch_sweep(const gpu::Device& device, const SweepWish& wish);

/// A case with more than 2^32 bytes of W and 2^31 of its elements before its last rows, and y's third token as far
/// away, in each of the layouts: too much for many devices.
std::vector<Case> offset_cases(const gpu::Device& device, const SweepWish& wish);

}  // namespace lanewise
