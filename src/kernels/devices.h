// Devices with memory of their own, by name, whichever backend drives them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backends/gpu/gpu.h"
#include "backends/gpu/timer.h"
#include "base/status.h"

namespace lanewise {

/// A backend of such devices.
struct GpuBackend {
  std::string_view name;  ///< "cuda", "vulkan"
  std::string_view what;  ///< "CUDA", "Vulkan"
  /// Every device of this machine, usable or not, or why there is none.
  Result<std::vector<gpu::DeviceInfo>> (*list)();
  /// Errors: LW_ERROR_NOT_FOUND where there is no such device; LW_ERROR_UNSUPPORTED where it can't be used.
  Result<std::shared_ptr<gpu::Device>> (*open)(std::uint32_t ordinal);
  /// Of a device that open() gave.
  Result<std::unique_ptr<gpu::Timer>> (*make_timer)(const std::shared_ptr<gpu::Device>& device);
};
std::span<const GpuBackend> gpu_backends();

/// "cuda:1": device 1; "cuda": device 0.
struct GpuName {
  const GpuBackend* backend;
  std::uint32_t ordinal;
};
/// Nothing for a name that isn't one of a backend's, with a number or without.
std::optional<GpuName> parse_gpu_name(std::string_view name);

/// Nothing for the CPU; the errors of the backend's open(), and LW_ERROR_NOT_FOUND for a name that is nobody's.
Result<std::shared_ptr<gpu::Device>> open_gpu(std::string_view name);
Result<std::unique_ptr<gpu::Timer>> make_gpu_timer(const std::shared_ptr<gpu::Device>& device);

}  // namespace lanewise
