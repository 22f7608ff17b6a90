// Starting a kernel: on the device, or over the emulator's fibers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/machine.cuh"

namespace lanewise::cuda {

#if defined(__CUDACC__)
/// Starts `kernel` on `stream` (a cudaStream_t) and returns a cudaError_t. `overlapped`: it may begin while the launch
/// before it still runs, where the device can (sm_90 on); its text then waits by wait_for_previous() before it reads or
/// writes what other launches write or read. More than 48 KB of shared memory is asked for at every start: the call is
/// cheap, and nothing is kept for each device.
template <class... Args>
int start(void (*kernel)(Args...), dim3 grid, std::uint32_t threads, std::size_t shared, bool overlapped, void* stream,
          Args... arguments) {
  if (shared > 48 * 1024) {
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
    if (error != cudaSuccess) return error;
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &attribute;
  config.numAttrs = overlapped ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}
#else
template <class... Args>
int start(void (*kernel)(Args...), std::uint32_t grid, std::uint32_t threads, std::size_t shared, bool, void*,
          Args... arguments) {
  emulator::launch(grid, 1, threads, shared, [&] { kernel(arguments...); });
  return 0;
}
#endif

}  // namespace lanewise::cuda
