#include "harness/on_gpu.h"

#include <cstring>

#include "harness/compare.h"

namespace lanewise {
namespace {

// Never zero, which is what a stray write writes most.
std::uint8_t device_canary(std::uint64_t at) { return static_cast<std::uint8_t>((0x3AU ^ (at * 29U)) | 1U); }

void note(BitCount& count, std::uint64_t token, std::uint64_t k, std::uint32_t got, std::uint32_t expected) {
  Difference pair;
  pair.token = token;
  pair.element = k;
  pair.got = got;
  pair.expected = expected;
  note_bits(count, pair);
}

// A slice of the image, downloaded, against the activation on the host: codes, exponents, and which tokens are
// poisoned.
void compare_slice(const std::uint8_t* image, std::uint64_t first, std::uint32_t tokens, const Activation& expected,
                   BitCount& count) {
  const std::uint32_t slots = gpu::image_slots(tokens);
  const std::uint32_t planes = plane_count(expected.planes());
  const std::uint32_t columns = slots * planes;
  const gpu::ImageOffsets at(slots, planes, expected.blocks());
  const auto word = [&](std::uint64_t offset) {
    std::uint32_t value = 0;
    std::memcpy(&value, image + offset, sizeof value);
    return value;
  };
  for (std::uint32_t t = 0; t < tokens; ++t) {
    const NaturalToken token = expected.natural(first + t);
    note(count, first + t, 0, word(at.poisoned + std::uint64_t{t} * 4), token.poisoned ? 1 : 0);
    if (token.poisoned) continue;  // nothing else of it is read
    for (std::uint64_t b = 0; b < expected.blocks(); ++b) {
      const auto exponent = static_cast<std::uint32_t>(token.exponents[b]);
      note(count, first + t, b * super_block, word(at.exponents + (b * slots + t) * 4), exponent);
      for (std::uint64_t i = 0; i < super_block; ++i) {
        std::uint32_t got = 0;
        std::uint32_t wanted = 0;
        for (std::uint32_t p = 0; p < planes; ++p) {
          const std::uint64_t column = gpu::image_column(slots, planes, t, p);
          const std::uint8_t code = image[at.codes + ((b * 8 + i / 32) * columns + column) * 32 + i % 32];
          got |= std::uint32_t{code} << (8 * p);
          wanted |= std::uint32_t{static_cast<std::uint8_t>(token.plane(p)[b * super_block + i])} << (8 * p);
        }
        note(count, first + t, b * super_block + i, got, wanted);
      }
    }
  }
}

}  // namespace

Result<FencedOnGpu> FencedOnGpu::create(const std::shared_ptr<gpu::Device>& device, std::uint64_t bytes) {
  FencedOnGpu made;
  LW_ASSIGN(memory, gpu::Memory::allocate(device, bytes + 2 * zone));
  made.device_ = device;
  made.memory_ = std::move(memory);
  made.size_ = bytes;
  std::vector<std::uint8_t> canary(zone);
  for (std::uint64_t i = 0; i < zone; ++i) canary[i] = device_canary(i);
  LW_TRY(device->copy(made.data() - zone, canary.data(), zone));
  LW_TRY(device->copy(made.data() + bytes, canary.data(), zone));
  return made;
}

Result<std::uint64_t> FencedOnGpu::damaged() const {
  std::uint64_t count = 0;
  if (device_ == nullptr) return count;
  std::vector<std::uint8_t> found(zone);
  for (const std::uint8_t* start : {data() - zone, data() + size_}) {
    LW_TRY(device_->copy(found.data(), start, zone));
    for (std::uint64_t i = 0; i < zone; ++i) count += found[i] != device_canary(i) ? 1U : 0U;
  }
  return count;
}

Result<std::unique_ptr<InputOnGpu>> InputOnGpu::load(const std::shared_ptr<gpu::Device>& device, const InputView& x,
                                                     const Activation& activation) {
  std::unique_ptr<InputOnGpu> input(new InputOnGpu(device, x, activation));
  const std::uint64_t x_bytes = (x.tokens == 0 ? 0 : (x.tokens - 1) * x.stride + x.cols) * dtype_bytes(x.dtype);
  LW_ASSIGN(there, FencedOnGpu::create(device, x_bytes));
  input->there_ = std::move(there);
  LW_TRY(device->copy(input->there_.data(), x.data, x_bytes));
  LW_ASSIGN(image_bytes, gpu::Image::workspace_bytes(activation.planes(), x.tokens, x.cols));
  LW_ASSIGN(workspace, FencedOnGpu::create(device, image_bytes));
  input->workspace_ = std::move(workspace);
  LW_TRY(device->fill(input->workspace_.data(), unmade, image_bytes));
  LW_ASSIGN(image, gpu::Image::create_in(device, activation.planes(), x.tokens, x.cols, input->workspace_.data(),
                                         image_bytes));
  input->image_ = std::move(image);
  LW_TRY(input->set(false, false));
  LW_TRY(device->wait(nullptr));
  return input;
}

Outcome InputOnGpu::set(bool zeros, bool overlapped) {
  InputView input = x_;
  input.data = there_.data();
  if (zeros) {
    if (zeros_.data() == nullptr) {
      LW_ASSIGN(room, gpu::Memory::allocate(device_, there_.size()));
      zeros_ = std::move(room);
      LW_TRY(device_->fill(zeros_.data(), 0, there_.size()));
    }
    input.data = zeros_.data();
  }
  return image_->set(input, overlapped, nullptr);
}

Outcome InputOnGpu::check(BitCount& count) {
  const std::uint32_t planes = plane_count(activation_.planes());
  // What lies behind the image is the routes'.
  std::vector<std::uint8_t> now(gpu::image_bytes(x_.tokens, planes, activation_.blocks()));
  LW_TRY(device_->copy(now.data(), workspace_.data(), now.size()));
  if (now == right_) return Done{};
  BitCount found;
  for (std::uint64_t slice = 0; slice < image_->slices(); ++slice) {
    const std::uint64_t start = gpu::image_slice_at(slice, planes, activation_.blocks());
    compare_slice(now.data() + start, slice * gpu::image_slice, image_->slice_tokens(slice), activation_, found);
  }
  if (found.differing == 0) right_ = std::move(now);
  add(count, found);
  return Done{};
}

Result<std::uint64_t> InputOnGpu::damaged() const {
  LW_ASSIGN(of_x, there_.damaged());
  LW_ASSIGN(of_image, workspace_.damaged());
  return of_x + of_image;
}

}  // namespace lanewise
