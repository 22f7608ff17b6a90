// The CUDA backend as the rest of the library sees it: no CUDA header, and the same in a build that left CUDA out,
// where no device can be opened and the reason is said.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backends/gpu/gpu.h"
#include "backends/gpu/timer.h"
#include "base/status.h"
#include "kernels/kernel.h"

namespace lanewise {

/// Rows of kernels.def, best first; also in a build without CUDA, so that any machine can ask what another would run.
std::span<const KernelDesc> cuda_kernels();

namespace cuda {

/// Every CUDA device of this machine, usable or not, or why there is none: no CUDA in this build, no driver, one too
/// old, no device.
Result<std::vector<gpu::DeviceInfo>> list_devices();

/// "75-real, 90": what this build holds code for, as CMake says it; empty in a build without CUDA.
std::string_view built_for();
/// Whether code for `architectures`, a list as built_for() gives it, runs on a device of this compute capability.
bool code_runs_on(std::string_view architectures, std::uint32_t major, std::uint32_t minor);

/// What a device of this compute capability offers kernels.
std::uint32_t capabilities(std::uint32_t major, std::uint32_t minor);

/// Whether this build's units hold the layout, and the bytes of a matrix in it (`shape.data` isn't read).
bool has_layout_units(Layout layout, Format format);
std::uint64_t layout_bytes(Layout layout, const MatrixView& shape);

/// What gpu::Device has of the kernels' tilings.
std::span<const gpu::Tiling> tilings(const KernelDesc& kernel);
std::span<const gpu::TilingAxis> tiling_axes(const KernelDesc& kernel);
bool takes_tiling(const KernelDesc& kernel, const gpu::Tiling& tiling);

/// Its functions leave the calling thread's current context as it was; launches can be captured into a graph. Errors:
/// LW_ERROR_NOT_FOUND where there is no such device, with the reason of list_devices(); LW_ERROR_UNSUPPORTED where this
/// build holds no code for it.
Result<std::shared_ptr<gpu::Device>> open_device(std::uint32_t ordinal);
/// Of a device that open_device() gave.
Result<std::unique_ptr<gpu::Timer>> make_timer(const std::shared_ptr<gpu::Device>& device);

}  // namespace cuda
}  // namespace lanewise
