#include "backends/vulkan/physical.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "backends/vulkan/pipelines.h"
#include "kernels/kernel.h"

namespace lanewise::vulkan {
namespace {

constexpr std::uint32_t usual_group = 256;
constexpr std::uint32_t least_group = 128;  // that every device has

bool has_extension(const std::vector<VkExtensionProperties>& list, const char* name) {
  return std::ranges::any_of(
      list, [name](const VkExtensionProperties& each) { return std::strcmp(each.extensionName, name) == 0; });
}

// Chains a struct of properties or features behind another.
template <class Struct>
void chain(void*& last, Struct& next, VkStructureType type) {
  next.sType = type;
  next.pNext = last;
  last = &next;
}

std::string version_text(std::uint32_t version) {
  return std::to_string(VK_API_VERSION_MAJOR(version)) + "." + std::to_string(VK_API_VERSION_MINOR(version)) + "." +
         std::to_string(VK_API_VERSION_PATCH(version));
}

bool find_queue(const Functions& vk, Physical& found) {
  std::uint32_t count = 0;
  vk.GetPhysicalDeviceQueueFamilyProperties(found.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.GetPhysicalDeviceQueueFamilyProperties(found.handle, &count, families.data());
  const auto family = std::ranges::find_if(
      families, [](const VkQueueFamilyProperties& each) { return (each.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0; });
  if (family == families.end()) return false;
  found.queue_family = static_cast<std::uint32_t>(family - families.begin());
  if (family->timestampValidBits == 0) found.tick_ns = 0;
  return true;
}

std::string_view kind_name(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "on the processor";
    default:
      return "of no known kind";
  }
}

// The faster kind first.
int rank(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    default:
      return 3;
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Of LANEWISE_VULKAN_DEVICE: the number of a device among all, or a part of its name.
bool is_meant(const char* wanted, std::size_t index, const std::string& name) {
  if (wanted == nullptr || *wanted == '\0') return true;
  const std::string_view text(wanted);
  std::size_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec == std::errc{} && read.ptr == text.data() + text.size()) return number == index;
  return lower(name).find(lower(text)) != std::string::npos;
}

}  // namespace

Outcome choose_memory(const Functions& functions, std::uint32_t allowed, Physical& physical) {
  VkPhysicalDeviceMemoryProperties memory{};
  functions.GetPhysicalDeviceMemoryProperties(physical.handle, &memory);
  constexpr std::uint32_t none = UINT32_MAX;
  std::uint32_t local = none;
  std::uint32_t staging = none;
  std::uint64_t room = 0;
  const auto flags = [&](std::uint32_t type) { return memory.memoryTypes[type].propertyFlags; };
  constexpr VkMemoryPropertyFlags seen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    if ((allowed >> i & 1u) == 0) continue;
    const std::uint64_t heap = memory.memoryHeaps[memory.memoryTypes[i].heapIndex].size;
    if ((flags(i) & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0 && heap > room) {
      local = i;
      room = heap;
    }
    if ((flags(i) & seen) != seen) continue;
    // Cached is what reading back wants.
    const bool cached = (flags(i) & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
    if (staging == none || (cached && (flags(staging) & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) == 0)) staging = i;
  }
  if (local == none || staging == none) {
    return make_error(LW_ERROR_DEVICE, physical.info.name + " has no memory that kernels or the host can use");
  }
  physical.info.memory_bytes = room;
  physical.memory_type = local;
  physical.staging_type = staging;
  return Done{};
}

Physical describe(const Instance& instance, VkPhysicalDevice device) {
  const Functions& vk = instance.functions();
  Physical found;
  found.handle = device;
  std::uint32_t count = 0;
  (void)vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  (void)vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data());

  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  vk.GetPhysicalDeviceProperties2(device, &properties);
  const VkPhysicalDeviceLimits limits = properties.properties.limits;
  const std::uint32_t version = properties.properties.apiVersion;
  found.info.backend = "vulkan";
  found.info.name = properties.properties.deviceName;
  found.info.major = VK_API_VERSION_MAJOR(version);
  found.info.minor = VK_API_VERSION_MINOR(version);
  if (version < VK_API_VERSION_1_1) {
    found.info.about = "Vulkan " + version_text(version);
    found.info.why_not = "it speaks Vulkan " + version_text(version) + ": 1.1 is needed";
    return found;
  }
  const bool has_dot_words =
      version >= VK_API_VERSION_1_3 || has_extension(extensions, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  const bool has_controls =
      version >= VK_API_VERSION_1_2 || has_extension(extensions, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
  const bool has_driver =
      version >= VK_API_VERSION_1_2 || has_extension(extensions, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
  const bool has_multiprocessors = has_extension(extensions, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME);

  void* asked = nullptr;
  VkPhysicalDeviceMaintenance3Properties memory{};
  chain(asked, memory, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  VkPhysicalDeviceIDProperties ids{};
  chain(asked, ids, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
  VkPhysicalDeviceSubgroupProperties subgroup{};
  chain(asked, subgroup, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  VkPhysicalDeviceDriverProperties driver{};
  if (has_driver) chain(asked, driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  VkPhysicalDeviceFloatControlsProperties controls{};
  if (has_controls) chain(asked, controls, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES);
  VkPhysicalDeviceShaderIntegerDotProductProperties dot{};
  if (has_dot_words) chain(asked, dot, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES);
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV multiprocessors{};
  if (has_multiprocessors)
    chain(asked, multiprocessors, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV);
  properties.pNext = asked;
  vk.GetPhysicalDeviceProperties2(device, &properties);

  void* features = nullptr;
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot_feature{};
  if (has_dot_words)
    chain(features, dot_feature, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
  VkPhysicalDeviceFeatures2 offered{};
  offered.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  offered.pNext = features;
  vk.GetPhysicalDeviceFeatures2(device, &offered);

  found.has_push = has_extension(extensions, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  found.has_dot = has_dot_words && dot_feature.shaderIntegerDotProduct != 0;
  found.wants_dot = found.has_dot && version < VK_API_VERSION_1_3;
  found.wants_float_controls = has_controls && version < VK_API_VERSION_1_2;
  found.controls.round_to_even = controls.shaderRoundingModeRTEFloat32 != 0;
  found.controls.keep_subnormals = controls.shaderDenormPreserveFloat32 != 0;
  found.controls.keep_specials = controls.shaderSignedZeroInfNanPreserveFloat32 != 0;
  found.most_at_once = memory.maxMemoryAllocationSize;
  found.most_bound = limits.maxStorageBufferRange;
  found.bound_alignment = static_cast<std::uint32_t>(std::max<VkDeviceSize>(4, limits.minStorageBufferOffsetAlignment));
  found.most_groups = {limits.maxComputeWorkGroupCount[0], limits.maxComputeWorkGroupCount[1]};
  found.tick_ns = static_cast<double>(limits.timestampPeriod);
  found.subgroup = subgroup.subgroupSize;
  std::copy_n(ids.deviceUUID, found.device_uuid.size(), found.device_uuid.begin());
  std::copy_n(ids.driverUUID, found.driver_uuid.size(), found.driver_uuid.begin());
  const std::uint32_t most_group = std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
  found.group_size = most_group >= usual_group ? usual_group : least_group;
  found.info.multiprocessors = has_multiprocessors ? multiprocessors.shaderSMCount : 0;
  found.info.shared_bytes = limits.maxComputeSharedMemorySize;
  found.is_processor = properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  found.info.capabilities = CAP_VULKAN;
  if (found.has_dot) found.info.capabilities |= CAP_PACKED_DOT | (found.is_processor ? CAP_NONE : CAP_VULKAN_GPU);
  const bool in_hardware = dot.integerDotProduct4x8BitPackedSignedAccelerated != 0;
  found.info.is_processor = found.is_processor;
  found.info.driver = has_driver ? std::string(driver.driverName) + " " + driver.driverInfo
                                 : "version " + std::to_string(properties.properties.driverVersion);
  found.info.about = std::string(kind_name(properties.properties.deviceType)) + ", Vulkan " + version_text(version) +
                     (has_driver ? ", driver " + found.info.driver : "") + ", subgroups of " +
                     std::to_string(found.subgroup) + ", dot products of bytes " +
                     (!found.has_dot ? "by parts"
                      : in_hardware  ? "in hardware"
                                     : "by the driver") +
                     (found.has_push ? "" : ", no push descriptors: nothing is recorded into others' command buffers");
  (void)choose_memory(vk, UINT32_MAX, found);  // for its size; which types buffers may use, a device says once opened
  if (!find_queue(vk, found)) found.info.why_not = "it has no queue that computes";
  if (limits.maxPerStageDescriptorStorageBuffers < bindings) found.info.why_not = "its shaders can't see six buffers";
  return found;
}

std::vector<Physical> describe_devices(const Instance& instance) {
  struct Ranked {
    Physical device;
    int rank;
  };
  std::vector<Ranked> all;
  for (VkPhysicalDevice handle : instance.devices()) {
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    instance.functions().GetPhysicalDeviceProperties2(handle, &properties);
    all.push_back({describe(instance, handle), rank(properties.properties.deviceType)});
  }
  std::ranges::stable_sort(all, {}, &Ranked::rank);
  const char* const wanted = std::getenv("LANEWISE_VULKAN_DEVICE");
  std::vector<Physical> list;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_meant(wanted, i, all[i].device.info.name)) continue;
    all[i].device.info.ordinal = static_cast<std::uint32_t>(list.size());
    list.push_back(std::move(all[i].device));
  }
  return list;
}

}  // namespace lanewise::vulkan
