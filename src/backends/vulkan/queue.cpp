#include "backends/vulkan/queue.h"

#include <chrono>

namespace lanewise::vulkan {
namespace {

constexpr std::chrono::microseconds longest_poll{200};

}  // namespace

bool Hazards::conflicts(const Access& access) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(access.begin);
  for (std::size_t i = 0; i < count_; ++i) {
    const Access& earlier = noted_[i];
    if (!earlier.writes && !access.writes) continue;
    const auto other = reinterpret_cast<std::uintptr_t>(earlier.begin);
    if (begin < other + earlier.bytes && other < begin + access.bytes) return true;
  }
  return false;
}

bool Hazards::add(std::span<const Access> accesses) {
  bool needs = count_ + accesses.size() > noted_.size();
  for (const Access& access : accesses) needs = needs || conflicts(access);
  if (needs) count_ = 0;
  for (const Access& access : accesses) noted_[count_++] = access;
  return needs;
}

Queue::~Queue() {
  for (Batch& batch : batches_) {
    if (batch.running) (void)wait_for(batch);
    if (batch.done != VK_NULL_HANDLE) functions_.DestroyFence(device_, batch.done, nullptr);
  }
  if (once_ != VK_NULL_HANDLE) functions_.DestroyFence(device_, once_, nullptr);
  if (pool_ != VK_NULL_HANDLE) functions_.DestroyCommandPool(device_, pool_, nullptr);
}

Outcome Queue::open() {
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = family_;
  LW_TRY(check(functions_.CreateCommandPool(device_, &pool, nullptr, &pool_), "making a pool of Vulkan commands"));
  VkFenceCreateInfo fence{};
  fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  LW_TRY(check(functions_.CreateFence(device_, &fence, nullptr, &once_), "making a Vulkan fence"));
  for (Batch& batch : batches_) {
    LW_TRY(check(functions_.CreateFence(device_, &fence, nullptr, &batch.done), "making a Vulkan fence"));
    LW_ASSIGN(commands, make_commands());
    batch.commands = commands;
  }
  return Done{};
}

Result<VkCommandBuffer> Queue::make_commands() {
  VkCommandBufferAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  allocate.commandPool = pool_;
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  LW_TRY(check(functions_.AllocateCommandBuffers(device_, &allocate, &commands), "making a Vulkan command buffer"));
  return commands;
}

void Queue::free_commands(VkCommandBuffer commands) { functions_.FreeCommandBuffers(device_, pool_, 1, &commands); }

void Queue::barrier(VkCommandBuffer commands) const {
  constexpr VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkMemoryBarrier all{};
  all.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  all.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  all.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                      VK_ACCESS_TRANSFER_WRITE_BIT;
  functions_.CmdPipelineBarrier(commands, stages, stages, 0, 1, &all, 0, nullptr, 0, nullptr);
}

// To be woken takes longer than most batches run.
Outcome Queue::wait_for(VkFence fence) const {
  const std::string what = "waiting for a Vulkan device";
  const auto until = std::chrono::steady_clock::now() + longest_poll;
  while (polls_ && std::chrono::steady_clock::now() < until) {
    const VkResult result = functions_.WaitForFences(device_, 1, &fence, VK_TRUE, 0);
    if (result != VK_TIMEOUT) return check(result, what);
  }
  return check(functions_.WaitForFences(device_, 1, &fence, VK_TRUE, UINT64_MAX), what);
}

Outcome Queue::wait_for(Batch& batch) {
  if (!batch.running) return Done{};
  LW_TRY(wait_for(batch.done));
  batch.running = false;
  return check(functions_.ResetFences(device_, 1, &batch.done), "resetting a Vulkan fence");
}

Outcome Queue::begin(Batch& batch) {
  LW_TRY(wait_for(batch));
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  LW_TRY(check(functions_.BeginCommandBuffer(batch.commands, &info), "beginning a batch of Vulkan commands"));
  batch.recording = true;
  batch.count = 0;
  hazards_.clear();
  barrier(batch.commands);  // behind the batch before
  return Done{};
}

Result<VkCommandBuffer> Queue::next(void* stream, std::span<const Access> accesses, bool apart) {
  if (stream != nullptr) {
    auto* const commands = static_cast<VkCommandBuffer>(stream);
    if (!apart) barrier(commands);
    return commands;
  }
  if (batches_[current_].recording && batches_[current_].count == most_commands) LW_TRY(submit());
  Batch& batch = batches_[current_];
  if (!batch.recording) LW_TRY(begin(batch));
  if (hazards_.add(accesses)) barrier(batch.commands);
  ++batch.count;
  return batch.commands;
}

Outcome Queue::submit() {
  Batch& batch = batches_[current_];
  if (!batch.recording) return Done{};
  batch.recording = false;
  VkMemoryBarrier read{};
  read.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  read.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  read.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  functions_.CmdPipelineBarrier(batch.commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                                VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &read, 0, nullptr, 0, nullptr);
  LW_TRY(check(functions_.EndCommandBuffer(batch.commands), "ending a batch of Vulkan commands"));
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &batch.commands;
  LW_TRY(check(functions_.QueueSubmit(queue_, 1, &submit, batch.done), "submitting a batch of Vulkan commands"));
  batch.running = true;
  current_ = 1 - current_;
  return Done{};
}

Outcome Queue::finish() {
  LW_TRY(submit());
  for (Batch& batch : batches_) LW_TRY(wait_for(batch));
  return Done{};
}

Outcome Queue::run(VkCommandBuffer commands) {
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  LW_TRY(check(functions_.QueueSubmit(queue_, 1, &submit, once_), "submitting Vulkan commands"));
  LW_TRY(wait_for(once_));
  return check(functions_.ResetFences(device_, 1, &once_), "resetting a Vulkan fence");
}

}  // namespace lanewise::vulkan
