#include "harness/on_gpu.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "harness/compare.h"

namespace lanewise {
namespace {

// Never zero, which is what a stray write writes most.
std::uint8_t device_canary(std::uint64_t at) { return static_cast<std::uint8_t>((0x3AU ^ (at * 29U)) | 1U); }

// What the image of x holds before it is made, so that what its kernel leaves out is no zero.
constexpr std::uint8_t unmade = 0xA5;

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

Outcome MatrixOnGpu::unpack(std::vector<std::uint8_t>& bytes) {
  bytes.resize(w_.bytes());
  MatrixView there = w_;
  there.data = layout_ == Layout::raw ? raw_.data() : packed_.data();
  return gpu::store_matrix(device_, there, layout_, bytes.data());
}

Result<std::unique_ptr<MatrixOnGpu>> MatrixOnGpu::load(const std::shared_ptr<gpu::Device>& device, const MatrixView& w,
                                                       Layout layout) {
  std::unique_ptr<MatrixOnGpu> matrix(new MatrixOnGpu(device, w, layout));
  LW_ASSIGN(raw, FencedOnGpu::create(device, w.bytes()));
  matrix->raw_ = std::move(raw);
  LW_TRY(device->copy(matrix->raw_.data(), w.data, w.bytes()));
  if (layout == Layout::raw) return matrix;
  if (!device->has_layout(layout, w.format)) {
    return make_error(LW_ERROR_UNSUPPORTED, "this build can't put " + std::string(w.info().name) + " into layout " +
                                                std::string(layout_name(layout)));
  }
  LW_ASSIGN(packed, FencedOnGpu::create(device, device->layout_bytes(layout, w)));
  matrix->packed_ = std::move(packed);
  // Bytes that packing leaves alone are no zeros.
  LW_TRY(device->fill(matrix->packed_.data(), unmade, matrix->packed_.size()));
  MatrixView there = w;
  there.data = matrix->raw_.data();
  LW_TRY(device->pack(layout, there, matrix->packed_.data(), nullptr));
  LW_TRY(device->wait(nullptr));
  LW_ASSIGN(unchanged, matrix->is_unchanged());
  if (!unchanged) {
    return make_error(LW_ERROR_INTERNAL, "layout " + std::string(layout_name(layout)) + " doesn't give the bytes of " +
                                             std::string(w.info().name) + ", " + std::to_string(w.cols) + " x " +
                                             std::to_string(w.rows) + ", back");
  }
  return matrix;
}

Result<bool> MatrixOnGpu::is_unchanged() {
  std::vector<std::uint8_t> bytes;
  LW_TRY(unpack(bytes));
  return bytes.empty() || std::memcmp(bytes.data(), w_.data, bytes.size()) == 0;
}

Outcome MatrixOnGpu::dequantize(std::uint64_t row_begin, std::uint64_t row_end, float* out) {
  const std::uint64_t elements = (row_end - row_begin) * w_.cols;
  const std::uint64_t bytes = elements * sizeof(float);
  const std::lock_guard lock(decoding_);
  if (decoded_.bytes() < bytes) {
    LW_ASSIGN(room, gpu::Memory::allocate(device_, bytes));
    decoded_ = std::move(room);
  }
  auto* const weights = reinterpret_cast<float*>(decoded_.data());
  LW_TRY(device_->fill(weights, unmade, bytes));
  LW_TRY(device_->dequantize(w_.format, raw_.data() + row_begin * w_.row_bytes(), elements, weights, nullptr));
  LW_TRY(device_->wait(nullptr));
  return device_->copy(out, weights, bytes);
}

Result<MatrixOnGpu::Findings> MatrixOnGpu::multiply(const KernelDesc& kernel, const InputView& x,
                                                    const Activation& activation, const OutputView& y,
                                                    std::uint64_t y_elements) {
  const std::uint64_t x_bytes = (x.tokens == 0 ? 0 : (x.tokens - 1) * x.stride + x.cols) * dtype_bytes(x.dtype);
  const std::uint64_t y_bytes = y_elements * dtype_bytes(y.dtype);
  LW_ASSIGN(x_there, FencedOnGpu::create(device_, x_bytes));
  LW_TRY(device_->copy(x_there.data(), x.data, x_bytes));
  LW_ASSIGN(y_there, FencedOnGpu::create(device_, y_bytes));
  LW_TRY(device_->copy(y_there.data(), y.data, y_bytes));
  LW_ASSIGN(image_bytes, gpu::Image::workspace_bytes(activation.planes(), x.tokens, x.cols));
  LW_ASSIGN(workspace, FencedOnGpu::create(device_, image_bytes));
  LW_TRY(device_->fill(workspace.data(), unmade, image_bytes));
  LW_ASSIGN(image,
            gpu::Image::create_in(device_, activation.planes(), x.tokens, x.cols, workspace.data(), image_bytes));

  InputView input = x;
  input.data = x_there.data();
  LW_TRY(image->set(input, false, nullptr));
  gpu::Operand operand{w_, y};
  operand.w.data = layout_ == Layout::raw ? raw_.data() : packed_.data();
  operand.y.data = y_there.data();
  LW_TRY(gpu::multiply(*device_, kernel, {&operand, 1}, *image, false, nullptr));
  LW_TRY(device_->wait(nullptr));
  LW_TRY(device_->copy(y.data, y_there.data(), y_bytes));

  Findings findings;
  std::vector<std::uint8_t> held(image_bytes);
  LW_TRY(device_->copy(held.data(), workspace.data(), image_bytes));
  for (std::uint64_t slice = 0; slice < image->slices(); ++slice) {
    const std::uint64_t start = gpu::image_slice_at(slice, plane_count(activation.planes()), activation.blocks());
    compare_slice(held.data() + start, slice * gpu::image_slice, image->slice_tokens(slice), activation,
                  findings.image);
  }
  for (const FencedOnGpu* fenced : {&x_there, &y_there, &workspace, &raw_, &packed_}) {
    LW_ASSIGN(damaged, fenced->damaged());
    findings.damaged += damaged;
  }
  return findings;
}

}  // namespace lanewise
