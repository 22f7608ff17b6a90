// The float formats' kernels that this processor can run against the scalar one, by memcmp of all of y.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "arithmetic/scalar.h"
#include "backends/cpu/cpu.h"
#include "harness/compare.h"
#include "harness/fill.h"
#include "kernels/kernel.h"
#include "kernels/support.h"

namespace lanewise::test {
namespace {

// Any K: within a vector, a stretch of 64 and a super-block, at their ends, and past them.
constexpr std::array<std::uint64_t, 18> float_widths = {1,   3,   15,  16,  17,  63,  64,   65,   96,
                                                        160, 255, 256, 257, 512, 640, 1000, 2304, 4352};

// The bytes of fp32 values that the limits of weights turn into zero or infinity, or just don't.
float edge(Random& random) {
  constexpr std::array values = {0x1p-63F,
                                 0x1.fffffep-64F,
                                 0x1p63F,
                                 0x1.fffffep62F,
                                 0x1p-149F,
                                 0x1p-126F,
                                 0.0F,
                                 std::numeric_limits<float>::max(),
                                 std::numeric_limits<float>::infinity(),
                                 1.0F};
  const float value = values[random.below(values.size())];
  return random.below(2) == 0 ? value : -value;
}

enum class Data : std::uint8_t { tame, edges, raw };
constexpr std::uint64_t data_kinds = 3;

void fill(const FormatInfo& info, Data data, std::uint64_t count, Random& random, std::uint8_t* out) {
  for (std::uint64_t i = 0; i < count; ++i, out += info.block_bytes) {
    std::uint32_t bits = static_cast<std::uint32_t>(random.below(1ULL << 32));
    // Tame: |w| in [2^-3, 2^3). The upper half of an fp32 is a BF16; an F16 has its own exponent.
    const auto exponent = static_cast<std::uint32_t>(random.below(6));
    if (data == Data::edges) bits = random.below(7) == 0 ? std::bit_cast<std::uint32_t>(edge(random)) : 0x3F800000u;
    if (info.format == Format::F16) {
      if (data == Data::tame) bits = (bits & 0x83FF0000u) | (12 + exponent) << 26;
      if (data == Data::edges && random.below(9) == 0) bits = (random.below(2) == 0 ? 0x7C00u : 0x8001u) << 16;
    } else if (data == Data::tame) {
      bits = (bits & 0x807FFFFFu) | (124 + exponent) << 23;
    }
    if (info.block_bytes == 2) bits >>= 16;
    std::memcpy(out, &bits, info.block_bytes);
  }
}

class Floats : public testing::TestWithParam<FormatInfo> {};

TEST_P(Floats, AgreeWithTheScalarOne) {
  const FormatInfo& info = GetParam();
  std::uint64_t telling = 0;
  std::uint64_t outputs = 0;
  std::uint64_t compared = 0;
  for (std::uint64_t w = 0; w < float_widths.size(); ++w) {
    const std::uint64_t cols = float_widths[w];
    for (std::uint64_t tokens = 1; tokens <= 9; ++tokens) {
      for (std::uint64_t kind = 0; kind < data_kinds; ++kind) {
        const auto data = static_cast<Data>(kind);
        const std::uint64_t rows = 1 + (w + tokens) % 5;
        Random random(1000 * w + 10 * tokens + kind, info.id);
        auto weights = Fenced::create(rows * row_bytes(info, cols), Fence::page);
        ASSERT_TRUE(weights.ok());
        fill(info, data, rows * cols, random, weights->data());
        const MatrixView view{info.format, rows, cols, weights->data()};

        std::vector<float> values(tokens * cols);
        for (float& value : values) value = static_cast<float>(random.below(20001)) * 0.001F - 10.0F;
        if (tokens % 4 == 3) values[random.below(values.size())] = std::numeric_limits<float>::infinity();
        const auto planes = static_cast<Planes>(1 + (w + tokens + kind) % 3);
        auto x = Activation::create(planes, tokens, cols);
        ASSERT_TRUE(x.ok());
        ASSERT_TRUE((*x)->set({values.data(), Dtype::f32, tokens, cols, cols}).ok());

        std::vector<float> expected(tokens * rows, -7.0F);
        gemv_scalar(view, **x, {expected.data(), Dtype::f32, rows}, 0, rows);
        for (const KernelDesc& kernel : cpu_kernels()) {
          if (!accepts(kernel.formats, info) || kernel.launch == &gemv_scalar) continue;
          if ((kernel.needs & ~cpu_capabilities()) != 0) continue;
          std::vector<float> got(tokens * rows, -7.0F);
          kernel.launch(view, **x, {got.data(), Dtype::f32, rows}, 0, rows);
          ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0)
              << kernel_name(kernel, info, planes) << " K " << cols << " rows " << rows << " tokens " << tokens
              << " data " << kind;
          ++compared;
        }
        if (data != Data::tame) continue;
        outputs += expected.size();
        telling += static_cast<std::uint64_t>(
            std::ranges::count_if(expected, [](float y) { return std::isfinite(y) && y != 0; }));
      }
    }
  }
  if (compared == 0) GTEST_SKIP() << "this processor or build has none of the SIMD kernels";
  EXPECT_GT(telling * 2, outputs);  // equal NaNs or zeros would say nothing
}

std::vector<FormatInfo> float_formats() {
  std::vector<FormatInfo> chosen;
  for (const FormatInfo& info : formats()) {
    if (info.is_float()) chosen.push_back(info);
  }
  return chosen;
}
INSTANTIATE_TEST_SUITE_P(AllFormats, Floats, testing::ValuesIn(float_formats()), test_name);

}  // namespace
}  // namespace lanewise::test
