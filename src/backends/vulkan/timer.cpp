// Chains of launches in a command buffer of their own, run again and again between two timestamps. A barrier precedes
// each launch, so that none overlaps another.
#include "backends/gpu/timer.h"

#include <array>
#include <chrono>
#include <utility>

#include "backends/vulkan/device.h"

namespace lanewise::vulkan {
namespace {

class CommandChain final : public gpu::Chain {
 public:
  CommandChain(std::shared_ptr<OpenDevice> device, VkCommandBuffer commands, VkQueryPool clock)
      : device_(std::move(device)), commands_(commands), clock_(clock) {}
  CommandChain(const CommandChain&) = delete;
  CommandChain& operator=(const CommandChain&) = delete;
  ~CommandChain() override {
    const std::lock_guard lock(device_->mutex());
    device_->queue().free_commands(commands_);
    device_->functions().DestroyQueryPool(device_->handle(), clock_, nullptr);
  }

  Result<double> replay() override {
    const std::lock_guard lock(device_->mutex());
    LW_TRY(device_->queue().finish());
    const auto begin = std::chrono::steady_clock::now();
    LW_TRY(device_->queue().run(commands_));
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    std::array<std::uint64_t, 2> ticks{};
    LW_TRY(check(device_->functions().GetQueryPoolResults(device_->handle(), clock_, 0, 2, sizeof ticks, ticks.data(),
                                                          sizeof(std::uint64_t),
                                                          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                 "reading the device's clock"));
    const double us = static_cast<double>(ticks[1] - ticks[0]) * device_->physical().tick_ns / 1e3;
    submit_us_ = took.count() - us;
    return us;
  }
  [[nodiscard]] double submit_us() const override { return submit_us_; }

 private:
  std::shared_ptr<OpenDevice> device_;
  VkCommandBuffer commands_;
  VkQueryPool clock_;
  double submit_us_ = 0;
};

class CommandTimer final : public gpu::Timer {
 public:
  explicit CommandTimer(std::shared_ptr<OpenDevice> device) : device_(std::move(device)) {}

  Outcome open() {
    if (device_->physical().tick_ns == 0) {
      return make_error(LW_ERROR_UNSUPPORTED, device_->info().id() + " has no clock that its commands can read");
    }
    LW_ASSIGN(sink, gpu::Memory::allocate(device_, sizeof(std::uint32_t)));
    sink_ = std::move(sink);
    return Done{};
  }

  // Vulkan doesn't say: as much as any GPU of today has.
  [[nodiscard]] std::uint64_t cache_bytes() const override { return std::uint64_t{128} << 20; }

  Result<std::unique_ptr<gpu::Chain>> record(const std::function<Outcome(void* stream)>& enqueue) override {
    const Functions& vk = device_->functions();
    VkQueryPoolCreateInfo create{};
    create.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    create.queryType = VK_QUERY_TYPE_TIMESTAMP;
    create.queryCount = 2;
    VkQueryPool clock = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    {
      const std::lock_guard lock(device_->mutex());
      LW_TRY(check(vk.CreateQueryPool(device_->handle(), &create, nullptr, &clock), "making a clock"));
      auto made = device_->queue().make_commands();
      if (!made) {
        vk.DestroyQueryPool(device_->handle(), clock, nullptr);
        return std::move(made).error();
      }
      commands = *made;
    }
    auto chain = std::make_unique<CommandChain>(device_, commands, clock);
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    LW_TRY(check(vk.BeginCommandBuffer(commands, &begin), "beginning to record"));
    vk.CmdResetQueryPool(commands, clock, 0, 2);
    device_->queue().barrier(commands);
    vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, clock, 0);
    LW_TRY(enqueue(commands));
    device_->queue().barrier(commands);
    vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, clock, 1);
    LW_TRY(check(vk.EndCommandBuffer(commands), "recording a chain of launches"));
    return std::unique_ptr<gpu::Chain>(std::move(chain));
  }

  Outcome read(const std::uint8_t* from, std::uint64_t bytes, gpu::ReadShape shape, bool, void* stream) override {
    return device_->read(from, bytes, shape, sink_.data(), stream);
  }

 private:
  std::shared_ptr<OpenDevice> device_;
  gpu::Memory sink_;
};

}  // namespace

Result<std::unique_ptr<gpu::Timer>> make_timer(const std::shared_ptr<gpu::Device>& device) {
  auto timer = std::make_unique<CommandTimer>(std::static_pointer_cast<OpenDevice>(device));
  LW_TRY(timer->open());
  return std::unique_ptr<gpu::Timer>(std::move(timer));
}

}  // namespace lanewise::vulkan
