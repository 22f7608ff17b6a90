// How near y is to the real product: never farther than the bound derived for the case, and the bound itself far below
// the signal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "arithmetic/fills.h"
#include "arithmetic/scalar.h"

namespace lanewise::trial {
namespace {

class Accuracy : public ::testing::TestWithParam<Format> {};

struct Judged {
  std::uint64_t finite = 0;
  double worst = 0;  // |y - exact| / bound
};

// Every output of a case against the float64 reference.
Judged judge(Format format, const std::vector<std::uint8_t>& weights, std::uint64_t rows, std::uint64_t cols,
             const Input& input, Planes planes, double* bound_sum = nullptr, double* square_sum = nullptr) {
  const MatrixView w{format, rows, cols, weights.data()};
  auto x = Activation::create(planes, input.tokens, cols);
  EXPECT_TRUE(x.ok() && (*x)->set(input.view()).ok());
  const oracle::Activation ox = oracle_activation(input, planes);
  std::vector<float> y(rows * input.tokens);
  gemv_scalar(w, **x, {y.data(), Dtype::f32, rows}, 0, rows);
  Judged out;
  for (std::uint64_t i = 0; i < y.size(); ++i) {
    const oracle::Exact exact = oracle::exact(static_cast<int>(w.info().id), w.row(i % rows),
                                              static_cast<std::int64_t>(cols), ox, static_cast<std::int64_t>(i / rows));
    if (!std::isfinite(exact.bound)) continue;
    ++out.finite;
    const double error = std::fabs(static_cast<double>(y[i]) - exact.y);
    EXPECT_LE(error, exact.bound) << w.info().name << " " << planes_name(planes) << " row " << i % rows << " token "
                                  << i / rows;
    if (exact.bound > 0) out.worst = std::max(out.worst, error / exact.bound);
    if (bound_sum != nullptr) *bound_sum += exact.bound;
    if (square_sum != nullptr) *square_sum += exact.y * exact.y;
  }
  return out;
}

TEST_P(Accuracy, IsWithinTheDerivedBound) {
  const FormatInfo& info = format_info(GetParam());
  std::uint64_t seed = 91000 + info.id;
  Judged all;
  for (const std::uint64_t cols : {32U, 256U, 640U, 1280U}) {
    if (cols % info.block_elements != 0) continue;
    for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
      for (const DataKind& data : data_kinds) {
        SCOPED_TRACE(std::string(data.name) + ", K " + std::to_string(cols));
        Random random(++seed);
        const std::vector<std::uint8_t> weights = make_weights(GetParam(), 2, cols, data.weights, random);
        const Judged one = judge(GetParam(), weights, 2, cols,
                                 make_input(data.input, planes, Dtype::f32, 2, cols, cols, random), planes);
        all.finite += one.finite;
        all.worst = std::max(all.worst, one.worst);
      }
    }
  }
  EXPECT_GT(all.finite, 100U) << "too few finite outputs to say anything";
  EXPECT_GT(all.worst, 0.01) << "a bound that nothing comes near bounds nothing";
  RecordProperty("worst_error_over_bound", std::to_string(all.worst));
}

// On Gaussian x the mean bound stays below a fixed part of rms(y). The bound adds up the worst case of every element,
// so it exceeds the rms error by about sqrt(K).
TEST_P(Accuracy, IsFarBelowTheSignal) {
  const FormatInfo& info = format_info(GetParam());
  const std::uint64_t cols = 1024, rows = 16, tokens = 2;
  Random random(95000 + info.id);
  const std::vector<std::uint8_t> weights = make_weights(GetParam(), rows, cols, WeightFill::tame, random);
  std::array<double, 3> most = {0.6, 3e-3, 2e-5};
  // Float weights have their own images of x, of 13, 15 and 23 bits, whatever the planes.
  if (GetParam() == Format::F16) most.fill(1e-2);
  if (GetParam() == Format::BF16) most.fill(3e-3);
  if (GetParam() == Format::F32) most.fill(5e-5);
  for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
    double bounds = 0, squares = 0;
    const Input input = make_input(InputFill::gauss, planes, Dtype::f32, tokens, cols, cols, random);
    const Judged judged = judge(GetParam(), weights, rows, cols, input, planes, &bounds, &squares);
    ASSERT_EQ(judged.finite, rows * tokens);
    const double count = static_cast<double>(judged.finite);
    const double part = bounds / count / std::sqrt(squares / count);
    EXPECT_LT(part, most[plane_count(planes) - 1]) << info.name << " " << planes_name(planes);
    RecordProperty("bound_over_rms_" + std::string(planes_name(planes)), std::to_string(part));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Accuracy, ::testing::ValuesIn(all_formats()),
                         [](const auto& at) { return test_name(at.param); });

}  // namespace
}  // namespace lanewise::trial
