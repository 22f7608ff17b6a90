// The least of Vulkan that runs one compute shader over a buffer: for tests, so every failure throws std::runtime_error
// with the call's name and result.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lanewise::test {

class VulkanDevice {
 public:
  /// Null where there is no loader, no device with a compute queue; `why` then says which.
  static std::unique_ptr<VulkanDevice> open(std::string& why);
  virtual ~VulkanDevice() = default;

  /// Runs `invocations` (rounded up to groups of 64) of a shader whose binding 0 is `input`, binding 1 the
  /// `output_words` words that are returned, and whose push constant is `invocations`. The output starts as 0xDEADBEEF.
  virtual std::vector<std::uint32_t> run(std::span<const std::uint32_t> spirv, std::span<const std::uint8_t> input,
                                         std::span<const std::uint32_t> table, std::size_t output_words,
                                         std::uint32_t invocations) = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  /// What the validation layer had to say, if it is installed.
  [[nodiscard]] virtual bool validated() const = 0;
  [[nodiscard]] virtual const std::vector<std::string>& complaints() const = 0;
};

}  // namespace lanewise::test
