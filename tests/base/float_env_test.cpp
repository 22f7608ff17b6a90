// The guard must give nearest-even arithmetic with subnormals inside, and the caller's own state outside.
#include "base/float_env.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstdint>

namespace lanewise {
namespace {

LW_NOINLINE float quotient(float a, float b) {
  const volatile float numerator = a;
  return numerator / b;
}

TEST(FloatEnvironment, NearestInsideAndTheCallersOutside) {
  const float nearest = quotient(1.0F, 3.0F);
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const float upward = quotient(1.0F, 10.0F);
  float inside = 0;
  {
    const FloatEnvironment environment;
    inside = quotient(1.0F, 3.0F);
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_EQ(quotient(1.0F, 10.0F), upward);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(inside, nearest);
}

#if defined(__x86_64__)
TEST(FloatEnvironment, SubnormalsSurviveFlushToZero) {
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | 0x8040u);  // FTZ and DAZ
  const float flushed = quotient(1e-38F, 16.0F);
  float inside = 0;
  {
    const FloatEnvironment environment;
    inside = quotient(1e-38F, 16.0F);
  }
  EXPECT_EQ(__builtin_ia32_stmxcsr() & 0x8040u, 0x8040u);
  __builtin_ia32_ldmxcsr(before);
  EXPECT_EQ(flushed, 0.0F);
  EXPECT_GT(inside, 0.0F);
}
#elif defined(__aarch64__)
std::uint64_t fpcr() {
  std::uint64_t value = 0;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_fpcr(std::uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value) : "memory"); }

TEST(FloatEnvironment, SubnormalsSurviveFlushToZero) {
  constexpr std::uint64_t flush = std::uint64_t{1} << 24;
  const std::uint64_t before = fpcr();
  set_fpcr(before | flush);
  const float flushed = quotient(1e-38F, 16.0F);
  float inside = 0;
  {
    const FloatEnvironment environment;
    inside = quotient(1e-38F, 16.0F);
  }
  EXPECT_EQ(fpcr() & flush, flush);
  set_fpcr(before);
  EXPECT_EQ(flushed, 0.0F);
  EXPECT_GT(inside, 0.0F);
}

// Default-NaN, and the alternative halves that have no infinity.
TEST(FloatEnvironment, LeavesNoBitOfTheCallersControl) {
  constexpr std::uint64_t both = std::uint64_t{3} << 25;
  const std::uint64_t before = fpcr();
  set_fpcr(before | both);
  std::uint64_t inside = 1;
  {
    const FloatEnvironment environment;
    inside = fpcr();
  }
  EXPECT_EQ(fpcr(), before | both);
  set_fpcr(before);
  EXPECT_EQ(inside, 0u);
}
#endif

TEST(FloatEnvironment, RaisesNoFlagOutside) {
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const FloatEnvironment environment;
    EXPECT_GT(quotient(1.0F, 3.0F), 0.0F);
  }
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
  std::feraiseexcept(FE_OVERFLOW);
  {
    const FloatEnvironment environment;
    EXPECT_GT(quotient(1.0F, 3.0F), 0.0F);
  }
  EXPECT_NE(std::fetestexcept(FE_OVERFLOW), 0);
  std::feclearexcept(FE_ALL_EXCEPT);
}

}  // namespace
}  // namespace lanewise
