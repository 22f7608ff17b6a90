// The table of kernels, and which of their shaders this build holds.
#include <algorithm>
#include <array>
#include <string>

#include "backends/vulkan/shaders.h"
#include "backends/vulkan/vulkan.h"

namespace lanewise {
namespace {

constexpr std::array table = {
#define LW_KERNEL(name, formats, layout, rows, lanes, unroll, split_k, needs)                                    \
  KernelDesc{"vulkan", #name,   FormatClass::formats, Layout::layout, Tile{rows, lanes, unroll, split_k}, needs, \
             nullptr,  nullptr, vulkan::has_shader},
#include "backends/vulkan/kernels.def"
#undef LW_KERNEL
};

}  // namespace

std::span<const KernelDesc> vulkan_kernels() { return table; }

namespace vulkan {

std::string gemv_shader(const KernelDesc& kernel, Format format) {
  return "gemv_" + std::string(format_info(format).name) + "_" + std::string(layout_name(kernel.layout)) + "_" +
         std::string(kernel.name);
}

bool has_shader(const KernelDesc& kernel, Format format) { return !find_shader(gemv_shader(kernel, format)).empty(); }

}  // namespace vulkan
}  // namespace lanewise
