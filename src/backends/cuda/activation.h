// Making the image of x: what its kernels are told.
#pragma once

#include <cstdint>

#include "backends/cuda/image.h"

namespace lanewise::cuda {

/// x (token t at element t * stride, an lw_dtype) to the slices of its image.
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

// Each returns a cudaError_t.

/// All of the image but xq.
int launch_image(const ImageTask& task, void* stream);
/// xq[index], from the x that the image holds.
int launch_floats(const ImageTask& task, std::uint32_t index, void* stream);
/// cudaSuccess where the current device can run what this build holds.
int find_code();

}  // namespace lanewise::cuda
