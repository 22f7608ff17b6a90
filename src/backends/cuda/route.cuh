// Which experts a slice of tokens asks for. One block: a few thousand ids at most.
#pragma once

#include "backends/cuda/machine.cuh"
#include "backends/cuda/route.h"
#include "backends/cuda/start.cuh"

namespace lanewise::cuda {

inline constexpr std::uint32_t route_threads = most_experts;

LW_KERNEL_TEXT void route_kernel(LW_GRID_CONSTANT const Routing routing) {
  LW_SHARED_MEMORY(memory);
  auto* const asked = reinterpret_cast<std::uint32_t*>(memory);  // [most_experts], then one word for `bad`
  const std::uint32_t thread = thread_index();
  let_next_start();
  wait_for_previous();  // the ids, and the routes that it may still read
  if (thread == 0) asked[most_experts] = 0;
  sync_block();
  const std::uint64_t all = routing.tokens * routing.used;
  for (std::uint64_t i = thread; i < all; i += route_threads) {
    const std::int32_t id = routing.ids[i];
    if (id < 0 || static_cast<std::uint32_t>(id) >= routing.experts) asked[most_experts] = 1;  // by whom doesn't matter
  }
  sync_block();
  const std::uint32_t bad = asked[most_experts];
  const std::uint64_t slice_ids = std::uint64_t{image_slice} * routing.used;
  Route* route = routing.routes;
  for (std::uint64_t first = 0; first < all; first += slice_ids, ++route) {
    asked[thread] = 0;
    sync_block();
    if (bad == 0) {
      for (std::uint64_t i = first + thread; i < first + slice_ids && i < all; i += route_threads) {
        asked[routing.ids[i]] = 1;
      }
    }
    sync_block();
    std::uint32_t before = 0;
    for (std::uint32_t i = 0; i < thread; ++i) before += asked[i];
    if (asked[thread] != 0) {
      route->experts[before] = static_cast<std::int32_t>(thread);
      for (std::uint32_t t = 0; t < routing.targets; ++t) route->w[t][before] = routing.w[t][thread];
    }
    if (thread == route_threads - 1) {
      route->bad = bad;
      route->count = before + asked[thread];
    }
    sync_block();
  }
}

inline int start_route(const Routing& routing, bool overlapped, void* stream) {
  if (routing.tokens == 0 || routing.used == 0) return 0;
  return start(route_kernel, 1, route_threads, (most_experts + 1) * 4, overlapped, stream, routing);
}

}  // namespace lanewise::cuda
