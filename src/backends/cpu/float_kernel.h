// GEMV of float rows: sixteen consecutive elements a vector, the 64 accumulators of an eighth in four vectors (docs/
// arithmetic.md, section 5). Compiled once for each target (simd/*.h) and format.
#pragma once

#include <cstdint>

#include "backends/cpu/floats.h"

namespace lanewise::LW_TARGET {

template <class F, int T>
struct FloatRows {
  static constexpr int vectors = 4;  // of sixteen: 64 elements
  static constexpr std::uint64_t stretch = 64;

  template <bool Limited>
  static LW_AI Float weights(const std::uint8_t* at) {
    const Float value = F::value(F::bytes == 4 ? load_words(at) : load_halves(at));
    if constexpr (Limited) return limited(value);
    return value;
  }
  template <bool Limited>
  static LW_AI void add_as(const std::uint8_t* w, const float* const* x, std::uint64_t k, Float (*a)[vectors]) {
    unroll<0, vectors>([&](auto v) __attribute__((always_inline)) {
      const Float weight = weights<Limited>(w + v * 16 * F::bytes);
      unroll<0, T>([&](auto t) __attribute__((always_inline)) {
        const Float value = load_floats(x[t] + k + v * 16);
        // An exact product may be fused with the addition.
        a[t][v] = F::exact ? fused(weight, value, a[t][v]) : weight * value + a[t][v];
      });
    });
  }
  /// One stretch of 64 elements. Limits are applied only where a weight is beyond them, or zero: BF16 0.74 -> 0.82
  /// to 0.88 of the ceiling at one token.
  static LW_AI void add(const std::uint8_t* w, const float* const* x, std::uint64_t k, Float (*a)[vectors]) {
    // |w| of an F16 lies between 2^-24 and 2^16.
    if constexpr (F::limited) {
      if (!within_limits<F::bytes>(w)) {
        add_as<true>(w, x, k, a);
        return;
      }
    }
    add_as<false>(w, x, k, a);
  }

  static void rows(const FloatsCall& call) {
    for (std::uint32_t g = call.first; g < call.last; ++g) {
      for (std::uint32_t r = 0; r < call.count; ++r) {
        const std::uint8_t* row = call.rows + r * call.row_bytes;
        const std::uint64_t end = call.bounds[g + 1];
        std::uint64_t k = call.bounds[g];
        Float a[T][vectors];
        unroll<0, T>([&](auto t) __attribute__((always_inline)) {
          unroll<0, vectors>([&](auto v) __attribute__((always_inline)) { a[t][v] = zero_float(); });
        });
        for (; k + stretch <= end; k += stretch) {
          const std::uint8_t* w = row + k * F::bytes;
          for (int line = 0; line < static_cast<int>(stretch * F::bytes); line += 64) {
            prefetch(w + call.far + line);
            prefetch_near(w + call.near + line);
          }
          add(w, call.x, k, a);
        }
        if (k < end) {
          // What is left, padded with zeros: adding +0 to a sum that began at +0 changes no bit.
          alignas(64) std::uint8_t last[stretch * F::bytes] = {};
          __builtin_memcpy(last, row + k * F::bytes, (end - k) * F::bytes);
          add(last, call.x, k, a);
        }
        // a[j] + a[j + 32], then + 16; the rest within a vector.
        Float sums[T];
        unroll<0, T>([&](auto t)
                         __attribute__((always_inline)) { sums[t] = (a[t][0] + a[t][2]) + (a[t][1] + a[t][3]); });
        float folded[T];
        fold16<T>(sums, folded);
        for (int t = 0; t < T; ++t) call.sums[g][t][r] = folded[t];
      }
    }
  }
};

template <class F>
constexpr FloatKernels float_kernels() {
  return {{FloatRows<F, 1>::rows, FloatRows<F, 2>::rows, FloatRows<F, 4>::rows}};
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
