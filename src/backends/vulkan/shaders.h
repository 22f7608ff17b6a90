// The shaders that this build holds, none where Vulkan was left out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "formats/formats.h"

namespace lanewise {
struct KernelDesc;
}

namespace lanewise::vulkan {

/// SPIR-V as CMake named it (cmake/LanewiseVulkan.cmake); empty where this build has none of that name.
std::span<const std::uint32_t> find_shader(std::string_view name);

std::string gemv_shader(const KernelDesc& kernel, Format format);

}  // namespace lanewise::vulkan
