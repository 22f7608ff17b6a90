// In place of all else in a build without Vulkan.
#include "backends/vulkan/shaders.h"
#include "backends/vulkan/vulkan.h"

namespace lanewise::vulkan {

Result<std::vector<gpu::DeviceInfo>> list_devices() {
  return make_error(LW_ERROR_UNSUPPORTED, LANEWISE_VULKAN_WHY_NOT);
}

Result<std::shared_ptr<gpu::Device>> open_device(std::uint32_t) {
  return make_error(LW_ERROR_UNSUPPORTED, LANEWISE_VULKAN_WHY_NOT);
}

Result<std::shared_ptr<gpu::Device>> open_device(std::uint32_t, const Overrides&) {
  return make_error(LW_ERROR_UNSUPPORTED, LANEWISE_VULKAN_WHY_NOT);
}

Result<std::shared_ptr<gpu::Device>> open_device(const Foreign&) {
  return make_error(LW_ERROR_UNSUPPORTED, LANEWISE_VULKAN_WHY_NOT);
}

Result<std::uint8_t*> adopt_buffer(gpu::Device&, std::uint64_t, std::uint64_t, std::uint64_t) {
  return make_error(LW_ERROR_UNSUPPORTED, LANEWISE_VULKAN_WHY_NOT);
}

Result<std::unique_ptr<gpu::Timer>> make_timer(const std::shared_ptr<gpu::Device>&) {
  return make_error(LW_ERROR_UNSUPPORTED, LANEWISE_VULKAN_WHY_NOT);
}

std::span<const std::uint32_t> find_shader(std::string_view) { return {}; }

}  // namespace lanewise::vulkan
