// What is changed in SPIR-V for a device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lanewise::vulkan {

/// What a shader asks of a device's fp32 arithmetic, where the device offers it.
struct FloatControls {
  bool round_to_even = false;
  bool keep_subnormals = false;
  bool keep_specials = false;  ///< signed zeros, infinities, NaNs
};

/// The module with these execution modes declared.
std::vector<std::uint32_t> with_float_controls(std::span<const std::uint32_t> module, const FloatControls& controls);

}  // namespace lanewise::vulkan
