// `lanewise tune --device cuda:N` but for the device: the search finds the tiling that an emulated device is told to
// run fastest, skips one that gives a wrong bit, and times what it says it times.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "cuda/emulated_device.h"
#include "cuda/emulated_timer.h"
#include "exit_codes.h"
#include "tune_run.h"

namespace lanewise::test {
namespace {

using program::MatrixWish;
using program::TuneEntry;
using program::TuneOutcome;
using program::TuneWish;

class TuneOnGpu : public testing::Test {
 protected:
  TuneOnGpu() {
    device_->launches.reserve(1000);
    wish_.tokens = {1};
    wish_.budget = 1000;
    wish_.most_candidates = 1000;
    // Twice as many candidates as rounds would be slow: the emulated clock is exact.
    wish_.search.rounds = 5;
    wish_.search.runs = 2;
  }
  void put(Format format, std::uint64_t rows) {
    MatrixWish matrix;
    matrix.format = format;
    matrix.rows = rows;
    matrix.cols = 256;
    wish_.targets = {{matrix, 3, 2}};
  }
  TuneOutcome run() {
    const auto tuned = program::make_tune_gpu(device_, timer_, {1 << 20, 1e-9});
    EXPECT_TRUE(tuned->choose_memory({wish_.targets[0].wish}));
    program::Progress progress(true);
    auto outcome = program::run_tuning(*tuned, wish_, progress, [](const TuneEntry&) { return Outcome(Done{}); });
    EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message);
    return outcome ? std::move(*outcome) : TuneOutcome{};
  }
  static gpu::Tiling tiling_of(const EmulatedDevice::Launched& launch) {
    return {launch.what.tile[0], launch.what.tile[1], launch.what.tile[2], launch.what.tile[3]};
  }

  std::shared_ptr<EmulatedDevice> device_ = std::make_shared<EmulatedDevice>();
  EmulatedTimer timer_{device_};
  TuneWish wish_;
};

TEST_F(TuneOnGpu, FindsTheTilingThatIsFastest) {
  put(Format::Q4_K, 300);
  timer_.product_us = [](const auto& launch) { return launch.what.tile[0] == 16 ? 7.0 : 8.0; };
  const TuneOutcome outcome = run();
  ASSERT_EQ(outcome.entries.size(), 1U);
  const TuneEntry& entry = outcome.entries[0];
  EXPECT_EQ(entry.candidates.size(), 3U);
  EXPECT_EQ(entry.chosen().text(), "dp4a:tile=16/0/0/0");
  EXPECT_DOUBLE_EQ(entry.result.default_us, 8);
  EXPECT_DOUBLE_EQ(entry.result.chosen_us, 7);
  EXPECT_DOUBLE_EQ(entry.result.decision.ratio, 0.875);
  EXPECT_EQ(entry.result.verified, 900U);
  const std::vector<program::TuneDecoding> effect = program::decoding(wish_, outcome.entries);
  ASSERT_EQ(effect.size(), 1U);
  EXPECT_DOUBLE_EQ(effect[0].default_ms, 0.016) << "two passes";
  EXPECT_DOUBLE_EQ(effect[0].tuned_ms, 0.014);
}

TEST_F(TuneOnGpu, TriesEveryNumberOfATilingThatHasThree) {
  put(Format::F16, 40);
  timer_.product_us = [](const auto& launch) {
    const gpu::Tiling best{2, 3, 4, 0};
    double us = 10;
    for (std::size_t i = 0; i < 3; ++i) us -= launch.what.tile[i] == best[i] ? 1.0 : 0.0;
    return us;
  };
  const TuneOutcome outcome = run();
  ASSERT_EQ(outcome.entries.size(), 1U);
  EXPECT_EQ(outcome.entries[0].candidates.size(), 5U * 4 * 5);
  EXPECT_EQ(outcome.entries[0].chosen().text(), "simt:tile=2/3/4/0");
}

TEST_F(TuneOnGpu, ATilingWithAWrongBitIsRecordedAndNeverTimed) {
  put(Format::Q8_0, 300);
  timer_.product_us = [](const auto& launch) {
    EXPECT_NE(launch.what.tile[0], 16U) << "it was found wrong";
    return launch.what.tile[0] == 4 ? 7.9 : 8.0;
  };
  device_->after_launch = [](const cuda::Launch& what) {
    if (what.tile[0] != 16) return;
    auto* const y = static_cast<std::uint32_t*>(what.targets[0].y);
    y[299] ^= 1U;
  };
  const TuneOutcome outcome = run();
  ASSERT_EQ(outcome.entries.size(), 1U);
  const TuneEntry& entry = outcome.entries[0];
  std::size_t failed = 0;
  for (std::size_t i = 0; i < entry.candidates.size(); ++i) {
    if (entry.result.candidates[i].status != tune::Status::failed) continue;
    ++failed;
    EXPECT_EQ(entry.candidates[i].setting.tiling[0], 16U);
    EXPECT_EQ(entry.result.candidates[i].why, "1 wrong values of 300");
  }
  EXPECT_EQ(failed, 1U);
  EXPECT_EQ(entry.chosen().setting.tiling[0], 4U);
}

TEST_F(TuneOnGpu, RejectsRoundsWhoseControlIsOffByMoreThanHalfAPercent) {
  put(Format::Q4_K, 64);
  std::mt19937 random(3);
  timer_.product_us = [&](const auto&) { return random() % 40 == 0 ? 16.0 : 8.0; };
  const TuneOutcome outcome = run();
  ASSERT_EQ(outcome.entries.size() + outcome.left.size(), 1U);
  if (!outcome.entries.empty()) {
    EXPECT_GT(outcome.entries[0].result.rejected_control, 0U);
    EXPECT_DOUBLE_EQ(outcome.entries[0].result.control_bound, 0.005);
  } else {
    EXPECT_NE(outcome.left[0].why.find("interference"), std::string::npos);
  }
}

TEST_F(TuneOnGpu, ComparesOneLaunchWithOneEach) {
  const auto tuned = program::make_tune_gpu(device_, timer_, {1 << 20, 1e-9});
  std::vector<MatrixWish> wishes(3);
  for (std::size_t i = 0; i < 3; ++i) wishes[i] = {Format::Q4_K, 32 + 16 * i, 256, Layout::raw, i + 1};
  ASSERT_TRUE(tuned->choose_memory(wishes));
  auto subject = tuned->together(wishes, Planes::x16, 9);
  ASSERT_TRUE(subject) << subject.error().message;
  for (const std::size_t way : {0U, 1U}) {
    device_->launches.clear();
    const auto verified = (*subject)->verify(way);
    ASSERT_TRUE(verified);
    EXPECT_EQ(verified->values, (32U + 48 + 64) * 9);
    EXPECT_EQ(verified->differing, 0U);
    EXPECT_EQ(device_->launches.size(), way == 0 ? 6U : 2U) << "two slices of tokens";
    EXPECT_EQ(device_->launches[0].what.count, way == 0 ? 1U : 3U);
    EXPECT_TRUE(device_->launches[0].what.overlapped);
  }
  timer_.product_us = [](const auto& launch) { return 2.0 + launch.what.count; };
  EXPECT_DOUBLE_EQ(*(*subject)->time(0, false), 18);
  EXPECT_DOUBLE_EQ(*(*subject)->time(1, false), 10);
}

TEST_F(TuneOnGpu, TimesATileBesideALargeProduct) {
  const auto tuned = program::make_tune_gpu(device_, timer_, {1 << 20, 1e-9});
  const MatrixWish wish{Format::Q4_K, 32, 256, Layout::raw, 1};
  ASSERT_TRUE(tuned->choose_memory({wish}));
  auto matrix = tuned->matrix(wish, Planes::x16, program::BesideWish{Format::Q8_0, 128});
  ASSERT_TRUE(matrix) << matrix.error().message;
  const Problem problem{wish.format, wish.rows, wish.cols, 1, Planes::x16, wish.layout};
  auto subject = (*matrix)->window(1, tune::candidates(tuned->machine(), problem));
  ASSERT_TRUE(subject) << subject.error().message;
  timer_.product_us = [](const auto& launch) {
    const bool is_large = launch.format == Format::Q8_0;
    EXPECT_EQ(launch.what.targets[0].rows, is_large ? 128U : 32U);
    if (is_large) {
      EXPECT_EQ(tiling_of(launch), gpu::Tiling{}) << "in its own choice";
    }
    return is_large ? 10.0 : 1.0 + launch.what.tile[0];
  };
  EXPECT_DOUBLE_EQ(*(*subject)->time(0, false), 11);
  EXPECT_DOUBLE_EQ(*(*subject)->time(1, false), 15);
  EXPECT_EQ((*subject)->verify(1)->differing, 0U);
}

}  // namespace
}  // namespace lanewise::test
