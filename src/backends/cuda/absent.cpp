// In place of device.cpp and timer.cpp in a build without CUDA.
#include "backends/cuda/cuda.h"
#include "backends/cuda/timer.h"

namespace lanewise::cuda {

Result<std::vector<DeviceInfo>> list_devices() { return make_error(LW_ERROR_UNSUPPORTED, LANEWISE_CUDA_WHY_NOT); }

std::string_view built_for() { return {}; }

Result<std::shared_ptr<Device>> open_device(std::uint32_t) {
  return make_error(LW_ERROR_UNSUPPORTED, LANEWISE_CUDA_WHY_NOT);
}

Result<std::unique_ptr<Timer>> make_timer(const std::shared_ptr<Device>&) {
  return make_error(LW_ERROR_UNSUPPORTED, LANEWISE_CUDA_WHY_NOT);
}

}  // namespace lanewise::cuda
