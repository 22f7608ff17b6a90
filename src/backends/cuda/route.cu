#include "backends/cuda/route.cuh"

namespace lanewise::cuda {

int launch_route(const Routing& routing, bool overlapped, void* stream) {
  return start_route(routing, overlapped, stream);
}

}  // namespace lanewise::cuda
