#include "backends/vulkan/loader.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace lanewise::vulkan {
namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

// The library stays open: drivers keep threads and thread-local data that don't survive its going.
PFN_vkGetInstanceProcAddr find_loader() {
  static void* const library = [] {
    void* found = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    return found != nullptr ? found : dlopen("libvulkan.so", RTLD_NOW | RTLD_LOCAL);
  }();
  if (library == nullptr) return nullptr;
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
}

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && std::strcmp(value, "1") == 0;
}

VKAPI_ATTR VkBool32 VKAPI_CALL note_complaint(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                              const VkDebugUtilsMessengerCallbackDataEXT* data, void* instance) {
  static_cast<Instance*>(instance)->note(data->pMessage);
  return VK_FALSE;
}

std::mutex complaining;

}  // namespace

std::string result_name(VkResult result) {
#define LW_NAME(name) \
  case name:          \
    return #name;
  switch (result) {
    LW_NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
    LW_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    LW_NAME(VK_ERROR_INITIALIZATION_FAILED)
    LW_NAME(VK_ERROR_DEVICE_LOST)
    LW_NAME(VK_ERROR_MEMORY_MAP_FAILED)
    LW_NAME(VK_ERROR_LAYER_NOT_PRESENT)
    LW_NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
    LW_NAME(VK_ERROR_FEATURE_NOT_PRESENT)
    LW_NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
    LW_NAME(VK_ERROR_INVALID_SHADER_NV)
    default:
      return "VkResult " + std::to_string(result);
  }
#undef LW_NAME
}

Outcome check(VkResult result, const std::string& what) {
  if (result >= 0) return Done{};
  const bool memory = result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
  std::string message = what + ": " + result_name(result);
  if (result == VK_ERROR_DEVICE_LOST) message += "; the device is lost: nothing runs there until it is opened anew";
  return make_error(memory ? LW_ERROR_MEMORY : LW_ERROR_DEVICE, std::move(message));
}

// The functions of one level: those of nobody before there is an instance, the instance's then.
Outcome Instance::load(PFN_vkGetInstanceProcAddr get) {
  enum Level : std::uint8_t { GLOBAL, INSTANCE, DEVICE };
  const Level wanted = instance_ == VK_NULL_HANDLE ? GLOBAL : INSTANCE;
  std::string missing;
#define LW_VULKAN(level, name)                                                    \
  if (level == wanted) {                                                          \
    functions_.name = reinterpret_cast<PFN_vk##name>(get(instance_, "vk" #name)); \
    if (functions_.name == nullptr) missing = "vk" #name;                         \
  }
#include "backends/vulkan/functions.def"
#undef LW_VULKAN
  if (missing.empty()) return Done{};
  return make_error(LW_ERROR_NOT_FOUND, "the Vulkan loader has no " + missing + ": 1.1 is needed");
}

Outcome Instance::open() {
  const PFN_vkGetInstanceProcAddr get = find_loader();
  if (get == nullptr) return make_error(LW_ERROR_NOT_FOUND, "no Vulkan loader on this machine (libvulkan.so.1)");
  LW_TRY(load(get));
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "lanewise";
  application.apiVersion = VK_API_VERSION_1_3;  // the most that is asked of a device; a 1.1 one does
  VkInstanceCreateInfo create{};
  create.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  create.pApplicationInfo = &application;
  const char* const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  const VkValidationFeatureEnableEXT enables[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,
                                                  VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT,
                                                  VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT};
  VkValidationFeaturesEXT features{};
  features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
  features.enabledValidationFeatureCount = is_set("LANEWISE_VULKAN_VALIDATE_SHADERS") ? 3 : 1;
  features.pEnabledValidationFeatures = enables;
  const bool validate = is_set("LANEWISE_VULKAN_VALIDATE");
  if (validate) {
    std::uint32_t count = 0;
    LW_TRY(check(functions_.EnumerateInstanceLayerProperties(&count, nullptr), "listing Vulkan's layers"));
    std::vector<VkLayerProperties> layers(count);
    LW_TRY(check(functions_.EnumerateInstanceLayerProperties(&count, layers.data()), "listing Vulkan's layers"));
    const bool there = std::ranges::any_of(
        layers, [](const VkLayerProperties& layer) { return std::strcmp(layer.layerName, validation_layer) == 0; });
    if (!there) {
      return make_error(LW_ERROR_NOT_FOUND,
                        "LANEWISE_VULKAN_VALIDATE is 1, and VK_LAYER_KHRONOS_validation isn't installed");
    }
    create.pNext = &features;
    create.enabledLayerCount = 1;
    create.ppEnabledLayerNames = &validation_layer;
    create.enabledExtensionCount = 1;
    create.ppEnabledExtensionNames = &extension;
  }
  const VkResult created = functions_.CreateInstance(&create, nullptr, &instance_);
  if (created == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return make_error(LW_ERROR_NOT_FOUND, "the Vulkan loader finds no driver on this machine");
  }
  LW_TRY(check(created, "making a Vulkan instance"));
  owned_ = true;
  LW_TRY(load(get));
  if (!validate) return Done{};
  functions_.CreateDebugUtilsMessengerEXT =
      reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(get(instance_, "vkCreateDebugUtilsMessengerEXT"));
  functions_.DestroyDebugUtilsMessengerEXT =
      reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(get(instance_, "vkDestroyDebugUtilsMessengerEXT"));
  VkDebugUtilsMessengerCreateInfoEXT messenger{};
  messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  messenger.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = note_complaint;
  messenger.pUserData = this;
  return check(functions_.CreateDebugUtilsMessengerEXT(instance_, &messenger, nullptr, &messenger_),
               "listening to Vulkan's validation layer");
}

Instance::~Instance() {
  if (messenger_ != VK_NULL_HANDLE) functions_.DestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  if (owned_ && functions_.DestroyInstance != nullptr) functions_.DestroyInstance(instance_, nullptr);
}

Result<std::shared_ptr<Instance>> Instance::shared() {
  static std::mutex making;
  static std::weak_ptr<Instance> made;
  const std::lock_guard lock(making);
  if (auto found = made.lock()) return found;
  auto instance = std::make_shared<Instance>();
  LW_TRY(instance->open());
  made = instance;
  return instance;
}

Result<std::shared_ptr<Instance>> Instance::around(VkInstance handle,
                                                   PFN_vkGetInstanceProcAddr get_instance_proc_addr) {
  auto instance = std::make_shared<Instance>();
  instance->instance_ = handle;
  LW_TRY(instance->load(get_instance_proc_addr));
  return instance;
}

std::vector<VkPhysicalDevice> Instance::devices() const {
  std::uint32_t count = 0;
  if (functions_.EnumeratePhysicalDevices(instance_, &count, nullptr) < 0) return {};
  std::vector<VkPhysicalDevice> found(count);
  if (functions_.EnumeratePhysicalDevices(instance_, &count, found.data()) < 0) return {};
  found.resize(count);
  return found;
}

void Instance::note(const char* message) {
  const std::lock_guard lock(complaining);
  if (complaints_.fetch_add(1, std::memory_order_release) == 0) first_ = message;
}

std::string Instance::complaint() const {
  if (complaints_.load(std::memory_order_acquire) == 0) return {};
  const std::lock_guard lock(complaining);
  return first_;
}

}  // namespace lanewise::vulkan
