// Making the image of x: what its kernels are told.
#pragma once

#include <cstdint>

#include "backends/cuda/image.h"
#include "backends/gpu/launch.h"

namespace lanewise::cuda {

using gpu::ImageTask;

// Each returns a cudaError_t.

/// All of the image but xq.
int launch_image(const ImageTask& task, void* stream);
/// xq[index], from the x that the image holds.
int launch_floats(const ImageTask& task, std::uint32_t index, void* stream);
/// cudaSuccess where the current device can run what this build holds.
int find_code();

}  // namespace lanewise::cuda
