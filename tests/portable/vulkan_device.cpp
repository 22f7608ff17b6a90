#include "portable/vulkan_device.h"

#define VOLK_IMPLEMENTATION
#include <volk.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace lanewise::test {
namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

void check(VkResult result, const char* call) {
  if (result != VK_SUCCESS) throw std::runtime_error(std::string(call) + ": " + std::to_string(result));
}

bool has_layer(const char* wanted) {
  std::uint32_t count = 0;
  vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  vkEnumerateInstanceLayerProperties(&count, layers.data());
  return std::ranges::any_of(layers, [wanted](const auto& layer) { return std::strcmp(layer.layerName, wanted) == 0; });
}

VKAPI_ATTR VkBool32 VKAPI_CALL note_complaint(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                              const VkDebugUtilsMessengerCallbackDataEXT* data, void* list) {
  static_cast<std::vector<std::string>*>(list)->emplace_back(data->pMessage);
  return VK_FALSE;
}

class Device final : public VulkanDevice {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() override {
    if (pool_ != VK_NULL_HANDLE) vkDestroyCommandPool(device_, pool_, nullptr);
    if (device_ != VK_NULL_HANDLE) vkDestroyDevice(device_, nullptr);
    if (messenger_ != VK_NULL_HANDLE) vkDestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
    if (instance_ != VK_NULL_HANDLE) vkDestroyInstance(instance_, nullptr);
  }

  // An empty string, or why there is no device.
  std::string set_up() {
    if (volkInitialize() != VK_SUCCESS) return "no Vulkan loader";
    if (!make_instance()) return "no Vulkan driver";
    std::uint32_t count = 0;
    vkEnumeratePhysicalDevices(instance_, &count, nullptr);
    std::vector<VkPhysicalDevice> devices(count);
    vkEnumeratePhysicalDevices(instance_, &count, devices.data());
    for (VkPhysicalDevice device : devices) {
      if (find_queue(device)) {
        make_device();
        return "";
      }
    }
    return "no Vulkan device with a compute queue among " + std::to_string(count);
  }

  std::vector<std::uint32_t> run(std::span<const std::uint32_t> spirv, std::span<const std::uint8_t> input,
                                 std::span<const std::uint32_t> table, std::size_t output_words,
                                 std::uint32_t invocations) override;
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] bool validated() const override { return messenger_ != VK_NULL_HANDLE; }
  [[nodiscard]] const std::vector<std::string>& complaints() const override { return complaints_; }

 private:
  struct Buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    void* mapped;
  };

  // False where the loader finds no driver.
  bool make_instance() {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo create{};
    create.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    create.pApplicationInfo = &application;
    const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    const bool validate = has_layer(validation_layer);
    if (validate) {
      create.enabledLayerCount = 1;
      create.ppEnabledLayerNames = &validation_layer;
      create.enabledExtensionCount = 1;
      create.ppEnabledExtensionNames = &extension;
    }
    const VkResult created = vkCreateInstance(&create, nullptr, &instance_);
    if (created == VK_ERROR_INCOMPATIBLE_DRIVER) return false;
    check(created, "vkCreateInstance");
    volkLoadInstance(instance_);
    if (!validate) return true;
    VkDebugUtilsMessengerCreateInfoEXT messenger{};
    messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    messenger.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
    messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    messenger.pfnUserCallback = note_complaint;
    messenger.pUserData = &complaints_;
    check(vkCreateDebugUtilsMessengerEXT(instance_, &messenger, nullptr, &messenger_),
          "vkCreateDebugUtilsMessengerEXT");
    return true;
  }

  bool find_queue(VkPhysicalDevice device) {
    std::uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
    for (family_ = 0; family_ < count; ++family_) {
      if ((families[family_].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
      physical_ = device;
      VkPhysicalDeviceProperties properties{};
      vkGetPhysicalDeviceProperties(device, &properties);
      name_ = properties.deviceName;
      return true;
    }
    return false;
  }

  void make_device() {
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = family_;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo create{};
    create.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    create.queueCreateInfoCount = 1;
    create.pQueueCreateInfos = &queue;
    check(vkCreateDevice(physical_, &create, nullptr, &device_), "vkCreateDevice");
    volkLoadDevice(device_);
    vkGetDeviceQueue(device_, family_, 0, &queue_);
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.queueFamilyIndex = family_;
    check(vkCreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");
  }

  Buffer make_buffer(VkDeviceSize size) {
    Buffer made{};
    VkBufferCreateInfo create{};
    create.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    create.size = size;
    create.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    check(vkCreateBuffer(device_, &create, nullptr, &made.buffer), "vkCreateBuffer");
    VkMemoryRequirements needs{};
    vkGetBufferMemoryRequirements(device_, made.buffer, &needs);
    VkPhysicalDeviceMemoryProperties memory{};
    vkGetPhysicalDeviceMemoryProperties(physical_, &memory);
    constexpr VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkMemoryAllocateInfo allocate{};
    allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocate.allocationSize = needs.size;
    for (; allocate.memoryTypeIndex < memory.memoryTypeCount; ++allocate.memoryTypeIndex) {
      const bool allowed = (needs.memoryTypeBits >> allocate.memoryTypeIndex & 1u) != 0;
      if (allowed && (memory.memoryTypes[allocate.memoryTypeIndex].propertyFlags & wanted) == wanted) break;
    }
    if (allocate.memoryTypeIndex == memory.memoryTypeCount) throw std::runtime_error("no memory that the host can see");
    check(vkAllocateMemory(device_, &allocate, nullptr, &made.memory), "vkAllocateMemory");
    check(vkBindBufferMemory(device_, made.buffer, made.memory, 0), "vkBindBufferMemory");
    check(vkMapMemory(device_, made.memory, 0, VK_WHOLE_SIZE, 0, &made.mapped), "vkMapMemory");
    return made;
  }

  void free_buffer(const Buffer& buffer) {
    vkDestroyBuffer(device_, buffer.buffer, nullptr);
    vkFreeMemory(device_, buffer.memory, nullptr);
  }

  std::vector<std::string> complaints_;
  std::string name_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::uint32_t family_ = 0;
};

std::vector<std::uint32_t> Device::run(std::span<const std::uint32_t> spirv, std::span<const std::uint8_t> input,
                                       std::span<const std::uint32_t> table, std::size_t output_words,
                                       std::uint32_t invocations) {
  // A word more than the blocks, since the last unaligned load may straddle into it.
  const Buffer in = make_buffer((input.size() + 7) / 4 * 4);
  const Buffer out = make_buffer(output_words * 4);
  const Buffer look_up = make_buffer(table.size_bytes() + 4);
  std::memcpy(in.mapped, input.data(), input.size());
  if (!table.empty()) std::memcpy(look_up.mapped, table.data(), table.size_bytes());
  std::vector<std::uint32_t> results(output_words, 0xDEADBEEFu);
  std::memcpy(out.mapped, results.data(), output_words * 4);

  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = spirv.size_bytes();
  module_info.pCode = spirv.data();
  VkShaderModule module = VK_NULL_HANDLE;
  check(vkCreateShaderModule(device_, &module_info, nullptr, &module), "vkCreateShaderModule");

  VkDescriptorSetLayoutBinding bindings[3] = {};
  for (std::uint32_t i = 0; i < 3; ++i) {
    bindings[i].binding = i;
    bindings[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    bindings[i].descriptorCount = 1;
    bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo set_info{};
  set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set_info.bindingCount = 3;
  set_info.pBindings = bindings;
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  check(vkCreateDescriptorSetLayout(device_, &set_info, nullptr, &set_layout), "vkCreateDescriptorSetLayout");
  const VkPushConstantRange constants{VK_SHADER_STAGE_COMPUTE_BIT, 0, 4};
  VkPipelineLayoutCreateInfo layout_info{};
  layout_info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout_info.setLayoutCount = 1;
  layout_info.pSetLayouts = &set_layout;
  layout_info.pushConstantRangeCount = 1;
  layout_info.pPushConstantRanges = &constants;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  check(vkCreatePipelineLayout(device_, &layout_info, nullptr, &layout), "vkCreatePipelineLayout");
  VkComputePipelineCreateInfo pipeline_info{};
  pipeline_info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  pipeline_info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  pipeline_info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  pipeline_info.stage.module = module;
  pipeline_info.stage.pName = "main";
  pipeline_info.layout = layout;
  VkPipeline pipeline = VK_NULL_HANDLE;
  check(vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &pipeline_info, nullptr, &pipeline),
        "vkCreateComputePipelines");

  const VkDescriptorPoolSize pool_size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
  VkDescriptorPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool_info.maxSets = 1;
  pool_info.poolSizeCount = 1;
  pool_info.pPoolSizes = &pool_size;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  check(vkCreateDescriptorPool(device_, &pool_info, nullptr, &pool), "vkCreateDescriptorPool");
  VkDescriptorSetAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  allocate.descriptorPool = pool;
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = &set_layout;
  VkDescriptorSet set = VK_NULL_HANDLE;
  check(vkAllocateDescriptorSets(device_, &allocate, &set), "vkAllocateDescriptorSets");
  const VkDescriptorBufferInfo infos[3] = {
      {in.buffer, 0, VK_WHOLE_SIZE}, {out.buffer, 0, VK_WHOLE_SIZE}, {look_up.buffer, 0, VK_WHOLE_SIZE}};
  VkWriteDescriptorSet write{};
  write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
  write.dstSet = set;
  write.descriptorCount = 3;
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.pBufferInfo = infos;
  vkUpdateDescriptorSets(device_, 1, &write, 0, nullptr);

  VkCommandBufferAllocateInfo command_info{};
  command_info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  command_info.commandPool = pool_;
  command_info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  command_info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(vkAllocateCommandBuffers(device_, &command_info, &commands), "vkAllocateCommandBuffers");
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
  vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &invocations);
  vkCmdDispatch(commands, (invocations + 63) / 64, 1, 1);
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                       nullptr, 0, nullptr);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  check(vkQueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  check(vkQueueWaitIdle(queue_), "vkQueueWaitIdle");
  std::memcpy(results.data(), out.mapped, output_words * 4);

  vkFreeCommandBuffers(device_, pool_, 1, &commands);
  vkDestroyDescriptorPool(device_, pool, nullptr);
  vkDestroyPipeline(device_, pipeline, nullptr);
  vkDestroyPipelineLayout(device_, layout, nullptr);
  vkDestroyDescriptorSetLayout(device_, set_layout, nullptr);
  vkDestroyShaderModule(device_, module, nullptr);
  free_buffer(in);
  free_buffer(out);
  free_buffer(look_up);
  return results;
}

}  // namespace

std::unique_ptr<VulkanDevice> VulkanDevice::open(std::string& why) {
  auto device = std::make_unique<Device>();
  why = device->set_up();
  if (!why.empty()) return nullptr;
  return device;
}

}  // namespace lanewise::test
