// The host's half of the image of x: sizes, memory, and which parts are made.
#include <new>
#include <string>

#include "backends/gpu/gpu.h"
#include "base/checked.h"

namespace lanewise::gpu {
namespace {

// A launch counts super-blocks and blocks of threads in 32 bits.
constexpr std::uint64_t most_blocks = std::uint64_t{1} << 31;
constexpr std::uint64_t most_tokens = std::uint64_t{1} << 30;

// Which of xq these weights read.
std::uint32_t floats_index(const FormatInfo& info) {
  if (info.format == Format::F16) return 0;
  return info.format == Format::BF16 ? 1 : 2;
}

}  // namespace

Result<std::uint64_t> Image::workspace_bytes(Planes planes, std::uint64_t max_tokens, std::uint64_t cols) {
  if (cols == 0) return make_error(LW_ERROR_ARGUMENT, "an activation of 0 columns: a matrix has at least one");
  const std::uint64_t blocks = ceil_div(cols, super_block);
  const auto elements = checked_mul(max_tokens, blocks);
  // A super-block of a slot takes less than 2^13 bytes.
  if (blocks >= most_blocks || max_tokens >= most_tokens || !elements || *elements >= std::uint64_t{1} << 48) {
    return make_error(LW_ERROR_ARGUMENT, "an activation of " + std::to_string(max_tokens) + " tokens of " +
                                             std::to_string(cols) + " columns is too large for a device");
  }
  const std::uint64_t routes = ceil_div(max_tokens, image_slice) * sizeof(Route);
  return image_bytes(max_tokens, plane_count(planes), blocks) + ceil_div(routes, alignment) * alignment;
}

Image::Image(std::shared_ptr<Device> device, Planes planes, std::uint64_t max_tokens, std::uint64_t cols)
    : device_(std::move(device)),
      planes_(planes),
      max_tokens_(max_tokens),
      cols_(cols),
      blocks_(static_cast<std::uint32_t>(ceil_div(cols, super_block))) {}

Result<std::unique_ptr<Image>> Image::create(std::shared_ptr<Device> device, Planes planes, std::uint64_t max_tokens,
                                             std::uint64_t cols) {
  LW_ASSIGN(bytes, workspace_bytes(planes, max_tokens, cols));
  LW_ASSIGN(memory, Memory::allocate(device, bytes));
  std::unique_ptr<Image> image(new (std::nothrow) Image(std::move(device), planes, max_tokens, cols));
  if (!image) return make_error(LW_ERROR_MEMORY, "no memory for an activation");
  image->memory_ = memory.data();
  image->owned_ = std::move(memory);
  return image;
}

Result<std::unique_ptr<Image>> Image::create_in(std::shared_ptr<Device> device, Planes planes, std::uint64_t max_tokens,
                                                std::uint64_t cols, void* memory, std::uint64_t bytes) {
  LW_ASSIGN(needed, workspace_bytes(planes, max_tokens, cols));
  if (bytes < needed) {
    return make_error(LW_ERROR_ARGUMENT, "the workspace has " + std::to_string(bytes) +
                                             " bytes, the activation needs " + std::to_string(needed));
  }
  if (needed != 0) {
    if (memory == nullptr) return make_error(LW_ERROR_ARGUMENT, "the workspace is a null pointer");
    if (reinterpret_cast<std::uintptr_t>(memory) % alignment != 0) {
      return make_error(LW_ERROR_ARGUMENT, "the workspace is not aligned to " + std::to_string(alignment) + " bytes");
    }
    LW_TRY(device->check_memory(memory, "the workspace"));
  }
  std::unique_ptr<Image> image(new (std::nothrow) Image(std::move(device), planes, max_tokens, cols));
  if (!image) return make_error(LW_ERROR_MEMORY, "no memory for an activation");
  image->memory_ = static_cast<std::uint8_t*>(memory);
  return image;
}

ImageTask Image::task() const {
  ImageTask task;
  task.tokens = tokens_;
  task.cols = cols_;
  task.planes = plane_count(planes_);
  task.blocks = blocks_;
  task.image = memory_;
  return task;
}

Outcome Image::set(const InputView& x, bool overlapped, void* stream) {
  LW_ASSIGN(stride, stride_of(x, cols_, max_tokens_));
  LW_ASSIGN(capture, device_->capture_of(stream));
  if (x.tokens != 0) {
    ImageTask work = task();
    work.x = x.data;
    work.tokens = x.tokens;
    work.stride = stride;
    work.dtype = static_cast<std::uint32_t>(x.dtype);
    work.overlapped = overlapped;
    LW_TRY(device_->make_image(work, stream));
  }
  tokens_ = x.tokens;
  set_in_ = {stream, capture};
  floats_made_.store(0, std::memory_order_relaxed);
  return Done{};
}

Result<bool> Image::has_bad_ids() const {
  if (!routed_.load(std::memory_order_relaxed) || tokens_ == 0) return false;
  std::uint32_t bad = 0;
  LW_TRY(device_->copy(&bad, &routes()->bad, sizeof bad));
  return bad != 0;
}

Outcome Image::prepare(const FormatInfo& info, bool overlapped, void* stream) const {
  if (!info.is_float() || tokens_ == 0) return Done{};
  LW_ASSIGN(capture, device_->capture_of(stream));
  const std::uint32_t index = floats_index(info);
  const std::uint32_t bit = 1u << index;
  const bool same_place = set_in_ == Place{stream, capture};
  if (same_place && (floats_made_.load(std::memory_order_acquire) & bit) != 0) return Done{};
  ImageTask work = task();
  work.overlapped = overlapped;
  LW_TRY(device_->make_floats(work, index, stream));
  // Only now: another thread that finds the bit enqueues its product behind this.
  if (same_place) floats_made_.fetch_or(bit, std::memory_order_release);
  return Done{};
}

}  // namespace lanewise::gpu
