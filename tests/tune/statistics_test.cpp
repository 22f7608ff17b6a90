// The statistics of tuning against simulated times: what is planted must be found, and nothing else.
#include "tune/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace lanewise::tune::test {
namespace {

TEST(Median, OfOddEvenAndNone) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(deviation({1, 2, 3, 4, 100}), 1);
}

TEST(Order, IsEveryContenderThereAndBack) {
  std::set<std::vector<std::size_t>> seen;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<std::size_t> order = order_of(5, seed);
    ASSERT_EQ(order.size(), 10U);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(order[i], order[9 - i]);
    EXPECT_EQ(std::set<std::size_t>(order.begin(), order.begin() + 5).size(), 5U);
    seen.insert(order);
  }
  EXPECT_GT(seen.size(), 20U) << "orders differ from round to round";
}

// A steady drift falls on all contenders alike: each one's two times are as far before the middle as after it.
TEST(Order, TakesASteadyDriftOut) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> sums(6);
    double time = 100;
    for (const std::size_t contender : order_of(6, seed)) sums[contender] += time += 1;
    for (const double sum : sums) EXPECT_DOUBLE_EQ(sum, sums[0]);
  }
}

std::vector<Round> rounds_of(std::initializer_list<double> controls, double speed = 0) {
  std::vector<Round> rounds;
  for (const double control : controls) rounds.push_back({{100, 100 * control, 90}, speed});
  return rounds;
}

TEST(Sieve, HoldsAGpuToHalfAPercent) {
  const std::vector<Round> rounds = rounds_of({1.0, 1.004, 0.996, 1.006, 0.994, 1.0});
  Limits limits;
  limits.control = 0.005;
  const Sieve sifted = sieve(rounds, limits);
  EXPECT_EQ(sifted.kept, (std::vector{true, true, true, false, false, true}));
  EXPECT_EQ(sifted.control, 2U);
  EXPECT_EQ(sifted.clock, 0U);
  EXPECT_EQ(sifted.accepted(), 4U);
  EXPECT_EQ(sifted.bound, 0.005);
}

TEST(Sieve, HoldsACpuToItsOwnSpread) {
  const std::vector<Round> rounds = rounds_of({1.00, 1.01, 0.99, 1.02, 0.98, 1.01, 0.99, 1.00, 1.30, 0.60});
  const Sieve sifted = sieve(rounds, {});
  EXPECT_EQ(sifted.control, 2U) << "a tenth of noise is usual here, a third is not";
  EXPECT_FALSE(sifted.kept[8]);
  EXPECT_FALSE(sifted.kept[9]);
  EXPECT_GT(sifted.bound, 0.02);
  EXPECT_LT(sifted.bound, 0.10);
  EXPECT_EQ(sifted.control_low, 0.60);
  EXPECT_EQ(sifted.control_high, 1.30);
}

TEST(Sieve, HasALeastBoundWhereTheSpreadIsNone) {
  const Sieve sifted = sieve(rounds_of({1, 1, 1, 1.004, 1}), {});
  EXPECT_EQ(sifted.accepted(), 5U);
  EXPECT_EQ(sifted.bound, Limits{}.least_control);
}

TEST(Sieve, RejectsRoundsOfASlowClockAndCountsThemOnce) {
  std::vector<Round> rounds = rounds_of({1, 1, 1, 1, 1.5, 1, 1}, 3e9);
  rounds[1].speed = 2.95e9;  // 1.7 %
  rounds[2].speed = 2.9e9;   // 3.3 %
  rounds[4].speed = 2.0e9;
  const Sieve sifted = sieve(rounds, {});
  EXPECT_EQ(sifted.kept, (std::vector{true, true, false, true, false, true, true}));
  EXPECT_EQ(sifted.clock, 2U);
  EXPECT_EQ(sifted.control, 0U);
}

TEST(Sieve, TakesTheDefaultsTimeForAClockThatCantBeTold) {
  std::vector<Round> rounds = rounds_of({1, 1, 1, 1, 1});
  for (double& us : rounds[3].us) us *= 1.03;
  EXPECT_EQ(sieve(rounds, {}).accepted(), 5U);
  Limits limits;
  limits.default_is_clock = true;
  const Sieve sifted = sieve(rounds, limits);
  EXPECT_EQ(sifted.kept, (std::vector{true, true, true, false, true}));
  EXPECT_EQ(sifted.clock, 1U);
}

TEST(Sieve, OfNothingIsNothing) {
  const Sieve sifted = sieve({}, {});
  EXPECT_EQ(sifted.accepted(), 0U);
  EXPECT_EQ(compare({}, sifted, 2).rounds, 0U);
}

TEST(Compare, LooksAtKeptRoundsAlone) {
  std::vector<Round> rounds = rounds_of({1, 1, 1, 1, 1.5});
  rounds[4].us[2] = 10;
  const Paired paired = compare(rounds, sieve(rounds, {}), 2);
  EXPECT_EQ(paired.ratio, 0.9);
  EXPECT_EQ(paired.us, 45) << "of two times";
  EXPECT_EQ(paired.rounds, 4U);
  EXPECT_EQ(paired.error, 0);
}

TEST(Compare, PairsRoundByRound) {
  // The whole machine gets slower and slower: ratios stay.
  std::vector<Round> rounds;
  for (int i = 0; i < 9; ++i) rounds.push_back({{100.0 + 20 * i, 100.0 + 20 * i, 95.0 + 19 * i}, 0});
  EXPECT_NEAR(compare(rounds, sieve(rounds, {}), 2).ratio, 0.95, 1e-12);
}

TEST(Decide, WantsEveryRunAndAPercent) {
  const auto of = [](std::initializer_list<double> ratios, double error) {
    std::vector<Paired> runs;
    for (const double ratio : ratios) runs.push_back({ratio, error, 100 * ratio, 15});
    return decide(runs, 0.01, 8);
  };
  EXPECT_TRUE(of({0.97, 0.98, 0.96}, 0.001).wins);
  EXPECT_FALSE(of({0.97, 0.992, 0.96}, 0.001).wins) << "one run below a percent";
  EXPECT_FALSE(of({0.97, 0.98, 0.96}, 0.012).wins) << "two standard errors reach 1";
  EXPECT_FALSE(of({0.991, 0.991, 0.991}, 0).wins) << "less than a percent never replaces the default";
  const Decision decision = of({0.97, 0.98, 0.96}, 0.001);
  EXPECT_EQ(decision.ratio, 0.97);
  EXPECT_EQ(decision.low, 0.96);
  EXPECT_EQ(decision.high, 0.98);
  EXPECT_EQ(decision.us, 96);
  EXPECT_EQ(decision.rounds, 45U);
  EXPECT_FALSE(decide(std::vector<Paired>{{0.9, 0, 90, 7}}, 0.01, 8).wins) << "too few rounds";
  EXPECT_FALSE(decide({}, 0.01, 8).wins);
}

TEST(BetterHalf, KeepsTheBestOfAnyNumber) {
  EXPECT_EQ(better_half({5, 1, 4, 2, 3}, 1), (std::vector<std::size_t>{1, 3, 4}));
  EXPECT_EQ(better_half({5, 1}, 2), (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(better_half({5}, 2), (std::vector<std::size_t>{0}));
  EXPECT_TRUE(better_half({}, 2).empty());
}

// A final of three runs of fifteen rounds, with normal noise on each time, some of it interrupted, under a drift.
class Final {
 public:
  explicit Final(std::uint64_t seed) : random_(seed) {}

  Decision decide_for(double effect, double noise, double interrupted) {
    std::vector<Paired> runs;
    double drift = 1;
    for (int run = 0; run < 3; ++run) {
      std::vector<Round> rounds;
      for (int i = 0; i < 15; ++i) {
        Round round{{0, 0, 0}, 0};
        for (const std::size_t contender : order_of(3, random_())) {
          double us = contender == 2 ? 100 * (1 - effect) : 100;
          us *= drift * (1 + noise * normal_(random_));
          if (uniform_(random_) < interrupted) us *= 1 + uniform_(random_);
          drift *= 1 + 0.0005 * normal_(random_);
          round.us[contender] += us;
        }
        rounds.push_back(round);
      }
      runs.push_back(compare(rounds, sieve(rounds, {}), 2));
    }
    return decide(runs, 0.01, 8);
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_{0, 1};
};

struct Noise {
  double noise;
  double interrupted;
};
const Noise noises[] = {{0.001, 0}, {0.005, 0.02}, {0.02, 0.05}, {0.05, 0.1}, {0.15, 0.2}};

TEST(Simulated, TheDefaultAgainstItselfWinsInOneCaseOfAHundredAtMost) {
  for (const Noise& each : noises) {
    Final simulation(7);
    int wins = 0;
    for (int i = 0; i < 2000; ++i) wins += simulation.decide_for(0, each.noise, each.interrupted).wins ? 1 : 0;
    EXPECT_LE(wins, 20) << each.noise;
  }
}

TEST(Simulated, AnEffectIsFoundAndMeasured) {
  for (const Noise& each : {noises[0], noises[1], noises[2]}) {
    Final simulation(11);
    int wins = 0;
    double sum = 0;
    for (int i = 0; i < 500; ++i) {
      const Decision decision = simulation.decide_for(0.05, each.noise, each.interrupted);
      wins += decision.wins ? 1 : 0;
      sum += decision.ratio;
    }
    EXPECT_GE(wins, 475) << each.noise;
    EXPECT_NEAR(sum / 500, 0.95, 0.003) << each.noise;
  }
}

TEST(Simulated, LessThanAPercentIsNoWin) {
  Final simulation(13);
  int wins = 0;
  for (int i = 0; i < 500; ++i) wins += simulation.decide_for(0.004, 0.003, 0.02).wins ? 1 : 0;
  EXPECT_LE(wins, 5);
}

}  // namespace
}  // namespace lanewise::tune::test
