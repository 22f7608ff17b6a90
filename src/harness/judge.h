// What a verdict rests on: decoded weights, the activation's integers and float64, each compared on its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/verify.h"
#include "oracle/oracle.h"

namespace lanewise {

/// A decoded row, bit for bit.
void compare_weights(std::uint64_t row, std::span<const float> got, std::span<const float> expected, BitCount& count);

/// q of every element, e of every super-block and which tokens count as poisoned, for the tokens of `got`, which are
/// the first of `expected`. (A poisoned token has no q and e.)
void compare_activation(const Activation& got, const oracle::Activation& expected, BitCount& count);

/// The float64 reference of some rows.
struct Float64 {
  const std::vector<std::uint64_t>& rows;   ///< which, ascending
  const std::vector<oracle::Exact>& exact;  ///< [rows.size()][tokens]
  std::uint64_t tokens;                     ///< that `exact` has
  std::uint64_t rows_of;                    ///< rows of the matrix
  double unit;                              ///< of exact terms (exact_unit()); 0: terms are not exact
};

/// The first `tokens` tokens of y.
ErrorCount compare_float64(const OutputView& y, std::uint64_t tokens, const Float64& reference);

/// Why a case could hardly have shown a fault, or an empty string. `expected` is the oracle's [tokens or more][rows].
///   - more than half of the outputs are zero: a kernel that computes nothing passes there;
///   - every token's outputs are all the same (or, of one row, all tokens'): a kernel that mixes up rows passes;
///   - more than half of the outputs are NaN or infinite: they hide what was summed;
///   - no output had a finite bound, or the bound exceeds the sum of |terms| in more than half of those that had:
///   float64
///     would then take zero for the product.
std::string mistrust(std::span<const float> expected, std::uint64_t rows, std::uint64_t tokens,
                     const Float64& reference);

}  // namespace lanewise
