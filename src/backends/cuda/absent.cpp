// In place of device.cpp and timer.cpp in a build without CUDA.
#include "backends/cuda/cuda.h"

namespace lanewise::cuda {

Result<std::vector<gpu::DeviceInfo>> list_devices() { return make_error(LW_ERROR_UNSUPPORTED, LANEWISE_CUDA_WHY_NOT); }

std::string_view built_for() { return {}; }

Result<std::shared_ptr<gpu::Device>> open_device(std::uint32_t) {
  return make_error(LW_ERROR_UNSUPPORTED, LANEWISE_CUDA_WHY_NOT);
}

Result<std::unique_ptr<gpu::Timer>> make_timer(const std::shared_ptr<gpu::Device>&) {
  return make_error(LW_ERROR_UNSUPPORTED, LANEWISE_CUDA_WHY_NOT);
}

}  // namespace lanewise::cuda
