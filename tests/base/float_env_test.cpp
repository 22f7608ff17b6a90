// The guard must give nearest-even arithmetic with subnormals inside, and the caller's own state outside.
#include "base/float_env.h"

#include <gtest/gtest.h>

#include <cfenv>

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
#endif

}  // namespace
}  // namespace lanewise
