// Opening a Vulkan device, its memory, and copies there and back.
#include "backends/vulkan/device.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "base/checked.h"

namespace lanewise::vulkan {
namespace {

constexpr std::uint64_t staging_bytes = std::uint64_t{16} << 20;
// Of memory that waits to be given back.
constexpr std::uint64_t most_leaving = std::uint64_t{64} << 20;
// Where the eighths of split rows meet: 16,384 rows of eight tokens at once.
constexpr std::uint64_t usual_scratch = std::uint64_t{4} << 20;

Outcome load_device(const Functions& from, VkDevice device, Functions& to) {
  enum Level : std::uint8_t { GLOBAL, INSTANCE, DEVICE };
  std::string missing;
#define LW_VULKAN(level, name)                                                            \
  if (level == DEVICE) {                                                                  \
    to.name = reinterpret_cast<PFN_vk##name>(from.GetDeviceProcAddr(device, "vk" #name)); \
    if (to.name == nullptr) missing = "vk" #name;                                         \
  }
#include "backends/vulkan/functions.def"
#undef LW_VULKAN
  to.CmdPushDescriptorSetKHR =
      reinterpret_cast<PFN_vkCmdPushDescriptorSetKHR>(from.GetDeviceProcAddr(device, "vkCmdPushDescriptorSetKHR"));
  if (missing.empty()) return Done{};
  return make_error(LW_ERROR_DEVICE, "the Vulkan driver has no " + missing);
}

}  // namespace

OpenDevice::~OpenDevice() {
  if (device_ == VK_NULL_HANDLE) return;
  if (owned_) (void)functions_.DeviceWaitIdle(device_);
  queue_.reset();
  pipelines_.reset();
  heap_.reset();
  if (staging_ != VK_NULL_HANDLE) functions_.DestroyBuffer(device_, staging_, nullptr);
  if (staging_memory_ != VK_NULL_HANDLE) functions_.FreeMemory(device_, staging_memory_, nullptr);
  if (owned_) functions_.DestroyDevice(device_, nullptr);
}

Outcome OpenDevice::open() {
  const std::string what = "opening " + info().id();
  if (overrides_.no_push) physical_.has_push = false;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = physical_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  std::vector<const char*> extensions;
  if (physical_.has_push) extensions.push_back(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  if (physical_.wants_dot) extensions.push_back(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  if (physical_.wants_float_controls) extensions.push_back(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot{};
  dot.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
  dot.shaderIntegerDotProduct = VK_TRUE;
  VkDeviceCreateInfo create{};
  create.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  create.pNext = physical_.has_dot ? &dot : nullptr;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  create.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  create.ppEnabledExtensionNames = extensions.data();
  VkDevice device = VK_NULL_HANDLE;
  LW_TRY(check(functions_.CreateDevice(physical_.handle, &create, nullptr, &device), what));
  LW_TRY(load_device(instance_->functions(), device, functions_));
  device_ = device;
  VkQueue handle = VK_NULL_HANDLE;
  functions_.GetDeviceQueue(device_, physical_.queue_family, 0, &handle);
  return set_up(handle);
}

Outcome OpenDevice::open_on(VkDevice device, VkQueue queue) {
  LW_TRY(load_device(instance_->functions(), device, functions_));
  owned_ = false;
  device_ = device;
  // Of a device that was made without the extension the function may be there all the same, or not.
  physical_.has_push = physical_.has_push && functions_.CmdPushDescriptorSetKHR != nullptr;
  return set_up(queue);
}

Outcome OpenDevice::set_up(VkQueue queue) {
  // Which memory buffers may lie in is the same for all of one usage.
  VkBufferCreateInfo probe{};
  probe.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  probe.size = 256;
  probe.usage =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  VkBuffer buffer = VK_NULL_HANDLE;
  LW_TRY(check(functions_.CreateBuffer(device_, &probe, nullptr, &buffer), "opening " + info().id()));
  VkMemoryRequirements needs{};
  functions_.GetBufferMemoryRequirements(device_, buffer, &needs);
  functions_.DestroyBuffer(device_, buffer, nullptr);
  LW_TRY(choose_memory(instance_->functions(), needs.memoryTypeBits, physical_));
  heap_.emplace(functions_, device_, physical_.memory_type, physical_.most_at_once);
  queue_.emplace(functions_, device_, queue, physical_.queue_family, !physical_.is_processor || overrides_.polls);
  pipelines_.emplace(functions_, device_, physical_, overrides_.spoiled, overrides_.spoiled_by);
  if (!overrides_.forgetful) verdicts_.open(physical_);
  LW_TRY(queue_->open());
  LW_TRY(pipelines_->open(Queue::most_places));
  scratch_bytes_ = std::min({usual_scratch, physical_.most_at_once, physical_.most_bound - physical_.bound_alignment}) /
                   Heap::alignment * Heap::alignment;
  LW_ASSIGN(scratch, heap_->allocate(scratch_bytes_, 0));
  scratch_ = scratch;
  return make_staging();
}

// What copies to and from the host pass through.
Outcome OpenDevice::make_staging() {
  const std::string what = "making room for copies to " + info().id();
  VkBufferCreateInfo create{};
  create.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  create.size = staging_bytes;
  create.usage =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  LW_TRY(check(functions_.CreateBuffer(device_, &create, nullptr, &staging_), what));
  VkMemoryRequirements needs{};
  functions_.GetBufferMemoryRequirements(device_, staging_, &needs);
  VkMemoryAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = physical_.staging_type;
  LW_TRY(check(functions_.AllocateMemory(device_, &allocate, nullptr, &staging_memory_), what));
  LW_TRY(check(functions_.BindBufferMemory(device_, staging_, staging_memory_, 0), what));
  return check(functions_.MapMemory(device_, staging_memory_, 0, VK_WHOLE_SIZE, 0, &staged_), what);
}

Result<std::uint8_t*> OpenDevice::allocate(std::uint64_t bytes, std::uint64_t together) {
  const std::lock_guard lock(mutex_);
  auto memory = heap_->allocate(bytes, together);
  if (memory || leaving_.empty()) return memory;
  LW_TRY(finish());
  return heap_->allocate(bytes, together);
}

void OpenDevice::release(std::uint8_t* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint64_t bytes = heap_->size(memory);
  std::erase_if(routings_, [&](const auto& each) {
    const auto* const routes = reinterpret_cast<const std::uint8_t*>(each.first);
    return routes >= memory && routes < memory + bytes;
  });
  // What still reads it must end first. Memory of an engine's may be gone once this returns.
  leaving_.push_back(memory);
  leaving_bytes_ += bytes;
  if (!owned_ || leaving_bytes_ > most_leaving) (void)finish();
}

// Waits for all that was enqueued: what copies have left in the staging memory is then free, and so is memory to be
// given back.
Outcome OpenDevice::finish() {
  Outcome done = queue_->finish();
  staged_bytes_ = 0;
  for (std::uint8_t* const memory : leaving_) heap_->release(memory);
  leaving_.clear();
  leaving_bytes_ = 0;
  return done;
}

// Nothing but this queue sees memory of a device of our own, so that what is written there needn't be waited for.
Outcome OpenDevice::settle() { return owned_ ? Outcome(Done{}) : finish(); }

Result<std::uint8_t*> OpenDevice::adopt(VkBuffer buffer, std::uint64_t offset, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return heap_->adopt(buffer, offset, bytes);
}

Outcome OpenDevice::check_memory(const void* memory, std::string_view what) {
  const std::lock_guard lock(mutex_);
  if (heap_->find(memory).left != 0) return Done{};
  return make_error(LW_ERROR_ARGUMENT, std::string(what) + " is no memory of " + info().id());
}

Outcome OpenDevice::wait(void* stream) {
  const std::lock_guard lock(mutex_);
  if (stream == nullptr) LW_TRY(finish());
  if (std::string complaint = instance_->complaint(); !complaint.empty()) {
    return make_error(LW_ERROR_INTERNAL, "Vulkan's validation layer says: " + std::move(complaint));
  }
  return Done{};
}

// A command buffer of somebody else's may be reset between calls: nothing is known of what stands in it.
Result<std::uint64_t> OpenDevice::capture_of(void* stream) {
  const std::lock_guard lock(mutex_);
  return stream == nullptr ? 0 : ++foreign_calls_;
}

Outcome OpenDevice::record_copy(const Place& from, const Place& to, std::uint64_t bytes,
                                std::span<const Access> accesses) {
  LW_ASSIGN(commands, queue_->next(nullptr, accesses));
  const VkBufferCopy region{from.offset, to.offset, bytes};
  functions_.CmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
  return Done{};
}

Outcome OpenDevice::copy(void* to, const void* from, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  LW_TRY(copy_locked(to, from, bytes));
  return settle();
}

Outcome OpenDevice::copy_locked(void* to, const void* from, std::uint64_t bytes) {
  auto* out = static_cast<std::uint8_t*>(to);
  const auto* in = static_cast<const std::uint8_t*>(from);
  while (bytes != 0) {
    const Place target = heap_->find(out);
    const Place source = heap_->find(in);
    // Each copy has staging memory of its own until all of it is taken.
    if (staging_bytes - staged_bytes_ < std::min(bytes, staging_bytes / 4)) LW_TRY(finish());
    const Place staging{staging_, staged_bytes_, staging_bytes - staged_bytes_};
    std::uint8_t* const staged = static_cast<std::uint8_t*>(staged_) + staged_bytes_;
    std::uint64_t part = bytes;
    if (target.left != 0) part = std::min(part, target.left);
    if (source.left != 0) part = std::min(part, source.left);
    const Access reads{in, part, false};
    const Access writes{out, part, true};
    if (target.left != 0 && source.left != 0) {
      LW_TRY(record_copy(source, target, part, std::array{reads, writes}));
    } else if (target.left != 0) {
      part = std::min(part, staging.left);
      std::memcpy(staged, in, part);
      LW_TRY(record_copy(staging, target, part, std::array{writes}));
      staged_bytes_ = std::min(staging_bytes, ceil_div(staged_bytes_ + part, 16) * 16);
    } else if (source.left != 0) {
      part = std::min(part, staging.left);
      LW_TRY(record_copy(source, staging, part, std::array{reads}));
      LW_TRY(finish());
      std::memcpy(out, staged, part);
    } else {
      std::memmove(out, in, part);
    }
    out += part;
    in += part;
    bytes -= part;
  }
  return Done{};
}

Outcome OpenDevice::fill(void* to, std::uint8_t byte, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto* out = static_cast<std::uint8_t*>(to);
  while (bytes != 0) {
    const Place target = heap_->find(out);
    if (target.left == 0) return make_error(LW_ERROR_ARGUMENT, "what is to be filled is no memory of " + info().id());
    std::uint64_t part = std::min(bytes, target.left);
    if (target.offset % 4 == 0 && part >= 4) {
      part -= part % 4;
      LW_ASSIGN(commands, queue_->next(nullptr, std::array{Access{out, part, true}}));
      functions_.CmdFillBuffer(commands, target.buffer, target.offset, part, byte * 0x01010101u);
    } else {
      // Words alone can be filled: what stands before the first and behind the last is copied.
      part = std::min(part, 4 - target.offset % 4);
      std::array<std::uint8_t, 4> few{};
      few.fill(byte);
      LW_TRY(copy_locked(out, few.data(), part));
    }
    out += part;
    bytes -= part;
  }
  return settle();
}

// One for the process while anyone holds it, so that memory of one handle is memory of all.
Result<std::shared_ptr<gpu::Device>> open_device(std::uint32_t ordinal) {
  // For measuring: how large workgroups are, and how many rows an invocation has. For tests of the program: a driver
  // that gives less memory at once.
  const auto number = [](const char* variable) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? 0U : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
  };
  Overrides measured;
  measured.group_size = number("LANEWISE_VULKAN_GROUP");
  measured.lane_rows = number("LANEWISE_VULKAN_LANE_ROWS");
  measured.most_at_once = number("LANEWISE_VULKAN_AT_ONCE");
  static std::mutex opening;
  static std::map<std::uint32_t, std::weak_ptr<gpu::Device>> opened;
  const std::lock_guard lock(opening);
  if (auto found = opened[ordinal].lock()) return found;
  LW_ASSIGN(device, open_device(ordinal, measured));
  opened[ordinal] = device;
  return device;
}

Result<std::shared_ptr<gpu::Device>> open_device(std::uint32_t ordinal, const Overrides& overrides) {
  LW_ASSIGN(instance, Instance::shared());
  std::vector<Physical> devices = describe_devices(*instance);
  if (ordinal >= devices.size()) {
    return make_error(LW_ERROR_NOT_FOUND, "no device 'vulkan:" + std::to_string(ordinal) + "': this machine has " +
                                              std::to_string(devices.size()) + " Vulkan device" +
                                              (devices.size() == 1 ? "" : "s"));
  }
  Physical& physical = devices[ordinal];
  if (!physical.info.why_not.empty()) {
    return make_error(LW_ERROR_UNSUPPORTED,
                      physical.info.id() + " (" + physical.info.name + ") can't be used: " + physical.info.why_not);
  }
  if (overrides.most_at_once != 0) physical.most_at_once = overrides.most_at_once;
  if (overrides.most_bound != 0) physical.most_bound = overrides.most_bound;
  if (overrides.most_groups != 0) physical.most_groups[0] = overrides.most_groups;
  if (overrides.group_size != 0) {
    if (overrides.group_size % 64 != 0 || overrides.group_size > physical.group_size) {
      return make_error(LW_ERROR_ARGUMENT, "workgroups of " + std::to_string(overrides.group_size) +
                                               " invocations: multiples of 64 up to " +
                                               std::to_string(physical.group_size));
    }
    physical.group_size = overrides.group_size;
  }
  if (overrides.lane_rows > 4 || overrides.lane_rows == 3) {
    return make_error(LW_ERROR_ARGUMENT, "an invocation has one row, two or four");
  }
  if (overrides.lane_rows != 0) physical.lane_rows = overrides.lane_rows;
  physical.info.capabilities |= overrides.capabilities;
  auto device = std::make_shared<OpenDevice>(instance, std::move(physical), overrides);
  LW_TRY(device->open());
  return std::shared_ptr<gpu::Device>(std::move(device));
}

Result<std::shared_ptr<gpu::Device>> open_device(const Foreign& foreign) {
  LW_ASSIGN(instance, Instance::around(static_cast<VkInstance>(foreign.instance),
                                       reinterpret_cast<PFN_vkGetInstanceProcAddr>(foreign.get_instance_proc_addr)));
  Physical physical = describe(*instance, static_cast<VkPhysicalDevice>(foreign.physical_device));
  if (!physical.info.why_not.empty()) {
    return make_error(LW_ERROR_UNSUPPORTED, physical.info.name + " can't be used: " + physical.info.why_not);
  }
  physical.queue_family = foreign.queue_family;
  if (!foreign.has_dot) physical.info.capabilities = CAP_VULKAN;
  // What wasn't asked for when the device was made can't be used.
  if (physical.wants_float_controls) physical.controls = {};
  auto device = std::make_shared<OpenDevice>(instance, std::move(physical), Overrides{});
  LW_TRY(device->open_on(static_cast<VkDevice>(foreign.device), static_cast<VkQueue>(foreign.queue)));
  return std::shared_ptr<gpu::Device>(std::move(device));
}

Result<std::uint8_t*> adopt_buffer(gpu::Device& device, std::uint64_t buffer, std::uint64_t offset,
                                   std::uint64_t bytes) {
  // A handle that is a pointer where pointers have 64 bits, a number elsewhere.
  return static_cast<OpenDevice&>(device).adopt(std::bit_cast<VkBuffer>(buffer), offset, bytes);
}

Result<std::vector<gpu::DeviceInfo>> list_devices() {
  LW_ASSIGN(instance, Instance::shared());
  std::vector<gpu::DeviceInfo> list;
  for (const Physical& physical : describe_devices(*instance)) list.push_back(physical.info);
  if (list.empty()) {
    return make_error(LW_ERROR_NOT_FOUND, instance->devices().empty()
                                              ? "the Vulkan loader finds no device on this machine"
                                              : "LANEWISE_VULKAN_DEVICE names none of this machine's Vulkan devices");
  }
  return list;
}

}  // namespace lanewise::vulkan
