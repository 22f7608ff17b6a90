// A case's matrices on a device with memory of its own: every buffer of its exact size between red zones, outputs
// poisoned before.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "arithmetic/activation.h"
#include "backends/gpu/gpu.h"
#include "harness/case.h"
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

/// x and its image there; `x` and `activation` must outlive it.
class InputOnGpu {
 public:
  static Result<std::unique_ptr<InputOnGpu>> load(const std::shared_ptr<gpu::Device>& device, const InputView& x,
                                                  const Activation& activation);

  [[nodiscard]] const gpu::Image& image() const { return *image_; }
  [[nodiscard]] const Activation& activation() const { return activation_; }
  [[nodiscard]] std::uint64_t tokens() const { return x_.tokens; }
  /// Enqueues the making of the image: of x, or of as many zeros.
  Outcome set(bool zeros, bool overlapped);
  /// The image of x, as it is now, against `activation`: q, e and which tokens are poisoned. What was found right once
  /// and hasn't changed isn't compared again.
  Outcome check(BitCount& count);
  Result<std::uint64_t> damaged() const;

 private:
  InputOnGpu(std::shared_ptr<gpu::Device> device, const InputView& x, const Activation& activation)
      : device_(std::move(device)), x_(x), activation_(activation) {}

  std::shared_ptr<gpu::Device> device_;
  InputView x_;
  const Activation& activation_;
  FencedOnGpu there_;
  gpu::Memory zeros_;
  FencedOnGpu workspace_;
  std::unique_ptr<gpu::Image> image_;
  std::vector<std::uint8_t> right_;  ///< the image as it was when it was compared
};

/// Outputs of one matrix, or of a list of experts: `count` vectors of `rows`, y.stride elements each, in host memory
/// that holds its poison before.
struct Vectors {
  OutputView y;
  std::uint64_t rows;
  std::uint64_t count;
};

/// What device memory holds before something is made in it, so that what is left out is no zero.
inline constexpr std::uint8_t unmade = 0xA5;

/// Ids that each token of a case with experts has, and the ids: [tokens][experts_used], the first two of a token the
/// same now and then.
inline constexpr std::uint32_t experts_used = 3;
std::vector<std::int32_t> expert_ids(const Case& problem, std::uint64_t tokens);
/// The rows of each matrix, or of each list of experts all together.
std::vector<std::uint64_t> rows_of_lists(const Case& problem);

class MatrixOnGpu {
 public:
  /// Uploads W (GGUF's bytes) as the matrices that the case has, packs each into its layout and unpacks it again: an
  /// error where that doesn't give the bytes back.
  static Result<std::unique_ptr<MatrixOnGpu>> load(const std::shared_ptr<gpu::Device>& device, const MatrixView& w,
                                                   const Case& problem);
  /// Whether W lies for that case, one of the same W, as it does here.
  [[nodiscard]] bool suits(const Case& problem) const;

  struct Findings {
    std::uint64_t damaged = 0;   ///< bytes of red zones: of x, its image, y and W
    BitCount repeated;           ///< of two products that are the same, in one chain of overlapped launches
    BitCount between;            ///< the outputs of the zeros that lie between W's halves
    bool bad_ids_taken = false;  ///< an id out of range changed y, or wasn't reported
  };
  /// One Vectors for each matrix or list. Where launches overlap, x and zeros take turns in one image, so that a launch
  /// that starts too early, or reads too late, is seen.
  Result<Findings> multiply(const KernelDesc& kernel, const gpu::LaunchStyle& style, InputOnGpu& x,
                            std::span<const Vectors> ys);
  /// Rows of W decoded on the device. May be called by several threads.
  Outcome dequantize(std::uint64_t row_begin, std::uint64_t row_end, float* out);
  /// Whether W on the device still is what was loaded.
  Result<bool> is_unchanged();

 private:
  struct Part {
    MatrixView w{};  ///< in host memory
    std::uint64_t first_row = 0;
    FencedOnGpu raw{};
    FencedOnGpu packed{};  ///< unused where the layout is raw
  };
  // Outputs of one Vectors there.
  struct Outputs {
    FencedOnGpu memory;
    std::uint64_t stride;
  };
  MatrixOnGpu(std::shared_ptr<gpu::Device> device, const MatrixView& w, const Case& problem)
      : device_(std::move(device)), w_(w), problem_(problem) {}
  Outcome load_part(Part& part);
  [[nodiscard]] MatrixView there(const Part& part) const;
  [[nodiscard]] std::uint64_t half() const { return (w_.rows + 1) / 2; }
  Result<bool> is_unchanged(const Part& part);
  Result<bool> halves_are_unchanged(const Part& part);

  Result<Outputs> make_outputs(const Vectors& like) const;
  Outcome copy_outputs(const Vectors& host, const Outputs& device, bool to_device) const;
  Outcome compare_between(const Vectors& host, const Outputs& device, const InputOnGpu& x, BitCount& count) const;
  Outcome enqueue(const KernelDesc& kernel, const gpu::LaunchStyle& style, const InputOnGpu& x,
                  std::span<const Vectors> like, std::span<const Outputs> ys, const std::int32_t* ids) const;
  Outcome refuse_ids(const KernelDesc& kernel, const gpu::LaunchStyle& style, InputOnGpu& x,
                     std::span<const Vectors> ys, Findings& findings);

  std::shared_ptr<gpu::Device> device_;
  MatrixView w_;  ///< in host memory
  Case problem_;
  std::vector<Part> parts_;  ///< list after list
  std::mutex decoding_;
  gpu::Memory decoded_;
};

}  // namespace lanewise
