// Products with experts, by ids in device memory.
#pragma once

#include <cstdint>

#include "backends/cuda/launch.h"

namespace lanewise::cuda {

/// The experts of a call and the ids of its tokens, by value but for the ids.
struct Routing {
  const std::uint8_t* w[most_expert_targets][most_experts];  ///< of expert i, for each target
  std::uint32_t targets = 0;
  std::uint32_t experts = 0;
  const std::int32_t* ids = nullptr;  ///< [tokens][used]
  std::uint64_t tokens = 0;
  std::uint32_t used = 0;
  Route* routes = nullptr;  ///< one for each slice of eight tokens
};

/// Writes the routes of all slices, on `stream`; a launch of a slice after it reads its own. An id out of range makes
/// all of them bad: nothing is then written. Experts stand in ascending order. A cudaError_t.
int launch_route(const Routing& routing, bool overlapped, void* stream);

}  // namespace lanewise::cuda
