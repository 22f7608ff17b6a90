#include "backends/cuda/read.h"

#include "backends/cuda/machine.cuh"
#include "backends/cuda/start.cuh"

namespace lanewise::cuda {
namespace {

constexpr std::uint32_t read_threads = 256;
// Told of four blocks, nvcc 13.0 takes 48 registers for eight loads and issues them together; told of none it takes 32
// and waits for the first before it issues the fifth.
constexpr std::uint32_t read_blocks = 4;

// Neighbouring threads read neighbouring groups, `unroll` steps of the whole grid at a time; streaming loads, so that
// what is read once doesn't push anything else out of the cache. The store hangs on all that was read: no load can be
// left out.
template <std::uint32_t unroll>
__global__ void __launch_bounds__(read_threads, read_blocks)
    read_kernel(const uint4* groups, std::uint64_t count, std::uint32_t* sink) {
  let_next_start();
  const std::uint64_t step = std::uint64_t{gridDim.x} * read_threads;
  std::uint32_t mixed = 0;
  std::uint64_t at = std::uint64_t{blockIdx.x} * read_threads + threadIdx.x;
  while (at + (unroll - 1) * step < count) {
    uint4 held[unroll];
#pragma unroll
    for (std::uint32_t i = 0; i < unroll; ++i) held[i] = __ldcs(groups + at + i * step);
#pragma unroll
    for (std::uint32_t i = 0; i < unroll; ++i) mixed ^= held[i].x ^ held[i].y ^ held[i].z ^ held[i].w;
    at += unroll * step;
  }
  for (; at < count; at += step) {
    const uint4 one = __ldcs(groups + at);
    mixed ^= one.x ^ one.y ^ one.z ^ one.w;
  }
  wait_for_previous();
  if (mixed == 0x5EED5EEDu) *sink = mixed;
}

}  // namespace

int launch_read(const std::uint8_t* from, std::uint64_t bytes, ReadShape shape, std::uint32_t multiprocessors,
                bool overlapped, std::uint32_t* sink, void* stream) {
  auto* const kernel = shape.unroll <= 2 ? read_kernel<2> : shape.unroll <= 4 ? read_kernel<4> : read_kernel<8>;
  const dim3 grid(shape.blocks * multiprocessors);
  return start(kernel, grid, read_threads, 0, overlapped, stream, reinterpret_cast<const uint4*>(from),
               bytes / sizeof(uint4), sink);
}

}  // namespace lanewise::cuda
