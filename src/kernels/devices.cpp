#include "kernels/devices.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <system_error>

#include "backends/cuda/cuda.h"
#include "backends/vulkan/vulkan.h"

namespace lanewise {
namespace {

constexpr std::array backends = {
    GpuBackend{"cuda", "CUDA", cuda::list_devices, cuda::open_device, cuda::make_timer},
    GpuBackend{"vulkan", "Vulkan", vulkan::list_devices, vulkan::open_device, vulkan::make_timer},
};

}  // namespace

std::span<const GpuBackend> gpu_backends() { return backends; }

std::optional<GpuName> parse_gpu_name(std::string_view name) {
  const std::string_view prefix = name.substr(0, name.find(':'));
  const auto backend = std::ranges::find(backends, prefix, &GpuBackend::name);
  if (backend == backends.end()) return std::nullopt;
  if (name == prefix) return GpuName{&*backend, 0};
  name.remove_prefix(prefix.size() + 1);
  std::uint32_t ordinal = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), ordinal);
  if (name.empty() || read.ec != std::errc{} || read.ptr != name.data() + name.size()) return std::nullopt;
  return GpuName{&*backend, ordinal};
}

Result<std::shared_ptr<gpu::Device>> open_gpu(std::string_view name) {
  if (name == "cpu") return std::shared_ptr<gpu::Device>();
  const auto found = parse_gpu_name(name);
  if (!found) {
    std::string known = "cpu";
    for (const GpuBackend& backend : backends) {
      const std::string each(backend.name);
      known.append(", ").append(each).append(", ").append(each).append(":0, ").append(each).append(":1");
    }
    return make_error(LW_ERROR_NOT_FOUND, "no device '" + std::string(name) + "': " + known + " and so on");
  }
  return found->backend->open(found->ordinal);
}

Result<std::unique_ptr<gpu::Timer>> make_gpu_timer(const std::shared_ptr<gpu::Device>& device) {
  return std::ranges::find(backends, device->info().backend, &GpuBackend::name)->make_timer(device);
}

}  // namespace lanewise
