// Every kernel that this processor can run, on every window of 1 to 9 tokens, in every number of planes, over all
// shapes of a list: the whole product of these choices, by memcmp of all of y with the scalar kernel. What
// kernels_test.cpp rotates besides (data, y's type, how rows are asked for) stands still here or follows the shape.
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "arithmetic/scalar.h"
#include "backends/cpu/cpu.h"
#include "kernels/data.h"
#include "kernels/emulated.h"
#include "kernels/kernel.h"
#include "kernels/support.h"
#include "layout/layout.h"

namespace lanewise::test {
namespace {

constexpr std::uint64_t most_tokens = 9;
constexpr std::uint64_t product_rows[] = {1, 2, 3, 5, 13, 33};

// One block, three and five; parts of the eight of a sum, and a count that eight doesn't divide.
std::vector<std::uint64_t> product_widths(const FormatInfo& info) {
  std::vector<std::uint64_t> chosen;
  for (const std::uint64_t blocks : {1u, 3u, 5u}) {
    if (info.block_elements < 256) chosen.push_back(blocks * info.block_elements);
  }
  for (const std::uint64_t cols : {256u, 512u, 1280u, 2304u}) chosen.push_back(cols);
  return chosen;
}

std::unique_ptr<Activation> activation(const std::vector<float>& x, Planes planes, std::uint64_t tokens,
                                       std::uint64_t cols) {
  auto made = Activation::create(planes, tokens, cols);
  EXPECT_TRUE(made.ok() && (*made)->set({x.data(), Dtype::f32, tokens, cols, cols}).ok());
  return made.ok() ? std::move(*made) : nullptr;
}

class Products : public testing::TestWithParam<FormatInfo> {
 protected:
  void SetUp() override {
    for (const auto kernels : {cpu_kernels(), emulated_kernels()}) {
      for (const KernelDesc& kernel : kernels) {
        if (!accepts(kernel.formats, GetParam()) || (kernel.needs & ~cpu_capabilities()) != 0) continue;
        if (kernel.launch != &gemv_scalar) able_.push_back(&kernel);
      }
    }
  }
  // y of a window's tokens, with a word behind it that must stay what it is.
  std::vector<float> run(CpuLaunch launch, const MatrixView& w, const Activation& x) {
    constexpr float behind = -1234.5F;
    std::vector<float> y(x.tokens() * w.rows + 1, behind);
    launch(w, x, {y.data(), Dtype::f32, w.rows}, 0, w.rows);
    EXPECT_EQ(y.back(), behind);
    y.pop_back();
    return y;
  }
  // All windows of one matrix and x.
  void compare(const MatrixView& raw, const MatrixView& packed, Planes planes, const std::vector<float>& values) {
    const auto all = activation(values, planes, most_tokens, raw.cols);
    ASSERT_NE(all, nullptr);
    const std::vector<float> expected = run(gemv_scalar, raw, *all);
    for (std::uint64_t tokens = 1; tokens <= most_tokens; ++tokens) {
      const auto x = activation(values, planes, tokens, raw.cols);
      ASSERT_NE(x, nullptr);
      const std::size_t bytes = tokens * raw.rows * sizeof(float);
      if (raw.rows == 1) {  // a token's y depends on no other token
        ASSERT_EQ(std::memcmp(run(gemv_scalar, raw, *x).data(), expected.data(), bytes), 0) << "tokens " << tokens;
      }
      for (const KernelDesc* kernel : able_) {
        const std::vector<float> got = run(kernel->launch, kernel->layout == Layout::raw ? raw : packed, *x);
        ASSERT_EQ(std::memcmp(got.data(), expected.data(), bytes), 0)
            << kernel_name(*kernel, GetParam(), planes) << " tokens " << tokens;
        ++products_;
      }
    }
  }

  std::vector<const KernelDesc*> able_;
  std::size_t products_ = 0;
};

TEST_P(Products, OfEveryWindowAreTheScalarOnes) {
  const FormatInfo& info = GetParam();
  if (able_.empty()) GTEST_SKIP() << "this processor or build has none of the SIMD kernels";
  std::uint64_t seed = info.id;
  for (const std::uint64_t cols : product_widths(info)) {
    for (const std::uint64_t rows : product_rows) {
      const auto content = static_cast<Content>(seed++ % contents);
      SCOPED_TRACE(std::to_string(cols) + "x" + std::to_string(rows) + " " + std::string(content_name(content)));
      Bytes bytes(rows * row_bytes(info, cols));
      make_weights(info, rows, cols, content, seed, bytes.data());
      const MatrixView raw{info.format, rows, cols, bytes.data()};
      Bytes tiles(packed_bytes(Layout::rows16, raw));
      pack_matrix(Layout::rows16, raw, 0, pack_units(Layout::rows16, rows), tiles.data());
      const MatrixView packed{info.format, rows, cols, tiles.data()};
      for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
        compare(raw, packed, planes, make_x(info, most_tokens, cols, planes, content, seed));
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_EQ(products_, able_.size() * product_widths(info).size() * std::size(product_rows) * 3 * most_tokens);
}
INSTANTIATE_TEST_SUITE_P(AllFormats, Products, testing::ValuesIn(quantised_formats()), test_name);

}  // namespace
}  // namespace lanewise::test
