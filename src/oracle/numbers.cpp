#include "oracle/numbers.h"

#include <limits>

#include "oracle/oracle.h"

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

namespace lanewise::oracle {
namespace {

struct Layout {
  int exponent_bits;
  int fraction_bits;
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  // The exponent of the last place of subnormals.
  constexpr int lowest() const { return 1 - bias() - fraction_bits; }
  constexpr std::uint64_t infinity() const { return ((std::uint64_t{1} << exponent_bits) - 1) << fraction_bits; }
  constexpr std::uint64_t quiet_nan() const { return infinity() | std::uint64_t{1} << (fraction_bits - 1); }
};

constexpr Layout kFp16{5, 10};
constexpr Layout kBf16{8, 7};
constexpr Layout kFp32{8, 23};

double widen(std::uint32_t bits, Layout f) {
  const std::uint32_t fraction = bits & ((1u << f.fraction_bits) - 1);
  const int exponent = static_cast<int>(bits >> f.fraction_bits) & ((1 << f.exponent_bits) - 1);
  const bool negative = (bits >> (f.fraction_bits + f.exponent_bits) & 1) != 0;
  double magnitude;
  if (exponent == (1 << f.exponent_bits) - 1) {
    magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    magnitude = static_cast<double>(fraction) * power_of_two(f.lowest());
  } else {
    magnitude = static_cast<double>(fraction + (1u << f.fraction_bits)) * power_of_two(f.lowest() + exponent - 1);
  }
  return negative ? -magnitude : magnitude;
}

std::uint32_t narrow(double value, Layout f) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = (bits >> 63) << (f.exponent_bits + f.fraction_bits);
  const int exponent = static_cast<int>(bits >> 52 & 0x7FF);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent == 0x7FF) {
    // One NaN only, so that two implementations can be compared by their bits.
    return static_cast<std::uint32_t>(fraction != 0 ? f.quiet_nan() : sign | f.infinity());
  }
  // Subnormal doubles are far below half of any smallest fp32, fp16 or bf16.
  if (exponent == 0) return static_cast<std::uint32_t>(sign);

  const std::uint64_t significand = fraction | std::uint64_t{1} << 52;  // value = significand * 2^unit
  const int unit = exponent - 1075;
  int last = unit + 52 - f.fraction_bits;  // exponent of the result's last place
  if (last < f.lowest()) last = f.lowest();
  const int drop = last - unit;  // at least 52 - 23, so always to the right
  std::uint64_t kept = 0;
  if (drop <= 54) {
    kept = significand >> drop;
    const std::uint64_t rest = significand - (kept << drop);
    const std::uint64_t half = std::uint64_t{1} << (drop - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  }
  // The hidden bit, and a carry out of the rounding, add themselves to the exponent field.
  const std::uint64_t magnitude = (static_cast<std::uint64_t>(last - f.lowest()) << f.fraction_bits) + kept;
  return static_cast<std::uint32_t>(sign | (magnitude < f.infinity() ? magnitude : f.infinity()));
}

}  // namespace

double fp16_value(std::uint16_t bits) { return widen(bits, kFp16); }
double bf16_value(std::uint16_t bits) { return widen(bits, kBf16); }
double fp32_value(std::uint32_t bits) { return widen(bits, kFp32); }

float round_to_fp32(double value) { return std::bit_cast<float>(narrow(value, kFp32)); }

std::uint16_t round_to_fp16(float value) {
  return static_cast<std::uint16_t>(narrow(fp32_value(std::bit_cast<std::uint32_t>(value)), kFp16));
}

std::uint16_t round_to_bf16(float value) {
  return static_cast<std::uint16_t>(narrow(fp32_value(std::bit_cast<std::uint32_t>(value)), kBf16));
}

DefaultEnvironment::DefaultEnvironment() {
  std::fegetenv(&saved_);
  std::fesetenv(FE_DFL_ENV);
#if defined(__x86_64__) || defined(__i386__)
  // Not every C library clears flush-to-zero and denormals-are-zero with FE_DFL_ENV.
  _mm_setcsr(0x1F80);
#endif
}

DefaultEnvironment::~DefaultEnvironment() { std::fesetenv(&saved_); }

}  // namespace lanewise::oracle
