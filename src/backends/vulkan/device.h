// A Vulkan device, opened: what stands behind gpu::Device here.
#pragma once

#include <mutex>
#include <optional>

#include "backends/gpu/gpu.h"
#include "backends/vulkan/memory.h"
#include "backends/vulkan/physical.h"
#include "backends/vulkan/pipelines.h"
#include "backends/vulkan/queue.h"
#include "backends/vulkan/self_test.h"
#include "backends/vulkan/vulkan.h"

namespace lanewise::vulkan {

class OpenDevice final : public gpu::Device {
 public:
  OpenDevice(std::shared_ptr<Instance> instance, Physical physical, Overrides overrides)
      : instance_(std::move(instance)),
        functions_(instance_->functions()),
        physical_(std::move(physical)),
        overrides_(std::move(overrides)) {}
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;
  ~OpenDevice() override;
  Outcome open();
  /// On a device of somebody else's.
  Outcome open_on(VkDevice device, VkQueue queue);
  Result<std::uint8_t*> adopt(VkBuffer buffer, std::uint64_t offset, std::uint64_t bytes);

  [[nodiscard]] const gpu::DeviceInfo& info() const override { return physical_.info; }
  Result<std::uint8_t*> allocate(std::uint64_t bytes, std::uint64_t together) override;
  void release(std::uint8_t* memory) noexcept override;
  Outcome copy(void* to, const void* from, std::uint64_t bytes) override;
  Outcome fill(void* to, std::uint8_t byte, std::uint64_t bytes) override;
  Outcome check_memory(const void* memory, std::string_view what) override;
  Outcome wait(void* stream) override;
  Result<std::uint64_t> capture_of(void* stream) override;
  [[nodiscard]] Layout preferred_layout() const override { return Layout::rows16; }
  [[nodiscard]] bool has_layout(Layout layout, Format format) const override;
  [[nodiscard]] std::uint64_t layout_bytes(Layout layout, const MatrixView& shape) const override;
  [[nodiscard]] std::uint64_t layout_unit(Layout layout, const MatrixView& shape) const override;
  Outcome make_image(const gpu::ImageTask& task, void* stream) override;
  Outcome make_floats(const gpu::ImageTask& task, std::uint32_t index, void* stream) override;
  Outcome route(const gpu::Routing& routing, bool overlapped, void* stream) override;
  Outcome launch(const KernelDesc& kernel, Format format, const gpu::Launch& what, void* stream) override;
  void foresee(const KernelDesc& kernel, Format format, std::span<const Planes> planes,
               std::span<const std::uint64_t> tokens) override;
  Result<const KernelDesc*> stands_in(const KernelDesc& kernel, Format format, const gpu::Launch& what) override;
  Outcome pack(Layout layout, const MatrixView& raw, std::uint8_t* out, void* stream) override;
  Outcome unpack(Layout layout, const MatrixView& packed, std::uint8_t* out, void* stream) override;
  Outcome dequantize(Format format, const std::uint8_t* w, std::uint64_t elements, float* out, void* stream) override;

  [[nodiscard]] std::vector<std::string> warnings() const override;
  /// Workgroups that share a row (1, 2, 4, 8), rows of an invocation (1, 2, 4).
  [[nodiscard]] std::span<const gpu::Tiling> tilings(const KernelDesc& kernel) const override;
  [[nodiscard]] bool takes_tiling(const KernelDesc& kernel, const gpu::Tiling& tiling) const override;

  // For the timer and tests.
  [[nodiscard]] Instance& instance() { return *instance_; }
  [[nodiscard]] const Functions& functions() const { return functions_; }
  [[nodiscard]] const Physical& physical() const { return physical_; }
  [[nodiscard]] VkDevice handle() const { return device_; }
  [[nodiscard]] Queue& queue() { return *queue_; }
  [[nodiscard]] std::mutex& mutex() { return mutex_; }
  Outcome read(const std::uint8_t* from, std::uint64_t bytes, gpu::ReadShape shape, std::uint8_t* sink, void* stream);

 private:
  /// A stretch of device memory as a shader is given it.
  struct Bound {
    const void* address = nullptr;
    std::uint64_t bytes = 0;
    bool writes = false;
    std::uint32_t binding = 0;
    std::uint32_t rest = 0;  ///< set: bytes of the binding before `address`
    VkDescriptorBufferInfo info{};
  };
  struct Grid {
    std::uint32_t x = 1;
    std::uint32_t y = 1;
    std::uint32_t z = 1;
  };
  /// One expert of a product with experts.
  struct Expert {
    std::uint32_t number = 0;
    bool first = false;  ///< of its target: later ones write elsewhere in the same y
  };
  Outcome bind(Bound& bound) const;
  [[nodiscard]] std::optional<Grid> grid_of(std::uint64_t groups) const;
  /// Records a dispatch; the bound's `info` are made before, by bind().
  Outcome dispatch(const PipelineKey& key, std::span<const Bound> bounds, const void* constants, std::uint32_t bytes,
                   Grid grid, void* stream, bool apart = false);
  Outcome copy_locked(void* to, const void* from, std::uint64_t bytes);
  Outcome record_copy(const Place& from, const Place& to, std::uint64_t bytes, std::span<const Access> accesses);
  Outcome finish();
  Outcome settle();
  Outcome set_up(VkQueue queue);
  Outcome make_staging();
  Outcome move_words(PipelineKey::Kind kind, const MatrixView& matrix, std::uint64_t rows, const std::uint8_t* from,
                     std::uint8_t* to, void* stream);
  Outcome move_tiles(PipelineKey::Kind kind, const MatrixView& matrix, std::uint8_t* out, void* stream);
  Outcome launch_rows(const PipelineKey& key, const gpu::Launch& what, const gpu::Target& target, Format format,
                      Layout layout, std::uint64_t first, std::uint64_t rows, const Expert* expert, void* stream);
  Outcome launch_target(const PipelineKey& key, const gpu::Launch& what, const gpu::Target& target, Format format,
                        Layout layout, const Expert* expert, void* stream);
  [[nodiscard]] std::uint32_t lane_rows(const FormatInfo& info, const gpu::Launch& what, std::uint64_t rows) const;
  Outcome image_locked(const gpu::ImageTask& task, void* stream);
  Outcome floats_locked(const gpu::ImageTask& task, std::uint32_t index, void* stream);
  [[nodiscard]] PipelineKey key_of(const KernelDesc& kernel, Format format, const gpu::Launch& what) const;
  /// The row of kernels.def to use in place of `key.row`: itself, or the next best that is right on this device.
  Result<std::uint8_t> right_row(PipelineKey key, Format format);
  Result<bool> is_right(const PipelineKey& key, Format format);
  Result<bool> test(const PipelineKey& key, Format format);

  std::shared_ptr<Instance> instance_;
  Functions functions_;
  Physical physical_;
  VkDevice device_ = VK_NULL_HANDLE;
  bool owned_ = true;
  std::optional<Heap> heap_;
  std::optional<Queue> queue_;
  std::optional<Pipelines> pipelines_;
  VkBuffer staging_ = VK_NULL_HANDLE;
  VkDeviceMemory staging_memory_ = VK_NULL_HANDLE;
  void* staged_ = nullptr;
  std::uint64_t staged_bytes_ = 0;      ///< of it taken by copies that may not have ended
  std::vector<std::uint8_t*> leaving_;  ///< memory to be given back once what reads it has ended
  std::uint64_t leaving_bytes_ = 0;
  std::uint8_t* scratch_ = nullptr;  ///< of split rows
  std::uint64_t scratch_bytes_ = 0;
  std::uint64_t foreign_calls_ = 0;
  std::map<std::uint32_t, std::uint8_t*> grids_;  ///< of formats that look codes up, by number
  Overrides overrides_;
  Verdicts verdicts_;
  std::map<PipelineKey, bool> right_;                                    ///< of this process
  std::map<const gpu::Route*, std::unique_ptr<gpu::Routing>> routings_;  ///< the last of each activation, by its routes
  std::vector<std::string> warnings_;
  mutable std::mutex mutex_;

  Result<const std::uint8_t*> grid_table(Format format);
};

}  // namespace lanewise::vulkan
