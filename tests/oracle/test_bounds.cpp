#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "support.h"

namespace lanewise::oracle::testing {
namespace {

// K of one short super-block, of several with a short last, of a number that 8 does not divide.
std::vector<std::int64_t> row_lengths(const Facts& f) {
  std::vector<std::int64_t> out = {256, 768, 2560};
  if (f.block_elements <= 32) out.insert(out.end(), {32, 96, 160, 1120});
  if (f.block_elements == 64) out.insert(out.end(), {64, 1088});
  if (f.block_elements == 128) out.insert(out.end(), {128, 1152});
  return out;
}

void add_outliers(std::vector<float>& x, std::mt19937& rng) {
  for (float& value : x) {
    if (rng() % 100 == 0) value *= 30;
  }
}

TEST(OracleBounds, HoldForEveryFormatAndPlaneCount) {
  std::mt19937 rng(21);
  for (int i = 0; i < kFormatCount; ++i) {
    const Facts& f = all_facts()[i];
    for (std::int64_t cols : row_lengths(f)) {
      const auto w = random_row(f.id, 4 * cols, rng);
      std::vector<float> x = gaussian_x(2 * cols, rng);
      add_outliers(x, rng);
      for (int planes = 1; planes <= 3; ++planes) {
        const Activation a = fp32_activation(x, 2, planes);
        std::vector<float> y(8);
        gemv(f.id, w.data(), 4, cols, a, y.data());
        for (int token = 0; token < 2; ++token) {
          for (int row = 0; row < 4; ++row) {
            const Exact e = exact(f.id, w.data() + row * row_bytes(f.id, cols), cols, a, token);
            const double got = static_cast<double>(y[static_cast<std::size_t>(4 * token + row)]);
            EXPECT_LE(std::fabs(got - e.y), e.bound) << f.name << " K=" << cols << " planes=" << planes;
            EXPECT_TRUE(std::isfinite(e.bound));
            EXPECT_LE(std::fabs(e.y), e.terms * (1 + 1e-12));
          }
        }
      }
    }
  }
}

// A bound that a wrong result would pass is worth nothing. On Gaussian data it lies well below the signal (the
// rms of y), and the error reaches a fair part of it; x8, whose error is 256 times that of x16, is far outside
// the bound of x16.
TEST(OracleBounds, AreNotVacuous) {
  std::mt19937 rng(22);
  const std::int64_t cols = 2560;
  const int rows = 24;
  for (int i = 0; i < kFormatCount; ++i) {
    const Facts& f = all_facts()[i];
    const auto w = random_row(f.id, rows * cols, rng);
    const std::vector<float> x = gaussian_x(cols, rng);
    for (int planes = 2; planes <= 3; ++planes) {
      const Activation a = fp32_activation(x, 1, planes);
      const Activation coarse = fp32_activation(x, 1, planes - 1);
      double signal = 0;
      double largest_bound = 0;
      double closest = 0;
      int coarse_outside = 0;
      for (int row = 0; row < rows; ++row) {
        const std::uint8_t* bytes = w.data() + row * row_bytes(f.id, cols);
        const Exact e = exact(f.id, bytes, cols, a, 0);
        const double y = static_cast<double>(trace(f.id, bytes, cols, a, 0).y);
        const double coarse_y = static_cast<double>(trace(f.id, bytes, cols, coarse, 0).y);
        signal += e.y * e.y;
        largest_bound = std::max(largest_bound, e.bound);
        closest = std::max(closest, std::fabs(y - e.y) / e.bound);
        coarse_outside += std::fabs(coarse_y - e.y) > e.bound ? 1 : 0;
      }
      signal = std::sqrt(signal / rows);
      EXPECT_LT(largest_bound, signal * (planes == 2 || f.is_float ? 0.1 : 0.002)) << f.name << " planes=" << planes;
      EXPECT_GT(closest, 1e-3) << f.name << " planes=" << planes;
      if (!f.is_float) {
        EXPECT_GE(coarse_outside, rows / 2) << f.name << " planes=" << planes;
      }
    }
  }
}

// The flush of small x and of small MXFP4 powers is part of the bound.
TEST(OracleBounds, CoverFlushedValues) {
  std::mt19937 rng(23);
  for (int i = 0; i < kFormatCount; ++i) {
    const Facts& f = all_facts()[i];
    const auto row = random_row(f.id, 512, rng);
    std::vector<float> x = gaussian_x(512, rng);
    for (int scale : {-70, -81, -90, -130}) {
      std::vector<float> small = x;
      for (float& value : small) value = std::ldexp(value, scale);
      const Activation a = fp32_activation(small, 1, 2);
      const Exact e = exact(f.id, row.data(), 512, a, 0);
      const Trace t = trace(f.id, row.data(), 512, a, 0);
      EXPECT_LE(std::fabs(static_cast<double>(t.y) - e.y), e.bound) << f.name << " 2^" << scale;
    }
  }
  std::vector<std::uint8_t> mxfp4(17, 0x77);
  for (int exponent : {0, 1, 10, 14, 15, 16, 40}) {
    mxfp4[0] = static_cast<std::uint8_t>(exponent);
    const Activation a = fp32_activation(gaussian_x(32, rng), 1, 2);
    const Exact e = exact(39, mxfp4.data(), 32, a, 0);
    const double y = static_cast<double>(trace(39, mxfp4.data(), 32, a, 0).y);
    EXPECT_LE(std::fabs(y - e.y), e.bound) << exponent;
  }
  const std::uint8_t tiny_f32[4] = {0, 0, 0, 0x1F};  // 2^-65
  const Exact e = exact(0, tiny_f32, 1, fp32_activation({3.0f}, 1, 2), 0);
  EXPECT_EQ(e.y, 3 * 0x1p-65);
  EXPECT_GE(e.bound, e.y);
}

TEST(OracleBounds, AreInfiniteWhereTheResultIsNotFinite) {
  std::vector<std::uint8_t> row;
  append_q4_0_unit(row, 0x7E00);
  EXPECT_TRUE(std::isinf(exact(2, row.data(), 32, fp32_activation(std::vector<float>(32, 1.0f), 1, 2), 0).bound));
  std::vector<float> x(32, std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isinf(exact(2, row.data(), 32, fp32_activation(x, 1, 2), 0).bound));
}

}  // namespace
}  // namespace lanewise::oracle::testing
