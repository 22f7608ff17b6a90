// Products with experts, by ids in device memory.
#pragma once

#include <cstdint>

#include "backends/cuda/launch.h"

namespace lanewise::cuda {

using gpu::Routing;

/// Writes the routes of all slices, on `stream`; a launch of a slice after it reads its own. An id out of range makes
/// all of them bad: nothing is then written. Experts stand in ascending order. A cudaError_t.
int launch_route(const Routing& routing, bool overlapped, void* stream);

}  // namespace lanewise::cuda
