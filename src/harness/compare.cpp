#include "harness/compare.h"

#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <bit>
#include <cstring>
#include <tuple>

#include "base/checked.h"
#include "base/half.h"
#include "oracle/oracle.h"

namespace lanewise {
namespace {

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

// Differs from byte to byte, so that bytes moved by a few places are noticed too.
std::uint8_t canary_byte(std::uint64_t at) { return static_cast<std::uint8_t>(0xC5U ^ (at * 29U)); }

std::uint32_t rounded_bits(float value, Dtype dtype) {
  if (dtype == Dtype::f32) return std::bit_cast<std::uint32_t>(value);
  return dtype == Dtype::f16 ? oracle::round_to_fp16(value) : oracle::round_to_bf16(value);
}

}  // namespace

Result<Fenced> Fenced::create(std::uint64_t bytes, Fence fence) {
  const std::uint64_t page = page_bytes();
  const auto body = checked_align(bytes, page);
  const auto total = body ? checked_add(*body, 4 * page) : std::nullopt;
  if (!total) return make_error(LW_ERROR_MEMORY, std::to_string(bytes) + " bytes are more than the machine addresses");
  void* mapped = mmap(nullptr, *total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return make_error(LW_ERROR_MEMORY, "no " + std::to_string(*total) + " bytes of memory");
  Fenced made;
  made.mapped_ = static_cast<std::uint8_t*>(mapped);
  made.mapped_size_ = *total;
  made.size_ = bytes;
  // [closed][canary][body][canary or closed][closed]
  const std::uint64_t closed = fence == Fence::page ? 2 * page : page;
  made.begin_ = fence == Fence::page ? *total - closed - bytes : 2 * page;
  if (mprotect(made.mapped_, page, PROT_NONE) != 0 ||
      mprotect(made.mapped_ + *total - closed, closed, PROT_NONE) != 0) {
    return make_error(LW_ERROR_MEMORY, "the system refuses to close pages of " + std::to_string(*total) + " bytes");
  }
  made.open_end_ = *total - closed;
  for (std::uint64_t at = page; at < made.begin_; ++at) made.mapped_[at] = canary_byte(at);
  for (std::uint64_t at = made.begin_ + bytes; at < made.open_end_; ++at) made.mapped_[at] = canary_byte(at);
  return made;
}

Fenced::~Fenced() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_size_);
}

void Fenced::swap(Fenced& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_size_, other.mapped_size_);
  std::swap(begin_, other.begin_);
  std::swap(size_, other.size_);
  std::swap(open_end_, other.open_end_);
}

std::uint64_t Fenced::damaged() const {
  if (mapped_ == nullptr) return 0;
  std::uint64_t count = 0;
  for (std::uint64_t at = page_bytes(); at < begin_; ++at)
    if (mapped_[at] != canary_byte(at)) ++count;
  for (std::uint64_t at = begin_ + size_; at < open_end_; ++at)
    if (mapped_[at] != canary_byte(at)) ++count;
  return count;
}

std::uint32_t poison_bits(Dtype dtype) {
  if (dtype == Dtype::f32) return 0x7FE5A5A5U;
  return dtype == Dtype::f16 ? 0x7F5AU : 0x7FDAU;
}

void poison(const OutputView& y, std::uint64_t elements) {
  const std::uint32_t bits = poison_bits(y.dtype);
  const std::uint64_t size = dtype_bytes(y.dtype);
  for (std::uint64_t i = 0; i < elements; ++i) std::memcpy(static_cast<std::uint8_t*>(y.data) + i * size, &bits, size);
}

std::uint32_t output_bits(const OutputView& y, std::uint64_t token, std::uint64_t row) {
  std::uint32_t bits = 0;
  const std::uint64_t size = dtype_bytes(y.dtype);
  std::memcpy(&bits, static_cast<const std::uint8_t*>(y.data) + (token * y.stride + row) * size, size);
  return bits;
}

float output_value(const OutputView& y, std::uint64_t token, std::uint64_t row) {
  const std::uint32_t bits = output_bits(y, token, row);
  if (y.dtype == Dtype::f32) return std::bit_cast<float>(bits);
  return y.dtype == Dtype::f16 ? half_to_float(static_cast<std::uint16_t>(bits))
                               : bfloat_to_float(static_cast<std::uint16_t>(bits));
}

std::uint64_t damaged_gaps(const OutputView& y, std::uint64_t tokens, std::uint64_t rows) {
  std::uint64_t count = 0;
  for (std::uint64_t token = 0; token < tokens; ++token) {
    for (std::uint64_t row = rows; row < y.stride; ++row) {
      if (output_bits(y, token, row) != poison_bits(y.dtype)) ++count;
    }
  }
  return count;
}

void note_bits(BitCount& count, const Difference& pair) {
  ++count.compared;
  if (pair.got == pair.expected) return;
  ++count.differing;
  count.differing_bits += static_cast<std::uint64_t>(std::popcount(pair.got ^ pair.expected));
  if (!count.first) count.first = pair;
}

void add(BitCount& count, const BitCount& part) {
  count.compared += part.compared;
  count.differing += part.differing;
  count.differing_bits += part.differing_bits;
  if (!part.first) return;
  const auto place = [](const Difference& d) { return std::tuple(d.row, d.token, d.element); };
  if (!count.first || place(*part.first) < place(*count.first)) count.first = part.first;
}

void compare_outputs(const OutputView& got, const OutputView& expected, std::uint64_t tokens, std::uint64_t row_begin,
                     std::uint64_t row_end, BitCount& count, std::uint64_t& unwritten) {
  const std::uint32_t poisoned = poison_bits(got.dtype);
  for (std::uint64_t row = row_begin; row < row_end; ++row) {
    for (std::uint64_t token = 0; token < tokens; ++token) {
      Difference pair{row, token, 0, output_bits(got, token, row), 0, false};
      pair.expected = rounded_bits(static_cast<const float*>(expected.data)[token * expected.stride + row], got.dtype);
      pair.unwritten = pair.got == poisoned;
      if (pair.unwritten) ++unwritten;
      note_bits(count, pair);
    }
  }
}

Fingerprint fingerprint(std::span<const std::uint8_t> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

}  // namespace lanewise
