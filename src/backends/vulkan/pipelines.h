// The pipelines of a device, each made once, when it is first asked for.
#pragma once

#include <array>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "backends/vulkan/physical.h"

namespace lanewise::vulkan {

/// Which shader, and what it is specialised by.
struct PipelineKey {
  enum Kind : std::uint8_t { product, decode, image, xq, pack, unpack, read, route, reduce };
  Kind kind = product;
  std::uint8_t row = 0;    ///< of kernels.def
  std::uint8_t slots = 0;  ///< of a product; of `read`, the loads in flight
  std::uint8_t planes = 0;
  std::uint8_t lane_rows = 1;                            ///< of an invocation of a product: 1, 2 or 4
  std::uint32_t format = 0;                              ///< a Format's number
  auto operator<=>(const PipelineKey&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy sees a 0 in it
};
std::string to_string(const PipelineKey& key);

inline constexpr std::uint32_t bindings = 6;          ///< storage buffers of every shader's set
inline constexpr std::uint32_t most_constants = 128;  ///< bytes of push constants, which every device has

class Pipelines {
 public:
  /// A kernel called `spoiled` is made of the shader `spoiled_by`, for tests.
  Pipelines(const Functions& functions, VkDevice device, const Physical& physical, std::string spoiled,
            std::string spoiled_by)
      : functions_(functions),
        device_(device),
        physical_(physical),
        spoiled_(std::move(spoiled)),
        spoiled_by_(std::move(spoiled_by)) {}
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;
  ~Pipelines();
  /// `sets`: descriptor sets for a device without push descriptors.
  Outcome open(std::uint32_t sets);
  [[nodiscard]] VkDescriptorSet set(std::uint32_t index) const { return sets_[index]; }

  Result<VkPipeline> get(const PipelineKey& key);
  /// Has threads make these meanwhile: a driver compiles each for up to a second.
  void foresee(std::span<const PipelineKey> keys);
  [[nodiscard]] VkPipelineLayout layout() const { return layout_; }
  /// The pipeline's name and its shader's bits in a word without blanks.
  [[nodiscard]] std::string fingerprint(const PipelineKey& key) const;
  /// Invocations of a workgroup.
  [[nodiscard]] std::uint32_t group_size(const PipelineKey& key) const;

 private:
  Result<VkPipeline> make(const PipelineKey& key) const;
  [[nodiscard]] std::string shader_of(const PipelineKey& key) const;

  const Functions& functions_;
  VkDevice device_;
  const Physical& physical_;
  std::string spoiled_;
  std::string spoiled_by_;
  VkDescriptorSetLayout set_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorSet> sets_;
  void work();
  std::mutex making_;  ///< of what follows
  std::condition_variable is_made_;
  std::condition_variable is_foreseen_;
  bool is_leaving_ = false;
  std::map<PipelineKey, VkPipeline> made_;
  std::deque<PipelineKey> foreseen_;     ///< that no thread has taken yet
  std::vector<PipelineKey> being_made_;  ///< by threads
  std::vector<std::thread> threads_;
};

}  // namespace lanewise::vulkan
