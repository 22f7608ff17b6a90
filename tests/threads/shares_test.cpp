// Which thread takes which part of a call.
#include "kernels/shares.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace lanewise {
namespace {

std::vector<std::uint32_t> all_of(PartShares& shares, std::uint32_t thread) {
  std::vector<std::uint32_t> parts;
  for (std::uint32_t part = 0; shares.take(thread, part);) parts.push_back(part);
  return parts;
}

TEST(Shares, AThreadTakesItsOwnInOrderAndThenTheLastOfOthers) {
  PartShares shares(9, 3);
  EXPECT_FALSE(shares.empty());
  EXPECT_EQ(all_of(shares, 1), (std::vector<std::uint32_t>{3, 4, 5, 2, 8, 1, 7, 0, 6}));
  EXPECT_TRUE(shares.empty());
  EXPECT_TRUE(all_of(shares, 0).empty());
}

TEST(Shares, OfAnyNumberEachIsTakenOnce) {
  for (const std::uint32_t count : {0U, 1U, 2U, 3U, 31U, 64U, 1000U}) {
    for (const std::uint32_t threads : {0U, 1U, 2U, 3U, 32U, 33U, 100U}) {
      PartShares shares(count, threads);
      std::vector<std::uint32_t> parts;
      std::uint32_t part = 0;
      // In turn: the lanes empty side by side.
      for (std::uint32_t thread = 0; shares.take(thread, part); thread = (thread + 1) % std::max(threads, 1U)) {
        parts.push_back(part);
      }
      EXPECT_EQ(parts.size(), count) << threads << " threads";
      EXPECT_EQ(std::set<std::uint32_t>(parts.begin(), parts.end()).size(), count) << threads << " threads";
      EXPECT_TRUE(parts.empty() || *std::ranges::max_element(parts) == count - 1);
      EXPECT_TRUE(shares.empty());
    }
  }
}

TEST(Shares, ManyAtOnceTakeEachPartOnce) {
  constexpr std::uint32_t count = 20'000;
  constexpr std::uint32_t threads = 4;
  PartShares shares(count, threads);
  std::vector<std::vector<std::uint32_t>> taken(threads);
  std::vector<std::thread> crew;
  for (std::uint32_t i = 0; i < threads; ++i) {
    crew.emplace_back([&, i] { taken[i] = all_of(shares, i); });
  }
  for (std::thread& thread : crew) thread.join();
  std::vector<std::uint32_t> times(count, 0);
  for (const auto& parts : taken) {
    for (const std::uint32_t part : parts) ++times[part];
  }
  EXPECT_EQ(std::ranges::count(times, 1U), count);
}

}  // namespace
}  // namespace lanewise
