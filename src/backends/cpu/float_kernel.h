// GEMV of float rows: sixteen consecutive elements a vector, the 64 accumulators of an eighth in four vectors (docs/
// arithmetic.md, section 5). Compiled once for each target (simd/*.h) and format.
#pragma once

#include <cstdint>

#include "backends/cpu/floats.h"
#include "backends/cpu/prefetch.h"

namespace lanewise::LW_TARGET {

template <class F, int T>
struct FloatRow {
  static constexpr int vectors = 4;  // of sixteen: 64 elements
  static constexpr std::uint64_t stretch = 64;

  static LW_AI Float weights(const std::uint8_t* at) {
    const Word raw = F::bytes == 4 ? load_words(at) : load_halves(at);
    // |w| of an F16 lies between 2^-24 and 2^16.
    if constexpr (F::limited) {
      return limited(F::value(raw));
    } else {
      return F::value(raw);
    }
  }
  /// One stretch of 64 elements.
  static LW_AI void add(const std::uint8_t* w, const float* const* x, std::uint64_t k, Float (*a)[vectors]) {
    unroll<0, vectors>([&](auto v) __attribute__((always_inline)) {
      const Float weight = weights(w + v * 16 * F::bytes);
      unroll<0, T>([&](auto t) __attribute__((always_inline)) {
        const Float value = load_floats(x[t] + k + v * 16);
        // An exact product may be fused with the addition.
        a[t][v] = F::exact ? fused(weight, value, a[t][v]) : weight * value + a[t][v];
      });
    });
  }

  static void row(FloatsCall& call) {
    const std::uint64_t steps = (call.cols + 255) / 256;
    float r[T][8];
    std::uint64_t k = 0;
    for (std::uint64_t g = 0; g < 8; ++g) {
      const std::uint64_t end = (g + 1 == 8 ? steps : ((g + 1) * steps + 7) / 8) * 256;
      Float a[T][vectors];
      unroll<0, T>([&](auto t) __attribute__((always_inline)) {
        unroll<0, vectors>([&](auto v) __attribute__((always_inline)) { a[t][v] = zero_float(); });
      });
      for (; k < end && k + stretch <= call.cols; k += stretch) {
        const std::uint8_t* w = call.row + k * F::bytes;
        for (std::uint64_t line = 0; line < stretch * F::bytes; line += 64) prefetch(w + prefetch_ahead + line);
        add(w, call.x, k, a);
      }
      if (k < end && k < call.cols) {
        // What is left, padded with zeros: adding +0 to a sum that began at +0 changes no bit.
        alignas(64) std::uint8_t last[stretch * F::bytes] = {};
        __builtin_memcpy(last, call.row + k * F::bytes, (call.cols - k) * F::bytes);
        add(last, call.x, k, a);
        k = end;
      }
      unroll<0, T>([&](auto t) __attribute__((always_inline)) {
        // a[j] + a[j + 32], then + 16; the rest within a vector.
        r[t][g] = fold16((a[t][0] + a[t][2]) + (a[t][1] + a[t][3]));
      });
    }
    for (int t = 0; t < T; ++t) {
      const float y = ((r[t][0] + r[t][1]) + (r[t][2] + r[t][3])) + ((r[t][4] + r[t][5]) + (r[t][6] + r[t][7])) + 0.0F;
      call.y[t] = y != y ? __builtin_bit_cast(float, 0x7FC00000u) : y;
    }
  }
};

template <class F>
constexpr FloatKernels float_kernels() {
  return {{FloatRow<F, 1>::row, FloatRow<F, 2>::row, FloatRow<F, 4>::row}};
}

}  // namespace lanewise::LW_TARGET

// Products are exact where both factors' bits fit 24 together.
#define LW_FLOAT_FORMAT(name, NAME)                                  \
  namespace LW_TARGET {                                              \
  struct NAME {                                                      \
    static constexpr int bytes = LW_##NAME##_BYTES;                  \
    static constexpr bool exact = LW_##NAME##_BYTES == 2;            \
    static constexpr bool limited = LW_##NAME##_LIMITED != 0;        \
    static LW_AI Float value(Word raw) { return name##_value(raw); } \
  };                                                                 \
  }
