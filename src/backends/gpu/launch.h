// What the kernels of a device with memory of its own are told, whichever backend has them. Addresses are the device's.
#pragma once

#include <cstdint>

#include "backends/gpu/image.h"
#include "formats/formats.h"

namespace lanewise::gpu {

/// One matrix of a launch and where its products go.
struct Target {
  const std::uint8_t* w = nullptr;  ///< device memory, in the kernel's layout, aligned to 256
  void* y = nullptr;                ///< device memory: token t of the slice at element t * y_stride
  std::uint64_t rows = 0;
  std::uint64_t y_stride = 0;
};

inline constexpr std::uint32_t most_targets = 8;

inline constexpr std::uint32_t most_expert_targets = 2;  ///< gate and up
inline constexpr std::uint32_t most_experts = 512;

/// The distinct experts of a slice, in device memory, written by the route kernel (route.cuh) for the launch after it.
struct Route {
  std::uint32_t bad;    ///< 1: an id of the call is out of range; nothing of it is computed
  std::uint32_t count;  ///< of distinct experts
  std::int32_t experts[most_experts];
  const std::uint8_t* w[most_expert_targets][most_experts];  ///< of experts[i], for each target
};

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

/// Making the image of x (token t at element t * stride, an lw_dtype).
struct ImageTask {
  const void* x = nullptr;
  std::uint64_t tokens = 0;
  std::uint64_t cols = 0;
  std::uint64_t stride = 0;
  std::uint32_t dtype = 0;
  std::uint32_t planes = 0;
  std::uint32_t blocks = 0;  ///< super-blocks of K
  std::uint8_t* image = nullptr;
  bool overlapped = false;  ///< see Launch
};

/// Matrices of one format and K that read one slice (1..8 tokens) of an image of x. All by value: a launch keeps
/// nothing on the host, so it can be captured into a graph.
struct Launch {
  std::uint32_t count = 0;          ///< of targets
  const std::uint8_t* x = nullptr;  ///< the slice, see image.h
  std::uint32_t tokens = 0;
  std::uint32_t planes = 0;
  // Experts: target i is computed for each expert of the route, from route->w[i], and token t's product with expert
  // ids[t * used + j] goes to vector t * used + j of y. Both are of the slice.
  const Route* route = nullptr;       ///< nullptr: no experts
  const std::int32_t* ids = nullptr;  ///< device memory
  std::uint32_t used = 0;
  std::uint64_t cols = 0;
  std::uint32_t blocks = 0;  ///< super-blocks of K
  std::uint32_t dtype = 0;   ///< of y, an lw_dtype
  std::uint32_t multiprocessors = 0;
  std::uint32_t shared_bytes = 0;        ///< of shared memory that a block may have; 0: 48 KB
  std::uint32_t tile[4] = {0, 0, 0, 0};  ///< 0: the family chooses; frag: FragShape's groups, chunk, stages, batch
  bool overlapped = false;       ///< programmatic dependent launch: may start while the launch before still runs
  Target targets[most_targets];  ///< last: what a launch of one target reads of its arguments lies close together
};

}  // namespace lanewise::gpu
