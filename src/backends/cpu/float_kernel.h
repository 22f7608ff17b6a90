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
  // Rows, where there are registers for sixteen sums.
  static constexpr int side_by_side = most_sums >= 16 && T < 4 ? 4 / T : 1;

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

  /// `R` rows from row r on, of eighth g. Of one row the sums of one token are four chains, each of which waits for
  /// the addition before: four rows side by side take 0.71 of the time (F16 from the second cache; cold 0.93).
  template <int R>
  static LW_AI void some(const FloatsCall& call, std::uint32_t g, std::uint32_t r) {
    const std::uint8_t* first = call.rows + r * call.row_bytes;
    const std::uint64_t end = call.bounds[g + 1];
    std::uint64_t k = call.bounds[g];
    Float a[R][T][vectors];
    unroll<0, R * T * vectors>([&](auto i) __attribute__((always_inline)) {
      a[i / vectors / T][i / vectors % T][i % vectors] = zero_float();
    });
    for (; k + stretch <= end; k += stretch) {
      unroll<0, R>([&](auto i) __attribute__((always_inline)) {
        const std::uint8_t* w = first + i * call.row_bytes + k * F::bytes;
        unroll<0, int(stretch) * F::bytes / 64>([&](auto line) __attribute__((always_inline)) {
          prefetch(w + call.far + line * 64);
          prefetch_near(w + call.near + line * 64);
        });
        add(w, call.x, k, a[i]);
      });
    }
    if (k < end) {
      // What is left, padded with zeros: adding +0 to a sum that began at +0 changes no bit.
      unroll<0, R>([&](auto i) __attribute__((always_inline)) {
        alignas(64) std::uint8_t last[stretch * F::bytes] = {};
        __builtin_memcpy(last, first + i * call.row_bytes + k * F::bytes, (end - k) * F::bytes);
        add(last, call.x, k, a[i]);
      });
    }
    // a[j] + a[j + 32], then + 16; the rest within a vector.
    Float sums[R * T];
    unroll<0, R * T>([&](auto i) __attribute__((always_inline)) {
      const Float* of = a[i / T][i % T];
      sums[i] = (of[0] + of[2]) + (of[1] + of[3]);
    });
    float folded[R * T];
    fold16<R * T>(sums, folded);
    for (std::uint32_t i = 0; i < R * T; ++i) call.sums[g][i % T][r + i / T] = folded[i];
  }

  static void rows(const FloatsCall& call) {
    for (std::uint32_t g = call.first; g < call.last; ++g) {
      std::uint32_t r = 0;
      for (; r + side_by_side <= call.count; r += side_by_side) some<side_by_side>(call, g, r);
      for (; r < call.count; ++r) some<1>(call, g, r);
    }
  }
};

template <class F>
constexpr FloatKernels float_kernels() {
  return {{FloatRows<F, 1>::rows, FloatRows<F, 2>::rows, FloatRows<F, 4>::rows},
          {FloatRows<F, 1>::side_by_side, FloatRows<F, 2>::side_by_side, FloatRows<F, 4>::side_by_side}};
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
