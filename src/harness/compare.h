// Bits against bits, and the memory that makes a stray access visible.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "arithmetic/activation.h"
#include "base/status.h"
#include "harness/verify.h"

namespace lanewise {

// ---- Fenced memory
// ---------------------------------------------------------------------------------------------------

/// What stands behind the last byte; before the first there is a page of canary bytes and then a page that can't be
/// read.
enum class Fence : std::uint8_t {
  page,    ///< a page that can't be read: for inputs, which a kernel mustn't even read past
  canary,  ///< a page of canary bytes, then one that can't be read: for outputs, so that a stray write is reported
};

/// Exactly `bytes` bytes with a fence on both sides. With Fence::page the first byte lies wherever the size puts it.
class Fenced {
 public:
  static Result<Fenced> create(std::uint64_t bytes, Fence fence);
  Fenced() = default;
  Fenced(Fenced&& other) noexcept { swap(other); }
  Fenced& operator=(Fenced&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Fenced();

  [[nodiscard]] std::uint8_t* data() const { return mapped_ + begin_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Canary bytes that hold something else now.
  [[nodiscard]] std::uint64_t damaged() const;

 private:
  void swap(Fenced& other) noexcept;

  std::uint8_t* mapped_ = nullptr;
  std::uint64_t mapped_size_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t open_end_ = 0;  ///< where the closed pages behind start
};

// ---- Outputs
// ---------------------------------------------------------------------------------------------------------

/// A NaN of `dtype` with a payload that no kernel writes: the one NaN that the arithmetic has is 0x7FC00000 (0x7E00,
/// 0x7FC0).
std::uint32_t poison_bits(Dtype dtype);
/// Every element, those between the tokens too.
void poison(const OutputView& y, std::uint64_t elements);
/// Bits of an output.
std::uint32_t output_bits(const OutputView& y, std::uint64_t token, std::uint64_t row);
/// Its value as fp32.
float output_value(const OutputView& y, std::uint64_t token, std::uint64_t row);
/// Elements of the gaps between tokens (from `rows` to the stride) that no longer hold the poison.
std::uint64_t damaged_gaps(const OutputView& y, std::uint64_t tokens, std::uint64_t rows);

/// Rows row_begin .. row_end-1 of `got` for every token, against fp32 outputs of the oracle, rounded to the type of
/// `got` by the oracle. NaN equals NaN where the bits are equal, +0 differs from -0. Counts unwritten ones too.
void compare_outputs(const OutputView& got, const OutputView& expected, std::uint64_t tokens, std::uint64_t row_begin,
                     std::uint64_t row_end, BitCount& count, std::uint64_t& unwritten);

/// Notes one pair of bits.
void note_bits(BitCount& count, const Difference& pair);
/// Adds `part`, which covers other outputs; the first difference is that of the lowest row, then token, then element.
void add(BitCount& count, const BitCount& part);

// ---- Inputs
// ----------------------------------------------------------------------------------------------------------

struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Fingerprint&) const = default;
};

/// XXH3, 128 bits.
Fingerprint fingerprint(std::span<const std::uint8_t> bytes);

}  // namespace lanewise
