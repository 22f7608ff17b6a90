// What a kernel of this backend is told, and the table of launchers that the units fill.
#pragma once

#include "backends/cuda/image.h"
#include "backends/gpu/launch.h"
#include "formats/formats.h"

namespace lanewise::cuda {

using gpu::Launch;
using gpu::most_expert_targets;
using gpu::most_experts;
using gpu::most_targets;
using gpu::Route;
using gpu::Target;

/// Starts the launch on `stream` (a cudaStream_t); a cudaError_t.
using Launcher = int (*)(const Launch& launch, void* stream);

}  // namespace lanewise::cuda
