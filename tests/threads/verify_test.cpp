// The harness on several threads.
#include "harness/verify.h"

#include <gtest/gtest.h>

#include <atomic>

namespace lanewise {
namespace {

TEST(HarnessThreads, ChangeNothing) {
  Case problem{Format::Q4_K, 3000, 256, 2, Planes::x16, Layout::raw, {}, Fill::gauss, 3, {}};
  VerifyOptions options;
  options.threads = 1;
  const Verdict one = verify_case(problem, options);
  options.threads = 7;
  EXPECT_EQ(to_string(verify_case(problem, options)), to_string(one));
}

TEST(HarnessThreads, ReportsProgressAndStopsWhenAsked) {
  Case problem{Format::Q4_0, 20000, 256, 1, Planes::x16, Layout::raw, {}, Fill::gauss, 3, {}};
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  VerifyOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t of) {
    EXPECT_GT(done, last);
    last = done;
    total = of;
  };
  EXPECT_TRUE(verify_case(problem, options).passed());
  EXPECT_EQ(last, total);
  EXPECT_GE(total, 40000U);

  std::atomic<bool> cancel{false};
  options.cancel = &cancel;
  options.progress = [&](std::uint64_t, std::uint64_t) { cancel = true; };
  const Verdict stopped = verify_case(problem, options);
  EXPECT_EQ(stopped.kind(), VerdictKind::cancelled);
  EXPECT_FALSE(stopped.passed());
}

}  // namespace
}  // namespace lanewise
