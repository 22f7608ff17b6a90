// The scalar kernel's steps, as templates over the format: shared by the kernel (no observer) and the trace (one that
// writes every step down), so that the trace can't tell another story than the kernel.
#pragma once

#include <algorithm>
#include <cstring>

#include "arithmetic/scalar.h"
#include "formats/block.h"

namespace lanewise::scalar {

/// A d-group, decoded: codes in the order of k and what scales them.
template <class T>
struct Decoded {
  static constexpr lw_u32 groups = T::info.dgroup / T::info.group;
  std::int8_t codes[T::info.dgroup];
  std::int32_t sub_scales[groups];
  std::int32_t sub_mins[groups];
  float d;
  float m;
  std::int32_t exponent;  // EXP formats: the power of two that stands for d

  Decoded(const std::uint8_t* bytes, lw_u32 dgroup) {
    const Block<T> block{bytes};
    for (lw_u32 i = 0; i < T::info.dgroup / 4; ++i) {
      const lw_u32 quad = block.quad(dgroup * (T::info.dgroup / 4) + i);
      std::memcpy(codes + 4 * i, &quad, sizeof quad);
    }
    for (lw_u32 i = 0; i < groups; ++i) {
      sub_scales[i] = block.sub_scale(dgroup * groups + i);
      sub_mins[i] = T::info.has_min ? block.sub_min(dgroup * groups + i) : 0;
    }
    if constexpr (T::info.kind == FormatKind::EXP) {
      d = 0;
      exponent = T::exponent(block.scale_bits(dgroup));
    } else {
      d = T::d(block.scale_bits(dgroup));
      exponent = 0;
    }
    m = T::info.has_min ? T::m(block.min_bits(dgroup)) : 0;
  }
};

/// J_p of a d-group: `plane` starts at its first element.
template <class T>
std::int32_t code_sum(const Decoded<T>& w, const std::int8_t* plane) {
  std::int32_t total = 0;
  for (lw_u32 i = 0; i < Decoded<T>::groups; ++i) {
    std::int32_t sum = 0;
    for (lw_u32 j = 0; j < T::info.group; ++j) sum += w.codes[i * T::info.group + j] * plane[i * T::info.group + j];
    total += w.sub_scales[i] * sum;
  }
  return total;
}

/// M_p of a d-group: `sums` are the sums of 16 elements, from its first on.
template <class T>
std::int32_t min_sum(const Decoded<T>& w, const std::int32_t* sums) {
  constexpr lw_u32 per_group = T::info.group / sum_group;
  std::int32_t total = 0;
  for (lw_u32 i = 0; i < Decoded<T>::groups; ++i) {
    std::int32_t sum = 0;
    for (lw_u32 j = 0; j < per_group; ++j) sum += sums[i * per_group + j];
    total += w.sub_mins[i] * sum;
  }
  return total;
}

struct Nobody {
  void step(const TraceStep&) {}
};

/// Adds what one d-group contributes to its accumulator.
template <class T, class Observer>
void add_dgroup(const Decoded<T>& w, const NaturalToken& x, Planes planes, std::uint64_t k, std::uint32_t g,
                std::array<std::array<float, code_chains>, eighths>& a, Observer& observer) {
  const std::uint64_t b = k / super_block;
  const auto v = static_cast<std::uint32_t>(k % super_block / T::info.dgroup % code_chains);
  float& accumulator = a[g][v];

  std::array<std::int32_t, 3> sums{};
  for (std::uint32_t p = 0; p < plane_count(planes); ++p) sums[p] = code_sum(w, x.plane(p) + k);
  const float value = plane_value(sums.data(), planes);
  float scale = w.d;
  float term = 0;
  if constexpr (T::info.kind == FormatKind::EXP) {
    scale = capped_power(w.exponent + x.exponents[b]);
    term = value * scale;
  } else {
    term = w.d * value * x.powers[b];
  }
  accumulator += term;
  observer.step({k, g, v, false, sums, value, scale, term, accumulator});

  if constexpr (T::info.has_min) {
    std::array<std::int32_t, 3> mins{};
    for (std::uint32_t p = 0; p < plane_count(planes); ++p) mins[p] = min_sum(w, x.plane_sums(p) + k / sum_group);
    const float min_value = plane_value(mins.data(), planes);
    const float min_term = w.m * min_value * x.powers[b];
    accumulator += min_term;
    observer.step({k, g, v, true, mins, min_value, w.m, min_term, accumulator});
  }
}

/// y of a quantised row for `count` (at most `window`) tokens of x: a row is decoded once for all of them.
inline constexpr std::uint64_t window = 8;

template <class T, class Observer>
void code_row(const std::uint8_t* row, const Activation& x, const NaturalToken* tokens, std::uint64_t count, float* y,
              Observer& observer, std::array<float, eighths>* r_out = nullptr) {
  std::array<std::array<std::array<float, code_chains>, eighths>, window> a{};
  for (std::uint64_t k = 0; k < x.cols(); k += T::info.dgroup) {
    const std::uint8_t* block = row + k / T::info.block_elements * T::info.block_bytes;
    const Decoded<T> decoded(block, static_cast<lw_u32>(k % T::info.block_elements / T::info.dgroup));
    const std::uint32_t g = eighth_of(k / super_block, x.blocks());
    for (std::uint64_t t = 0; t < count; ++t) add_dgroup(decoded, tokens[t], x.planes(), k, g, a[t], observer);
  }
  for (std::uint64_t t = 0; t < count; ++t) {
    std::array<float, eighths> r{};
    for (std::uint32_t g = 0; g < eighths; ++g) r[g] = fold_codes(a[t][g]);
    if (r_out != nullptr) *r_out = r;
    y[t] = tokens[t].poisoned ? std::bit_cast<float>(canonical_nan) : fold_eighths(r);
  }
}

// A weight as the arithmetic takes it: tiny ones count as zero, huge ones as infinite, so that no product is subnormal
// and none of finite values overflows.
inline float limited_weight(float w) {
  constexpr float least = 1.08420217248550443400745280086994171142578125e-19F;  // 2^-63
  constexpr float most = 9223372036854775808.0F;                                // 2^63
  const float magnitude = w < 0 ? -w : w;
  if (magnitude < least) return 0.0F;
  if (magnitude >= most) return w < 0 ? -__builtin_inff() : __builtin_inff();
  return w;
}

/// A stretch of float_chains elements or fewer, of which element k + v meets accumulator a[v].
template <class T, class Observer>
void add_stretch(const std::uint8_t* row, const FloatToken& x, std::uint64_t k, std::uint32_t count, std::uint32_t g,
                 std::array<float, float_chains>& a, Observer& observer) {
  for (std::uint32_t v = 0; v < count; ++v) {
    lw_u32 raw = 0;
    std::memcpy(&raw, row + (k + v) * T::info.block_bytes, T::info.block_bytes);
    const float weight = limited_weight(T::value(raw));
    const float term = weight * x.values[k + v];
    a[v] += term;
    observer.step({k + v, g, v, false, {}, x.values[k + v], weight, term, a[v]});
  }
}

/// y of a float row for one token. The product is rounded to fp32 before it is added (it is exact but for F32).
template <class T, class Observer>
float float_row(const std::uint8_t* row, const FloatToken& x, std::uint64_t cols, Observer& observer,
                std::array<float, eighths>* r_out = nullptr) {
  std::array<std::array<float, float_chains>, eighths> a{};
  const std::uint64_t blocks = ceil_div(cols, super_block);
  for (std::uint64_t k = 0; k < cols; k += float_chains) {
    const std::uint32_t g = eighth_of(k / super_block, blocks);
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(float_chains, cols - k));
    add_stretch<T>(row, x, k, count, g, a[g], observer);
  }
  std::array<float, eighths> r{};
  for (std::uint32_t g = 0; g < eighths; ++g) r[g] = fold_floats(a[g]);
  if (r_out != nullptr) *r_out = r;
  return x.poisoned ? std::bit_cast<float>(canonical_nan) : fold_eighths(r);
}

/// The image of x that a float format reads.
template <class T>
constexpr Image float_image() {
  static_assert(T::info.is_float());
  if constexpr (T::info.format == Format::F16) return Image::xq_f16;
  if constexpr (T::info.format == Format::BF16) return Image::xq_bf16;
  return Image::xq_f32;
}

}  // namespace lanewise::scalar
