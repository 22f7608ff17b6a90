// The plain CUDA kernels over the emulator, out of a unit of their own: overridden and portable primitives can't stand
// in one.
#pragma once

#include <cstdint>

#include "backends/cuda/launch.h"
#include "backends/cuda/route.h"
#include "formats/formats.h"

namespace lanewise::test {

int launch_plain(Format format, const cuda::Launch& launch);
int launch_dequantize(Format format, const std::uint8_t* w, std::uint64_t elements, float* out);
int launch_route(const cuda::Routing& routing);

}  // namespace lanewise::test
