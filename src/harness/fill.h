// Deterministic contents for W and x: what a case multiplies. Everything comes from integers of one documented
// generator, so that a problem string gives the same bytes on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "arithmetic/activation.h"
#include "base/status.h"
#include "formats/matrix_view.h"

namespace lanewise {

/// What W and x hold. docs/harness.md has each in full.
enum class Fill : std::uint8_t {
#define LW_FILL(name, meaning) name,
#include "harness/fills.def"
#undef LW_FILL
};

inline constexpr std::array all_fills{
#define LW_FILL(name, meaning) Fill::name,
#include "harness/fills.def"
#undef LW_FILL
};

std::string_view fill_name(Fill fill);
/// One line for a person.
std::string_view fill_meaning(Fill fill);
/// LW_ERROR_NOT_FOUND with the names there are.
Result<Fill> parse_fill(std::string_view name);

/// No two draws stand in one expression: their order would be the compiler's choice, and g++ and clang choose apart.
///
/// SplitMix64 (Steele, Lea and Flood, 2014): a counter that steps by 0x9E3779B97F4A7C15, mixed by two multiplications.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// A stream of its own for row or token `index` of `seed`, so that rows can be made in any order.
  Random(std::uint64_t seed, std::uint64_t index) : state_(mix(seed) ^ mix(index * step + 1)) {}

  std::uint64_t next() { return mix(state_ += step); }
  /// 0 .. limit-1, limit at most 2^32 (by the high half of a product; its bias of 2^-32 is of no matter here).
  std::uint64_t below(std::uint64_t limit) { return ((next() >> 32U) * limit) >> 32U; }
  /// [-1, 1), a multiple of 2^-23: exact in fp32.
  double uniform() { return static_cast<double>(static_cast<std::int64_t>(next() >> 40U) - (1 << 23)) * 0x1p-23; }
  /// Mean 0, deviation 1, within 6: the sum of twelve 16-bit integers, so no mathematical library takes part.
  double gauss();
  /// 2^n * [1, 2) with n from `low` to `high` and either sign.
  double magnitude(int low, int high);

 private:
  static constexpr std::uint64_t step = 0x9E3779B97F4A7C15U;
  static std::uint64_t mix(std::uint64_t z);
  std::uint64_t state_;
};

/// Rows row_begin .. row_end-1 of a matrix into `data` (the first byte of row 0). The shape is legal for the format.
void fill_weights(Format format, std::uint64_t cols, Fill fill, std::uint64_t seed, std::uint64_t row_begin,
                  std::uint64_t row_end, std::uint8_t* data);

/// x, [tokens][cols] of `dtype`, for weights of `format`; token t depends on (fill, seed, format, cols, t) alone, so a
/// window is a prefix of every larger one. At least three tokens of four are finite and below 2^64.
void fill_x(Format format, std::uint64_t tokens, std::uint64_t cols, Fill fill, std::uint64_t seed, Dtype dtype,
            void* data);

/// Fill::exact makes every term w * x of these weights a multiple of this, so that y is exact wherever the terms' sum
/// is below 2^24 units.
double exact_unit(Format format);

}  // namespace lanewise
