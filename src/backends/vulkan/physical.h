// A device of this machine as its driver describes it: what the backend needs of it, and whether it has that.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/gpu/gpu.h"
#include "backends/vulkan/loader.h"
#include "backends/vulkan/spirv.h"

namespace lanewise::vulkan {

struct Physical {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  gpu::DeviceInfo info;
  std::uint32_t queue_family = 0;
  std::uint32_t memory_type = 0;   ///< of matrices, images and outputs
  std::uint32_t staging_type = 0;  ///< that the host sees
  std::uint64_t most_at_once = 0;  ///< bytes of one allocation
  std::uint64_t most_bound = 0;    ///< bytes of one storage buffer, as a shader sees it
  std::uint32_t bound_alignment = 1;
  std::array<std::uint32_t, 2> most_groups{};  ///< x and y of a dispatch
  std::uint32_t group_size = 0;                ///< invocations of a workgroup that products use
  std::uint32_t lane_rows = 0;                 ///< of an invocation; 0: as a launch chooses
  bool is_processor = false;
  bool has_push = false;              ///< push descriptors; otherwise sets made beforehand, a command each
  bool has_dot = false;               ///< four products of signed bytes at once, in hardware or not
  bool wants_float_controls = false;  ///< the extension by name, as the version alone doesn't have it
  bool wants_dot = false;
  FloatControls controls;
  double tick_ns = 0;  ///< of the clock; 0: there is none
  std::uint32_t subgroup = 0;
  std::array<std::uint8_t, 16> device_uuid{};
  std::array<std::uint8_t, 16> driver_uuid{};
};

/// What can't be used is among them, with its reason.
std::vector<Physical> describe_devices(const Instance& instance);
Physical describe(const Instance& instance, VkPhysicalDevice device);
/// Chooses `memory_type` and `staging_type` among those that buffers may lie in (a bit each).
Outcome choose_memory(const Functions& functions, std::uint32_t allowed, Physical& physical);

}  // namespace lanewise::vulkan
