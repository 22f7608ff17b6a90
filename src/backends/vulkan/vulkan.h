// The Vulkan backend as the rest of the library sees it: no Vulkan header, and the same in a build that left Vulkan
// out, where no device can be opened and the reason is said.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/gpu/gpu.h"
#include "backends/gpu/timer.h"
#include "base/status.h"
#include "kernels/kernel.h"

namespace lanewise {

/// Rows of kernels.def, best first; also in a build without Vulkan, so that any machine can ask what another would run.
std::span<const KernelDesc> vulkan_kernels();

namespace vulkan {

/// Every Vulkan device of this machine that LANEWISE_VULKAN_DEVICE (a number among all, or a part of a name) doesn't
/// exclude, usable or not, faster kinds first; or why there is none: no Vulkan in this build, no loader, no driver.
Result<std::vector<gpu::DeviceInfo>> list_devices();

/// What tests change of a device, 0: nothing.
struct Overrides {
  std::uint64_t most_at_once = 0;  ///< bytes of one allocation
  std::uint64_t most_bound = 0;    ///< bytes of one binding
  std::uint32_t most_groups = 0;   ///< x of a dispatch
  std::uint32_t group_size = 0;    ///< invocations of a workgroup that multiplies codes: 64, 128, 256 ...
  std::uint32_t lane_rows = 0;     ///< rows of an invocation: 1, 2, 4
  std::uint32_t capabilities = 0;  ///< added to the device's own
  std::string spoiled;             ///< a kernel of that name is made of another shader: `spoiled_by`
  std::string spoiled_by;
  bool no_push = false;    ///< as if the driver lacked push descriptors
  bool polls = false;      ///< waits as for a GPU
  bool forgetful = false;  ///< no verdict of the self-test is taken from the cache or put there
};

/// Errors: LW_ERROR_NOT_FOUND where there is no such device, with the reason of list_devices(); LW_ERROR_UNSUPPORTED
/// where it lacks what the backend needs. A device is opened once, however often it is asked for, unless with
/// overrides.
Result<std::shared_ptr<gpu::Device>> open_device(std::uint32_t ordinal);
Result<std::shared_ptr<gpu::Device>> open_device(std::uint32_t ordinal, const Overrides& overrides);
/// An engine's device: the Vulkan handles, which stay the engine's.
struct Foreign {
  void* instance;
  void* physical_device;
  void* device;
  void* queue;
  void* get_instance_proc_addr;
  std::uint32_t queue_family;
  bool has_dot;
};
Result<std::shared_ptr<gpu::Device>> open_device(const Foreign& foreign);
/// An address of `device` for `bytes` bytes of a VkBuffer of the engine's.
Result<std::uint8_t*> adopt_buffer(gpu::Device& device, std::uint64_t buffer, std::uint64_t offset,
                                   std::uint64_t bytes);

/// Of a device that open_device() gave.
Result<std::unique_ptr<gpu::Timer>> make_timer(const std::shared_ptr<gpu::Device>& device);

/// Whether this build holds the shader of a kernel of that name and layout for a format.
bool has_shader(const KernelDesc& kernel, Format format);

}  // namespace vulkan
}  // namespace lanewise
