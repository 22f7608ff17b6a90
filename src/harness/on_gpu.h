// A case's matrix on a device with memory of its own: every buffer of its exact size between red zones, outputs
// poisoned before.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "arithmetic/activation.h"
#include "backends/gpu/gpu.h"
#include "harness/verify.h"

namespace lanewise {

/// Exactly `bytes` bytes of device memory, aligned to 256, with canary bytes on both sides.
class FencedOnGpu {
 public:
  static Result<FencedOnGpu> create(const std::shared_ptr<gpu::Device>& device, std::uint64_t bytes);
  [[nodiscard]] std::uint8_t* data() const { return memory_.data() + zone; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Canary bytes that hold something else now.
  Result<std::uint64_t> damaged() const;

 private:
  static constexpr std::uint64_t zone = 4096;
  std::shared_ptr<gpu::Device> device_;
  gpu::Memory memory_;
  std::uint64_t size_ = 0;
};

class MatrixOnGpu {
 public:
  /// Uploads W (GGUF's bytes), packs it into `layout` and unpacks it again: an error where that doesn't give the bytes
  /// back.
  static Result<std::unique_ptr<MatrixOnGpu>> load(const std::shared_ptr<gpu::Device>& device, const MatrixView& w,
                                                   Layout layout);

  struct Findings {
    std::uint64_t damaged = 0;  ///< bytes of red zones: of x, its image, y and W
    BitCount image;             ///< q, e and poison of the image of x against `activation`
  };
  /// y, host memory that holds its poison before: all of it goes to the device and comes back. `activation` is x's.
  Result<Findings> multiply(const KernelDesc& kernel, const InputView& x, const Activation& activation,
                            const OutputView& y, std::uint64_t y_elements);
  /// Rows of W decoded on the device. May be called by several threads.
  Outcome dequantize(std::uint64_t row_begin, std::uint64_t row_end, float* out);
  /// Whether W on the device still is what was loaded.
  Result<bool> is_unchanged();

 private:
  MatrixOnGpu(std::shared_ptr<gpu::Device> device, const MatrixView& w, Layout layout)
      : device_(std::move(device)), w_(w), layout_(layout) {}
  Outcome unpack(std::vector<std::uint8_t>& bytes);

  std::shared_ptr<gpu::Device> device_;
  MatrixView w_;  ///< in host memory
  Layout layout_;
  FencedOnGpu raw_;
  FencedOnGpu packed_;  ///< unused where the layout is raw
  std::mutex decoding_;
  gpu::Memory decoded_;
};

}  // namespace lanewise
