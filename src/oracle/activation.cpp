// Section 1 of the arithmetic: activations as integers with one power of two a super-block.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "oracle/numbers.h"
#include "oracle/oracle.h"

namespace lanewise::oracle {
namespace {

constexpr int kLowestExponent = -80;

double input(const void* x, Input type, std::int64_t i) {
  const auto* bytes = static_cast<const std::uint8_t*>(x);
  if (type == Input::fp32) {
    std::uint32_t word;
    std::memcpy(&word, bytes + 4 * i, 4);
    return fp32_value(word);
  }
  std::uint16_t word;
  std::memcpy(&word, bytes + 2 * i, 2);
  return type == Input::fp16 ? fp16_value(word) : bf16_value(word);
}

// The definition, tried out: scaling by a power of two is exact in double, so rint sees the real value.
[[gnu::noinline]] int search_exponent(double amax, std::int32_t limit) {
  int e = kLowestExponent;
  while (std::rint(amax * power_of_two(-e)) > limit) ++e;
  return e;
}

// Splits q into signed bytes, lowest first.
void split(std::int32_t q, int plane_count, std::int8_t* out) {
  for (int p = 0; p < plane_count; ++p) {
    const std::int32_t low = p + 1 == plane_count ? q : ((q + 128) & 255) - 128;
    out[p] = static_cast<std::int8_t>(low);
    q = (q - low) / 256;
  }
}

[[gnu::noinline]] void quantise_token(Activation& a, std::int64_t token) {
  const double* x = a.x.data() + token * a.cols;
  bool poisoned = false;
  for (std::int64_t k = 0; k < a.cols; ++k) {
    if (!(std::fabs(x[k]) < power_of_two(64))) poisoned = true;  // a NaN compares false
  }
  a.poisoned[index(token)] = poisoned ? 1 : 0;
  if (poisoned) return;

  for (std::int64_t b = 0; b < a.blocks; ++b) {
    const std::int64_t first = b * kSuperBlock;
    const std::int64_t last = first + kSuperBlock < a.cols ? first + kSuperBlock : a.cols;
    double amax = 0;
    for (std::int64_t k = first; k < last; ++k) amax = std::fmax(amax, std::fabs(x[k]));
    const std::size_t at = index(token * a.blocks + b);
    a.e16[at] = search_exponent(amax, activation_limit(2));
    a.e24[at] = search_exponent(amax, activation_limit(3));
    const int e = search_exponent(amax, activation_limit(a.plane_count));
    a.e[at] = e;
    for (std::int64_t k = first; k < last; ++k) {
      const auto q = static_cast<std::int32_t>(std::rint(x[k] * power_of_two(-e)));
      a.q[index(token * a.cols + k)] = q;
      std::int8_t planes[3] = {};
      split(q, a.plane_count, planes);
      for (int p = 0; p < a.plane_count; ++p) {
        a.planes[index((p * a.tokens + token) * a.cols + k)] = planes[p];
      }
    }
  }
}

}  // namespace

std::int32_t activation_limit(int plane_count) {
  if (plane_count == 1) return 127;
  return plane_count == 2 ? 32512 : 8355711;
}

int activation_exponent(double amax, std::int32_t limit) {
  const DefaultEnvironment environment;
  // The worker touches no memory, so only these keep it between the two changes of environment.
  const volatile double held = amax;
  const volatile int e = search_exponent(held, limit);
  return e;
}

Activation activate(const void* x, Input type, std::int64_t tokens, std::int64_t cols, int plane_count) {
  const DefaultEnvironment environment;
  Activation a;
  a.plane_count = plane_count;
  a.tokens = tokens;
  a.cols = cols;
  a.blocks = (cols + kSuperBlock - 1) / kSuperBlock;
  a.x.resize(index(tokens * cols));
  for (std::int64_t i = 0; i < tokens * cols; ++i) a.x[index(i)] = input(x, type, i);
  a.poisoned.assign(index(tokens), 0);
  a.e.assign(index(tokens * a.blocks), kLowestExponent);
  a.e16 = a.e;
  a.e24 = a.e;
  a.q.assign(index(tokens * cols), 0);
  a.planes.assign(index(plane_count * tokens * cols), 0);
  for (std::int64_t token = 0; token < tokens; ++token) quantise_token(a, token);
  return a;
}

}  // namespace lanewise::oracle
