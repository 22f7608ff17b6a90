#include "base/checked.h"

#include <gtest/gtest.h>

namespace lanewise {
namespace {

TEST(Checked, SaysWhenItWouldWrap) {
  EXPECT_EQ(checked_add(UINT64_MAX - 1, 1), UINT64_MAX);
  EXPECT_FALSE(checked_add(UINT64_MAX, 1));
  EXPECT_EQ(checked_mul(0, UINT64_MAX), 0u);
  EXPECT_EQ(checked_mul(UINT64_MAX, 1), UINT64_MAX);
  EXPECT_FALSE(checked_mul(std::uint64_t{1} << 32, std::uint64_t{1} << 32));
  EXPECT_FALSE(checked_mul(UINT64_MAX / 2 + 1, 2));
}

TEST(Checked, AlignsUpward) {
  EXPECT_EQ(checked_align(0, 32), 0u);
  EXPECT_EQ(checked_align(1, 32), 32u);
  EXPECT_EQ(checked_align(32, 32), 32u);
  EXPECT_EQ(checked_align(UINT64_MAX - 31, 32), UINT64_MAX - 31);
  EXPECT_FALSE(checked_align(UINT64_MAX - 30, 32));
}

TEST(Checked, CeilDivReachesTheTop) {
  EXPECT_EQ(ceil_div(0, 7), 0u);
  EXPECT_EQ(ceil_div(8, 7), 2u);
  EXPECT_EQ(ceil_div(UINT64_MAX, 2), (std::uint64_t{1} << 63));
}

}  // namespace
}  // namespace lanewise
