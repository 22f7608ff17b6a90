// Commands on their way to a device: batches of them, recorded one after another into one submission, with a barrier
// only where one needs what an earlier one wrote.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "backends/vulkan/loader.h"

namespace lanewise::vulkan {

/// Bytes that a command reads or writes, by address.
struct Access {
  const void* begin = nullptr;
  std::uint64_t bytes = 0;
  bool writes = false;
};

/// What the commands since the last barrier have touched.
class Hazards {
 public:
  /// Whether a command that touches these must wait for one before it; notes them, after a barrier if so.
  bool add(std::span<const Access> accesses);
  void clear() { count_ = 0; }

 private:
  [[nodiscard]] bool conflicts(const Access& access) const;
  std::array<Access, 96> noted_{};
  std::size_t count_ = 0;
};

/// A queue of a device with two batches: one is recorded while the other runs. Not for several threads at once.
class Queue {
 public:
  static constexpr std::uint32_t most_commands = 256;  ///< of a batch: then it is submitted by itself
  static constexpr std::uint32_t most_places = 2 * most_commands;

  /// `polls`: the host asks for a while whether a batch is done before it sleeps.
  Queue(const Functions& functions, VkDevice device, VkQueue queue, std::uint32_t family, bool polls)
      : functions_(functions), device_(device), queue_(queue), family_(family), polls_(polls) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue();
  Outcome open();

  /// Where a command that touches `accesses` is recorded next: the batch, or `stream`, a command buffer of somebody
  /// else's, where a barrier precedes each command. `apart`: of one call with the command before, from which it
  /// depends on nothing.
  Result<VkCommandBuffer> next(void* stream, std::span<const Access> accesses, bool apart = false);
  /// Where the batch's last command stands among all that may be on their way: 0 .. most_places-1.
  [[nodiscard]] std::uint32_t place() const {
    return static_cast<std::uint32_t>(current_) * most_commands + batches_[current_].count - 1;
  }
  /// Submits what is recorded; the host may read what it wrote once finish() is done.
  Outcome submit();
  /// Submits, and waits for everything.
  Outcome finish();
  /// A command buffer for many submissions, and what runs it and waits.
  Result<VkCommandBuffer> make_commands();
  void free_commands(VkCommandBuffer commands);
  Outcome run(VkCommandBuffer commands);

  /// Everything before against everything after, of kernels and copies.
  void barrier(VkCommandBuffer commands) const;

 private:
  struct Batch {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence done = VK_NULL_HANDLE;
    bool recording = false;
    bool running = false;
    std::uint32_t count = 0;
  };
  Outcome begin(Batch& batch);
  Outcome wait_for(Batch& batch);
  Outcome wait_for(VkFence fence) const;

  const Functions& functions_;
  VkDevice device_;
  VkQueue queue_;
  std::uint32_t family_;
  bool polls_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkFence once_ = VK_NULL_HANDLE;  ///< of run()
  std::array<Batch, 2> batches_{};
  std::size_t current_ = 0;
  Hazards hazards_;
};

}  // namespace lanewise::vulkan
