// The kernel that only reads.
#pragma once

#include <cstdint>

#include "backends/gpu/timer.h"

namespace lanewise::cuda {

using gpu::ReadShape;

/// `bytes` / 16 groups of 16 bytes from `from` on; `sink` is 4 bytes of device memory, hardly ever written. A
/// cudaError_t.
int launch_read(const std::uint8_t* from, std::uint64_t bytes, ReadShape shape, std::uint32_t multiprocessors,
                bool overlapped, std::uint32_t* sink, void* stream);

}  // namespace lanewise::cuda
