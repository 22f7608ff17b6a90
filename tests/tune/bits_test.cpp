// No bit depends on what tuning chooses: every candidate of every format, layout and window against the scalar kernel.
#include <gtest/gtest.h>

#include <set>

#include "backends/cpu/cpu.h"
#include "parameters.h"
#include "tune/tile.h"
#include "tune_device.h"

namespace lanewise::program::test {
namespace {

class EveryFormat : public testing::TestWithParam<FormatInfo> {};

TEST_P(EveryFormat, HasTheScalarBitsUnderEveryCandidate) {
  const FormatInfo& info = GetParam();
  const std::unique_ptr<TuneDevice> device = make_tune_cpu(3, {std::uint64_t{4} << 20U, 1e-4});
  std::size_t settings = 0;
  for (const Layout layout : {Layout::raw, Layout::rows16}) {
    if (!has_layout(layout, info)) continue;
    // Rows enough for 48 parts of sixteen.
    const MatrixWish wish{info.format, 777, 512 + info.block_elements, layout, 5};
    ASSERT_TRUE(device->choose_memory({wish}));
    auto matrix = device->matrix(wish, Planes::x16, std::nullopt);
    ASSERT_TRUE(matrix) << matrix.error().message;
    for (const std::uint64_t tokens : {1U, 3U, 8U, 9U}) {
      const Problem problem{wish.format, wish.rows, wish.cols, tokens, Planes::x16, layout};
      const std::vector<tune::Candidate> list = tune::candidates(device->machine(), problem);
      if (list.empty()) continue;  // no kernel for the layout on this processor
      auto subject = (*matrix)->window(tokens, list);
      ASSERT_TRUE(subject) << subject.error().message;
      for (std::size_t i = 0; i < list.size(); ++i) {
        const auto verified = (*subject)->verify(i);
        ASSERT_TRUE(verified) << verified.error().message;
        EXPECT_EQ(verified->values, wish.rows * tokens);
        EXPECT_EQ(verified->differing, 0U) << info.name << " " << list[i].text() << " tokens " << tokens;
      }
      settings += list.size();
    }
  }
  EXPECT_GT(settings, 4U);
}
INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat, testing::ValuesIn(formats()), lanewise::test::test_name);

TEST(BaseMatrix, CountsEveryWrongValue) {
  const MatrixWish wish{Format::Q8_0, 600, 256, Layout::raw, 3};
  const BaseMatrix base(wish);
  std::vector<float> x;
  const auto activation = make_activation(wish, Planes::x16, 2, x);
  ASSERT_TRUE(activation);
  const std::vector<float> expected = base.expected(**activation, 2);
  std::vector<float> y;
  for (std::uint64_t i = 0; i < 1200; ++i) y.push_back(expected[i / 600 * base_rows + i % 600 % base_rows]);
  EXPECT_EQ(base.count_wrong(expected, y.data(), 2), 0U);
  for (const std::size_t place : {0U, 250U, 251U, 599U, 600U, 1199U}) {
    std::vector<float> spoiled = y;
    spoiled[place] = -spoiled[place];
    EXPECT_EQ(base.count_wrong(expected, spoiled.data(), 2), 1U) << place;
  }
}

TEST(Candidates, BeginWithTheDefaultAndNoneStandsTwice) {
  const std::unique_ptr<TuneDevice> device = make_tune_cpu(2, {});
  const Problem problem{Format::Q4_K, 4096, 4096, 1, Planes::x16, device->usual_layout(format_info(Format::Q4_K))};
  const std::vector<tune::Candidate> list = tune::candidates(device->machine(), problem);
  ASSERT_GT(list.size(), 3U);
  EXPECT_TRUE(list[0].setting.is_default());
  EXPECT_EQ(list[0].kernel, find_kernel(problem, "cpu", cpu_capabilities()));
  std::set<std::string> names;
  for (const tune::Candidate& each : list) names.insert(each.text());
  EXPECT_EQ(names.size(), list.size());
  for (std::size_t i = 2; i < list.size(); ++i) EXPECT_LE(list[i - 1].predicted_us, list[i].predicted_us);
  for (const tune::Candidate& each : list) {
    EXPECT_TRUE(tune::check_setting(*each.kernel, each.setting, nullptr)) << each.text();
  }
}

}  // namespace
}  // namespace lanewise::program::test
