// Starting a kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace lanewise::cuda {

/// Starts `kernel` on `stream` (a cudaStream_t) and returns a cudaError_t. `overlapped`: it may begin while the launch
/// before it still runs, where the device can (sm_90 on); its text then waits by wait_for_previous() before it reads or
/// writes what other launches write or read. A `shared` above 48 KB needs cudaFuncSetAttribute first.
template <class... Args>
int start(void (*kernel)(Args...), dim3 grid, std::uint32_t threads, std::size_t shared, bool overlapped, void* stream,
          Args... arguments) {
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

}  // namespace lanewise::cuda
