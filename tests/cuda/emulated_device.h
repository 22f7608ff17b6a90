// A CUDA device for the host's half of the backend, where there is none: its memory is the host's, x is converted by
// the device's own kernels over the emulator, products are the scalar kernel's on what the image holds. It holds its
// callers to the rules of backends/gpu/gpu.h, and tests may plant faults in it.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "arithmetic/scalar.h"
#include "backends/cuda/cuda.h"

namespace lanewise::test {

class EmulatedDevice final : public gpu::Device {
 public:
  /// What a launch was told, and where.
  struct Launched {
    std::string kernel;
    Format format;
    cuda::Launch what;
    void* stream;
  };

  EmulatedDevice() {
    info_.backend = "cuda";
    info_.name = "emulated";
    info_.about = "compute capability 9.0, 4 multiprocessors";
    info_.multiprocessors = 4;
    set_capability(9, 0);
  }
  [[nodiscard]] const gpu::DeviceInfo& info() const override { return info_; }
  void set_capability(std::uint32_t major, std::uint32_t minor) {
    info_.major = major;
    info_.minor = minor;
    info_.capabilities = cuda::capabilities(major, minor);
  }

  Result<std::uint8_t*> allocate(std::uint64_t bytes, std::uint64_t) override {
    if (bytes == 0 || allocations_left == 0) return make_error(LW_ERROR_MEMORY, "the emulated device is full");
    --allocations_left;
    auto* const memory = static_cast<std::uint8_t*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    std::memset(memory, 0x5A, bytes);
    held[memory] = bytes;
    return memory;
  }
  void release(std::uint8_t* memory) noexcept override {
    held.erase(memory);
    std::free(memory);
  }
  Outcome copy(void* to, const void* from, std::uint64_t bytes) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return Done{};
  }
  Outcome fill(void* to, std::uint8_t byte, std::uint64_t bytes) override {
    if (bytes != 0) std::memset(to, byte, bytes);
    return Done{};
  }
  Outcome check_memory(const void* memory, std::string_view what) override {
    if (owns(memory)) return Done{};
    return make_error(LW_ERROR_ARGUMENT, std::string(what) + " is host memory");
  }
  Outcome wait(void*) override { return failure ? Outcome(*failure) : Outcome(Done{}); }
  Result<std::uint64_t> capture_of(void*) override { return capture; }

  [[nodiscard]] Layout preferred_layout() const override { return Layout::frag; }
  [[nodiscard]] bool has_layout(Layout layout, Format) const override { return layout == Layout::raw; }
  [[nodiscard]] bool has_kernel(const KernelDesc&, Format) const override { return true; }
  [[nodiscard]] std::uint64_t layout_bytes(Layout, const MatrixView& shape) const override { return shape.bytes(); }
  [[nodiscard]] std::uint64_t layout_unit(Layout, const MatrixView&) const override { return 0; }

  [[nodiscard]] std::span<const gpu::Tiling> tilings(const KernelDesc& kernel) const override {
    return cuda::tilings(kernel);
  }
  [[nodiscard]] std::span<const gpu::TilingAxis> tiling_axes(const KernelDesc& kernel) const override {
    return cuda::tiling_axes(kernel);
  }
  [[nodiscard]] bool takes_tiling(const KernelDesc& kernel, const gpu::Tiling& tiling) const override {
    return cuda::takes_tiling(kernel, tiling);
  }

  Outcome make_image(const gpu::ImageTask& task, void* stream) override;
  Outcome make_floats(const gpu::ImageTask& task, std::uint32_t index, void* stream) override;
  Outcome route(const gpu::Routing& routing, bool overlapped, void* stream) override;
  Outcome launch(const KernelDesc& kernel, Format format, const cuda::Launch& what, void* stream) override;
  Outcome pack(Layout, const MatrixView&, std::uint8_t*, void*) override { return no_layout(); }
  Outcome unpack(Layout, const MatrixView&, std::uint8_t*, void*) override { return no_layout(); }
  Outcome dequantize(Format format, const std::uint8_t* w, std::uint64_t elements, float* out, void*) override {
    dequantize_row(format, w, elements, out);
    return Done{};
  }

  [[nodiscard]] bool owns(const void* memory) const {
    const auto* const byte = static_cast<const std::uint8_t*>(memory);
    auto next = held.upper_bound(const_cast<std::uint8_t*>(byte));
    if (next == held.begin()) return false;
    --next;
    return byte < next->first + next->second;
  }

  std::map<std::uint8_t*, std::uint64_t> held;
  std::uint64_t allocations_left = ~std::uint64_t{0};
  std::uint64_t capture = 0;
  std::optional<Error> failure;
  std::vector<Launched> launches;
  std::uint64_t images = 0;
  std::vector<std::uint32_t> floats;  ///< the indices made
  std::function<void(const cuda::Launch& what)> after_launch;

 private:
  static Error no_layout() { return make_error(LW_ERROR_UNSUPPORTED, "the emulated device reads GGUF's bytes alone"); }
  gpu::DeviceInfo info_;
};

}  // namespace lanewise::test
