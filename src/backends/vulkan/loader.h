// Vulkan's loader, opened when a device is first asked for, and an instance of our own. The functions are members and
// not names of the process: an archive that held `vkCreateInstance` would take the engine's place of it, which is what
// volk's unit does.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace lanewise::vulkan {

struct Functions {
#define LW_VULKAN(level, name) PFN_vk##name name = nullptr;
#include "backends/vulkan/functions.def"
#undef LW_VULKAN
  // Extensions': null where they aren't there.
  PFN_vkCmdPushDescriptorSetKHR CmdPushDescriptorSetKHR = nullptr;
  PFN_vkCreateDebugUtilsMessengerEXT CreateDebugUtilsMessengerEXT = nullptr;
  PFN_vkDestroyDebugUtilsMessengerEXT DestroyDebugUtilsMessengerEXT = nullptr;
};

/// "VK_ERROR_DEVICE_LOST", or the number.
std::string result_name(VkResult result);
/// Success, or an error of ours: LW_ERROR_MEMORY where memory ran out, LW_ERROR_DEVICE otherwise.
Outcome check(VkResult result, const std::string& what);

class Instance {
 public:
  Instance() = default;
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  /// One for the process while anyone holds it. LANEWISE_VULKAN_VALIDATE=1 puts the Khronos validation layer (core and
  /// synchronisation) under it, or is an error. Errors: LW_ERROR_NOT_FOUND with the reason.
  static Result<std::shared_ptr<Instance>> shared();
  /// Around an instance of the caller's, whose functions `get_instance_proc_addr` gives.
  static Result<std::shared_ptr<Instance>> around(VkInstance instance,
                                                  PFN_vkGetInstanceProcAddr get_instance_proc_addr);

  [[nodiscard]] const Functions& functions() const { return functions_; }
  [[nodiscard]] VkInstance handle() const { return instance_; }
  [[nodiscard]] std::vector<VkPhysicalDevice> devices() const;
  /// What the validation layer has said first, empty: nothing. It is our fault.
  [[nodiscard]] std::string complaint() const;
  void note(const char* message);
  void forget_complaints() { complaints_.store(0, std::memory_order_release); }

 private:
  Outcome open();
  Outcome load(PFN_vkGetInstanceProcAddr get);

  Functions functions_;
  VkInstance instance_ = VK_NULL_HANDLE;
  bool owned_ = false;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::atomic<std::uint64_t> complaints_ = 0;
  std::string first_;
};

}  // namespace lanewise::vulkan
