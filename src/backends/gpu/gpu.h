// A device with memory of its own, as the rest of the library sees it, whichever backend drives it: memory, matrices, x
// and products in the order of a stream. No backend's header is needed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arithmetic/activation.h"
#include "backends/gpu/launch.h"
#include "base/status.h"
#include "formats/matrix_view.h"
#include "layout/layout.h"

namespace lanewise {
struct KernelDesc;
bool is_built(const KernelDesc& kernel, Format format);
}  // namespace lanewise

namespace lanewise::gpu {

struct DeviceInfo {
  std::string backend;  ///< "cuda", "vulkan"
  std::uint32_t ordinal = 0;
  std::string name;                ///< "NVIDIA H200"
  std::string about;               ///< "compute capability 9.0, 132 multiprocessors"
  std::string driver;              ///< and its version: "CUDA 13.0"
  bool is_processor = false;       ///< it computes on the CPU
  std::uint32_t capabilities = 0;  ///< what it offers kernels, as bits of Capability
  std::uint32_t major = 0;         ///< of CUDA: compute capability; of Vulkan: the version that the device speaks
  std::uint32_t minor = 0;
  std::uint32_t multiprocessors = 0;  ///< 0: the driver doesn't say
  std::uint32_t shared_bytes = 0;     ///< of shared memory that a block may have
  std::uint64_t memory_bytes = 0;
  std::string why_not;  ///< empty: it can be used; otherwise why not, as a sentence

  [[nodiscard]] std::string id() const { return backend + ":" + std::to_string(ordinal); }
};

/// The numbers of Launch::tile; zeros: the kernel chooses.
using Tiling = std::array<std::uint32_t, 4>;
/// What one of them means, and values worth trying.
struct TilingAxis {
  std::string_view name;  ///< "stages"
  std::span<const std::uint32_t> values;
};

/// One device. Functions may be called from any thread. A failure is an Outcome: LW_ERROR_MEMORY where memory ran out,
/// LW_ERROR_DEVICE otherwise, and the message says so where the device is lost for good. Those that take a stream (null
/// is the device's default one; otherwise a cudaStream_t, or a VkCommandBuffer that is being recorded) only enqueue:
/// they wait for nothing and allocate nothing. The others return when all is done, and are for setting up.
class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  [[nodiscard]] std::uint32_t capabilities() const { return info().capabilities; }

  /// What a caller should hear of: kernels that were found wrong here and are left out.
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }

  /// Aligned to 256. Memory of more than the driver gives at once may be made of several pieces, each of which holds
  /// whole multiples of `together` bytes (a row, a tile), where that isn't 0.
  virtual Result<std::uint8_t*> allocate(std::uint64_t bytes, std::uint64_t together) = 0;
  virtual void release(std::uint8_t* memory) noexcept = 0;
  /// From host or device memory to host or device memory. Waits for no stream: wait() for what fills `from`.
  virtual Outcome copy(void* to, const void* from, std::uint64_t bytes) = 0;
  virtual Outcome fill(void* to, std::uint8_t byte, std::uint64_t bytes) = 0;
  /// An error where `memory` is none that this device's kernels can reach; `what` names it there.
  virtual Outcome check_memory(const void* memory, std::string_view what) = 0;
  /// Waits for all that `stream` holds, and says what became of it.
  virtual Outcome wait(void* stream) = 0;
  /// Which recording `stream` is being captured into: a number of its own, 0 where into none.
  virtual Result<std::uint64_t> capture_of(void* stream) = 0;

  /// What matrices of codes are best put into here.
  [[nodiscard]] virtual Layout preferred_layout() const = 0;
  /// Whether this build has what packs, unpacks and multiplies matrices of the format in that layout here.
  [[nodiscard]] virtual bool has_layout(Layout layout, Format format) const = 0;
  /// Whether it has the kernel's code for a format: that of the build.
  [[nodiscard]] virtual bool has_kernel(const KernelDesc& kernel, Format format) const {
    return is_built(kernel, format);
  }
  /// The bytes of a matrix in it (`shape.data` isn't read).
  [[nodiscard]] virtual std::uint64_t layout_bytes(Layout layout, const MatrixView& shape) const = 0;
  /// The bytes of it that must lie in one piece of memory: whole rows or tiles of them.
  [[nodiscard]] virtual std::uint64_t layout_unit(Layout layout, const MatrixView& shape) const = 0;

  /// All of the image of x but xq.
  virtual Outcome make_image(const ImageTask& task, void* stream) = 0;
  /// xq[index], from the x that the image holds.
  virtual Outcome make_floats(const ImageTask& task, std::uint32_t index, void* stream) = 0;
  /// Writes the routes of all slices; a launch of a slice after it reads its own. An id out of range makes all of them
  /// bad: nothing is then written. Experts stand in ascending order.
  virtual Outcome route(const Routing& routing, bool overlapped, void* stream) = 0;
  /// By a kernel of the backend's, for weights of `format`.
  virtual Outcome launch(const KernelDesc& kernel, Format format, const Launch& what, void* stream) = 0;
  /// That launches of the kernel with these planes and tokens will come: what takes long to make is made beforehand.
  virtual void foresee(const KernelDesc& /*kernel*/, Format /*format*/, std::span<const Planes> /*planes*/,
                       std::span<const std::uint64_t> /*tokens*/) {}
  /// The kernel that such a launch would run: the one that is asked for, or what takes its place on this device.
  virtual Result<const KernelDesc*> stands_in(const KernelDesc& kernel, Format /*format*/, const Launch& /*what*/) {
    return &kernel;
  }
  /// GGUF's bytes to the layout and back. All in device memory.
  virtual Outcome pack(Layout layout, const MatrixView& raw, std::uint8_t* out, void* stream) = 0;
  virtual Outcome unpack(Layout layout, const MatrixView& packed, std::uint8_t* out, void* stream) = 0;
  /// `elements` weights (whole blocks of GGUF's) to fp32. All in device memory.
  virtual Outcome dequantize(Format format, const std::uint8_t* w, std::uint64_t elements, float* out,
                             void* stream) = 0;

  /// Tilings to hold a kernel's bits to, beside its own choice: between them every number that a tiling has takes its
  /// ends and something between.
  [[nodiscard]] virtual std::span<const Tiling> tilings(const KernelDesc& /*kernel*/) const { return {}; }
  /// What tuning may choose: the first numbers of a tiling, in their order.
  [[nodiscard]] virtual std::span<const TilingAxis> tiling_axes(const KernelDesc& /*kernel*/) const { return {}; }
  /// Whether a launch of the kernel may ask for that tiling, one that isn't all zeros.
  [[nodiscard]] virtual bool takes_tiling(const KernelDesc& /*kernel*/, const Tiling& /*tiling*/) const {
    return false;
  }

 protected:
  Device() = default;
};

/// Device memory with an owner.
class Memory {
 public:
  Memory() = default;
  static Result<Memory> allocate(std::shared_ptr<Device> device, std::uint64_t bytes, std::uint64_t together = 0);
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Memory() {
    if (data_ != nullptr) device_->release(data_);
  }
  [[nodiscard]] std::uint8_t* data() const { return data_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void swap(Memory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  std::shared_ptr<Device> device_;
  std::uint8_t* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// GGUF's bytes, in host or device memory, as a matrix in device memory in `layout`, one that the device has. Where it
/// isn't raw, the copy of GGUF's bytes on the device is gone on return.
Result<Memory> load_matrix(const std::shared_ptr<Device>& device, const MatrixView& raw, Layout layout);
/// The inverse: GGUF's bytes back in host memory.
Outcome store_matrix(const std::shared_ptr<Device>& device, const MatrixView& packed, Layout layout,
                     std::uint8_t* host);

/// x on a device: the image of image.h, and the routes of its last product with experts, in memory of its own or the
/// caller's.
class Image {
 public:
  static constexpr std::uint64_t alignment = 256;
  static Result<std::uint64_t> workspace_bytes(Planes planes, std::uint64_t max_tokens, std::uint64_t cols);
  static Result<std::unique_ptr<Image>> create(std::shared_ptr<Device> device, Planes planes, std::uint64_t max_tokens,
                                               std::uint64_t cols);
  static Result<std::unique_ptr<Image>> create_in(std::shared_ptr<Device> device, Planes planes,
                                                  std::uint64_t max_tokens, std::uint64_t cols, void* memory,
                                                  std::uint64_t bytes);

  /// Enqueues the conversion of x (device memory).
  Outcome set(const InputView& x, bool overlapped, void* stream);
  /// Enqueues what a product with weights of `info` needs beyond set(), if anything: xq of float weights.
  Outcome prepare(const FormatInfo& info, bool overlapped, void* stream) const;

  [[nodiscard]] Planes planes() const { return planes_; }
  [[nodiscard]] std::uint64_t tokens() const { return tokens_; }
  [[nodiscard]] std::uint64_t max_tokens() const { return max_tokens_; }
  [[nodiscard]] std::uint64_t cols() const { return cols_; }
  [[nodiscard]] std::uint32_t blocks() const { return blocks_; }
  [[nodiscard]] std::uint64_t slices() const { return (tokens_ + image_slice - 1) / image_slice; }
  [[nodiscard]] const std::uint8_t* slice(std::uint64_t index) const {
    return memory_ + image_slice_at(index, plane_count(planes_), blocks_);
  }
  [[nodiscard]] std::uint32_t slice_tokens(std::uint64_t index) const {
    const std::uint64_t left = tokens_ - index * image_slice;
    return static_cast<std::uint32_t>(left < image_slice ? left : image_slice);
  }
  /// One for each slice.
  [[nodiscard]] Route* routes() const {
    return reinterpret_cast<Route*>(memory_ + image_bytes(max_tokens_, plane_count(planes_), blocks_));
  }
  void note_routes() const { routed_.store(true, std::memory_order_relaxed); }
  /// Of the last product with experts, which must have ended.
  Result<bool> has_bad_ids() const;

 private:
  Image(std::shared_ptr<Device> device, Planes planes, std::uint64_t max_tokens, std::uint64_t cols);
  [[nodiscard]] ImageTask task() const;

  // A stream and the graph that it was captured into: what was enqueued there under both is what a later call there
  // finds done. Any other call can't tell what ran before it.
  struct Place {
    void* stream = nullptr;
    std::uint64_t capture = 0;
    bool operator==(const Place&) const = default;
  };

  std::shared_ptr<Device> device_;
  Planes planes_;
  std::uint64_t max_tokens_;
  std::uint64_t cols_;
  std::uint32_t blocks_;
  std::uint64_t tokens_ = 0;
  Memory owned_;
  std::uint8_t* memory_ = nullptr;
  Place set_in_;
  mutable std::atomic<bool> routed_{false};
  mutable std::atomic<std::uint32_t> floats_made_{0};  ///< bit i: xq[i] was enqueued in set_in_
};

/// One matrix of a product: rows and format of `w`, its data in device memory in the layout of the kernel, and y there.
struct Operand {
  MatrixView w;
  OutputView y;
};

/// How launches run; no bit depends on it.
struct LaunchStyle {
  bool overlapped = false;  ///< see Launch
  Tiling tiling{};
};

/// What all launches that read `x` have in common: all but targets, the slice, and what is of experts.
Launch launch_of(const Device& device, const Image& x, Dtype y, const LaunchStyle& style);

/// Enqueues W * x of matrices of one format, K and type of y, up to most_targets of them, by `kernel` (of the
/// device's): a launch a slice of eight tokens.
Outcome multiply(Device& device, const KernelDesc& kernel, std::span<const Operand> operands, const Image& x,
                 const LaunchStyle& style, void* stream);

/// The same with experts, at most most_expert_targets lists of them: operand t is expert 0 of list t and that list's y,
/// vector (token * used + i) of which is for id i of the token. `routing` has all but its routes.
Outcome multiply_experts(Device& device, const KernelDesc& kernel, std::span<const Operand> operands,
                         const Routing& routing, const Image& x, const LaunchStyle& style, void* stream);

}  // namespace lanewise::gpu
