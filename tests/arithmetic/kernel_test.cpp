// The scalar kernel against the independent oracle, bit for bit, over formats, planes, shapes, types, strides and data.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "arithmetic/fills.h"
#include "arithmetic/scalar.h"
#include "arithmetic/stages.h"

namespace lanewise::trial {
namespace {

constexpr std::array<std::uint64_t, 6> token_counts = {1, 2, 3, 8, 9, 17};
constexpr std::array<std::uint64_t, 6> row_counts = {1, 2, 3, 5, 13, 33};
constexpr std::array dtypes = {Dtype::f32, Dtype::f16, Dtype::bf16};
// Blocks of K from 1 to 17 super-blocks, short last ones, and for plain values widths that nothing divides.
constexpr std::array<std::uint64_t, 16> widths = {1,   7,   100, 301, 32,   64,   96,   160,
                                                  256, 512, 640, 896, 1280, 2304, 2880, 4352};

struct Shape {
  std::uint64_t rows, cols, tokens;
  Planes planes;
  Dtype in, out;
  std::uint64_t x_stride, y_stride;
};

std::string describe(const FormatInfo& info, const Shape& s, const DataKind& data) {
  return std::string(info.name) + " " + std::string(planes_name(s.planes)) + " " + std::to_string(s.rows) + "x" +
         std::to_string(s.cols) + " tokens " + std::to_string(s.tokens) + " types " +
         std::to_string(static_cast<int>(s.in)) + ">" + std::to_string(static_cast<int>(s.out)) + " strides " +
         std::to_string(s.x_stride) + "," + std::to_string(s.y_stride) + ": " + std::string(data.name);
}

// y as bytes, what the kernel must not touch included.
std::vector<std::uint8_t> expected_bytes(const Shape& s, const std::vector<float>& y) {
  std::vector<std::uint8_t> out(s.tokens * s.y_stride * dtype_bytes(s.out), 0xA5);
  for (std::uint64_t t = 0; t < s.tokens; ++t) {
    for (std::uint64_t r = 0; r < s.rows; ++r) {
      const float value = y[t * s.rows + r];
      std::uint8_t* at = out.data() + (t * s.y_stride + r) * dtype_bytes(s.out);
      if (s.out == Dtype::f32) {
        std::memcpy(at, &value, 4);
      } else {
        const std::uint16_t narrow = s.out == Dtype::f16 ? oracle::round_to_fp16(value) : oracle::round_to_bf16(value);
        std::memcpy(at, &narrow, 2);
      }
    }
  }
  return out;
}

// Where two results differ first, and the first stage at which they part there.
std::string explain(const MatrixView& w, const Activation& x, const oracle::Activation& ox, const Shape& s,
                    const std::vector<std::uint8_t>& got, const std::vector<std::uint8_t>& expected) {
  const std::string input = first_difference(x, ox);
  if (!input.empty()) return "activation: " + input;
  for (std::uint64_t t = 0; t < s.tokens; ++t) {
    for (std::uint64_t r = 0; r < s.rows; ++r) {
      const std::uint64_t at = (t * s.y_stride + r) * dtype_bytes(s.out);
      if (std::memcmp(got.data() + at, expected.data() + at, dtype_bytes(s.out)) == 0) continue;
      const std::string stage =
          first_difference(w.info(), trace_scalar(w, x, r, t),
                           oracle::trace(static_cast<int>(w.info().id), w.row(r), static_cast<std::int64_t>(w.cols), ox,
                                         static_cast<std::int64_t>(t)));
      return "row " + std::to_string(r) + " token " + std::to_string(t) + ": " +
             (stage.empty() ? "traces agree, the stored value doesn't" : stage);
    }
  }
  return "bytes outside y were written";
}

void check(Format format, const Shape& s, const DataKind& data, std::uint64_t seed) {
  Random random(seed);
  const std::vector<std::uint8_t> weights = make_weights(format, s.rows, s.cols, data.weights, random);
  const Input input = make_input(data.input, s.planes, s.in, s.tokens, s.cols, s.x_stride, random);
  const MatrixView w{format, s.rows, s.cols, weights.data()};

  auto x = Activation::create(s.planes, s.tokens, s.cols);
  ASSERT_TRUE(x.ok()) << x.error().message;
  const Outcome set = (*x)->set(input.view());
  ASSERT_TRUE(set.ok()) << set.error().message;
  std::vector<std::uint8_t> got(s.tokens * s.y_stride * dtype_bytes(s.out), 0xA5);
  const OutputView y{got.data(), s.out, s.y_stride};
  const std::uint64_t split = random.below(s.rows + 1);  // two ranges of rows give what one does
  gemv_scalar(w, **x, y, split, s.rows);
  gemv_scalar(w, **x, y, 0, split);

  const oracle::Activation ox = oracle_activation(input, s.planes);
  std::vector<float> reference(s.tokens * s.rows);
  const oracle::SumRange range =
      oracle::gemv(static_cast<int>(w.info().id), weights.data(), static_cast<std::int64_t>(s.rows),
                   static_cast<std::int64_t>(s.cols), ox, reference.data());
  EXPECT_TRUE(range.fits) << "a sum of " << range.largest << ": " << describe(w.info(), s, data);
  const std::vector<std::uint8_t> expected = expected_bytes(s, reference);
  ASSERT_EQ(std::memcmp(got.data(), expected.data(), expected.size()), 0)
      << describe(w.info(), s, data) << " seed " << seed << "\n"
      << explain(w, **x, ox, s, got, expected);
}

class ScalarKernel : public ::testing::TestWithParam<Format> {};

// Every width, planes and kind of data together; tokens x rows and the types walk through all their pairs meanwhile.
TEST_P(ScalarKernel, EqualsTheOracle) {
  const FormatInfo& info = format_info(GetParam());
  std::set<std::pair<std::uint64_t, std::uint64_t>> sizes;
  std::set<std::pair<Dtype, Dtype>> types;
  std::uint64_t n = 0;
  for (const std::uint64_t cols : widths) {
    if (cols % info.block_elements != 0) continue;
    for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
      for (const DataKind& data : data_kinds) {
        const std::uint64_t turn = n / 36;
        Shape s{row_counts[n % 6],
                cols,
                token_counts[n / 6 % 6],
                planes,
                dtypes[(n + turn) % 3],
                dtypes[(n / 3 + turn) % 3],
                0,
                0};
        s.x_stride = cols + std::array<std::uint64_t, 3>{0, 1, 7}[n % 3];
        s.y_stride = s.rows + std::array<std::uint64_t, 2>{0, 3}[n / 7 % 2];
        sizes.insert({s.rows, s.tokens});
        types.insert({s.in, s.out});
        check(GetParam(), s, data, 1000 * info.id + n);
        if (HasFatalFailure()) return;
        ++n;
      }
    }
  }
  EXPECT_EQ(sizes.size(), 36U);
  EXPECT_EQ(types.size(), 9U);
}

INSTANTIATE_TEST_SUITE_P(Formats, ScalarKernel, ::testing::ValuesIn(all_formats()),
                         [](const auto& at) { return test_name(at.param); });

}  // namespace
}  // namespace lanewise::trial
