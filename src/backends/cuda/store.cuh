// How every kernel family writes y: the fold of the eighths, poison, the one NaN, the output's type, experts' slots.
#pragma once

#include "backends/cuda/launch.h"
#include "backends/cuda/machine.cuh"
#include "lanewise/lanewise.h"

namespace lanewise::cuda {

/// y before its NaN rule, from the eighths (docs/arithmetic.md, section 4).
LW_DEVICE float fold_eighths(const float (&r)[8]) {
  return add(add(add(add(r[0], r[1]), add(r[2], r[3])), add(add(r[4], r[5]), add(r[6], r[7]))), 0.0F);
}

/// Writes an element of y, rounded to its type; any NaN as the type's one.
LW_DEVICE void store_element(void* y, std::uint64_t at, std::uint32_t dtype, float value) {
  const bool nan = value != value;
  if (dtype == LW_DTYPE_F32) {
    static_cast<float*>(y)[at] = nan ? float_of(0x7FC00000u) : value;
  } else if (dtype == LW_DTYPE_F16) {
    static_cast<std::uint16_t*>(y)[at] = nan ? std::uint16_t{0x7E00} : half_of(value);
  } else {
    const std::uint32_t bits = bits_of(value);  // a carry out of the mantissa is the next exponent, or infinity
    const std::uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
    static_cast<std::uint16_t*>(y)[at] = static_cast<std::uint16_t>(nan ? 0x7FC0u : rounded);
  }
}

/// Stores the product of a row of `target` with token `token` of the slice; `poisoned`: that the token is, by the
/// image. With experts, `expert` is the one whose row it is, and every slot that asks for it gets the product.
LW_DEVICE void store_output(const Launch& launch, const Target& target, std::uint64_t row, std::uint32_t token,
                            float value, bool poisoned, std::int32_t expert = -1) {
  if (poisoned) value = float_of(0x7FC00000u);
  if (launch.route == nullptr) {
    store_element(target.y, token * target.y_stride + row, launch.dtype, value);
    return;
  }
  for (std::uint32_t j = 0; j < launch.used; ++j) {
    const std::uint64_t slot = std::uint64_t{token} * launch.used + j;
    if (launch.ids[slot] == expert) store_element(target.y, slot * target.y_stride + row, launch.dtype, value);
  }
}

}  // namespace lanewise::cuda
