// lw_gemv and what divides it: parts, strides, output types, thread counts. Everything is compared with the kernel that
// defines the bits, by memcmp.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "arithmetic/scalar.h"
#include "library/support.h"
#include "oracle/oracle.h"

namespace lanewise::test {
namespace {

constexpr std::uint64_t rows = 37;
constexpr std::uint64_t tokens = 3;

// y by gemv_scalar itself, all rows at once.
template <class T>
std::vector<T> defined_y(const FormatInfo& info, const Bytes& bytes, std::uint64_t cols, const Floats& x, Planes planes,
                         Dtype dtype) {
  auto activation = std::move(Activation::create(planes, tokens, cols)).value();
  EXPECT_TRUE(activation->set({x.data(), Dtype::f32, tokens, cols, cols}).ok());
  std::vector<T> y(rows * tokens);
  const MatrixView view{info.format, rows, cols, reinterpret_cast<const std::uint8_t*>(bytes.data())};
  gemv_scalar(view, *activation, {y.data(), dtype, rows}, 0, rows);
  return y;
}

class Gemv : public testing::TestWithParam<FormatInfo> {};

TEST_P(Gemv, EveryThreadCountPlaneCountAndTypeOfYGivesTheDefinedBits) {
  const FormatInfo& info = GetParam();
  const std::uint64_t cols = odd_cols(info);
  const Floats x = make_x(tokens * cols, 1);
  for (const std::uint32_t threads : {1u, 2u, 5u}) {
    const lw::Device device({.threads = threads});
    cut_small_products(device);
    const Weights w(device, info, rows, cols, 2);
    for (const lw_planes planes : {LW_X8, LW_X16, LW_X24}) {
      const lw::Activation activation(device, x, cols, planes);
      const auto kind = static_cast<Planes>(planes);
      Floats y(rows * tokens, untouched());
      lw::gemv(device, w.matrix, activation, y);
      EXPECT_TRUE(is_telling(y));
      EXPECT_TRUE(same_bits(y, defined_y<float>(info, w.bytes, cols, x, kind, Dtype::f32)))
          << info.name << " x" << 8 * planes << ", " << threads << " threads";
      for (const lw_dtype dtype : {LW_DTYPE_F16, LW_DTYPE_BF16}) {
        std::vector<std::uint16_t> narrow(rows * tokens, 0x7FAB);
        lw::gemv(device, w.matrix, activation, {narrow, dtype});
        EXPECT_EQ(narrow, defined_y<std::uint16_t>(info, w.bytes, cols, x, kind, static_cast<Dtype>(dtype)));
      }
    }
  }
}

// The whole way through the interface, against the implementation that shares no code with it.
TEST_P(Gemv, AgreesWithTheOracle) {
  const FormatInfo& info = GetParam();
  const std::uint64_t cols = odd_cols(info);
  const Floats x = make_x(tokens * cols, 3);
  const lw::Device device({.threads = 2});
  cut_small_products(device);
  const Weights w(device, info, rows, cols, 4);
  Floats y(rows * tokens);
  lw::gemv(device, w.matrix, lw::Activation(device, x, cols), y);
  const auto activation = oracle::activate(x.data(), oracle::Input::fp32, static_cast<std::int64_t>(tokens),
                                           static_cast<std::int64_t>(cols), 2);
  Floats expected(rows * tokens);
  oracle::gemv(static_cast<int>(info.id), reinterpret_cast<const std::uint8_t*>(w.bytes.data()),
               static_cast<std::int64_t>(rows), static_cast<std::int64_t>(cols), activation, expected.data());
  EXPECT_TRUE(same_bits(y, expected)) << info.name;
}

TEST_P(Gemv, PartsWriteEachRowOnce) {
  const FormatInfo& info = GetParam();
  const std::uint64_t cols = odd_cols(info);
  const lw::Device device({.threads = 1});
  cut_small_products(device);
  const Weights w(device, info, rows, cols, 5);
  const lw::Activation activation(device, make_x(tokens * cols, 6), cols);
  Floats whole(rows * tokens);
  lw::gemv(device, w.matrix, activation, whole);
  for (const std::uint32_t parts : {1u, 2u, 7u, 37u, 50u, 0xFFFFFFFFu}) {
    Floats y(rows * tokens, untouched());
    std::uint64_t written = 0;
    for (std::uint32_t part = 0; part < std::min(parts, 60u); ++part) {
      const std::uint64_t before = count_untouched(y);
      ASSERT_EQ(lw_gemv_part(device.get(), w.matrix.get(), activation.get(), {y.data(), LW_DTYPE_F32, 0}, part, parts,
                             nullptr),
                LW_OK);
      const std::uint64_t now = before - count_untouched(y);
      EXPECT_EQ(now % tokens, 0u);
      EXPECT_LE(now / tokens, rows / parts + 1);
      written += now;
    }
    EXPECT_EQ(written, rows * tokens);
    EXPECT_TRUE(same_bits(y, whole)) << parts << " parts";
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Gemv, testing::ValuesIn(formats().begin(), formats().end()),
                         [](const auto& format) { return std::string(format.param.name); });

TEST(GemvShape, AStrideLeavesTheGapsAlone) {
  const FormatInfo& info = *find_format("q4_K");
  const lw::Device device({.threads = 3});
  cut_small_products(device);
  const Weights w(device, info, rows, 512, 1);
  const Floats x = make_x(tokens * 600, 2);
  lw_activation* activation = nullptr;
  ASSERT_EQ(lw_activation_create(device.get(), LW_X16, tokens + 2, 512, &activation, nullptr), LW_OK);
  ASSERT_EQ(lw_activation_set(activation, LW_DTYPE_F32, x.data(), tokens, 600, nullptr), LW_OK);
  constexpr std::uint64_t stride = rows + 5;
  Floats y(tokens * stride, untouched());
  ASSERT_EQ(lw_gemv(device.get(), w.matrix.get(), activation, {y.data(), LW_DTYPE_F32, stride}, nullptr), LW_OK);
  EXPECT_EQ(count_untouched(y), tokens * 5);
  for (std::uint64_t t = 0; t < tokens; ++t) {
    const Floats one_x(x.begin() + static_cast<std::ptrdiff_t>(t * 600),
                       x.begin() + static_cast<std::ptrdiff_t>(t * 600 + 512));
    Floats one(rows);
    lw::gemv(device, w.matrix, lw::Activation(device, one_x, 512), one);
    EXPECT_TRUE(same_bits({y.data() + t * stride, rows}, one)) << "token " << t << " alone";
  }
  lw_activation_free(activation);
}

TEST(GemvShape, X16AndBf16InputsAreWidened) {
  const lw::Device device({.threads = 1});
  cut_small_products(device);
  const Weights w(device, *find_format("q8_0"), 5, 64, 1);
  const std::vector<std::uint16_t> halves(64, 0x3E00);  // 1.5
  const std::vector<std::uint16_t> brains(64, 0x3FC0);  // 1.5
  Floats y(5), from_half(5), from_brain(5);
  lw::gemv(device, w.matrix, lw::Activation(device, Floats(64, 1.5F), 64), y);
  lw::gemv(device, w.matrix, lw::Activation(device, {halves, LW_DTYPE_F16}, 64), from_half);
  lw::gemv(device, w.matrix, lw::Activation(device, {brains, LW_DTYPE_BF16}, 64), from_brain);
  EXPECT_TRUE(is_telling(y));
  EXPECT_TRUE(same_bits(y, from_half));
  EXPECT_TRUE(same_bits(y, from_brain));
}

TEST(GemvShape, NoRowsOrNoTokensWriteNothing) {
  const lw::Device device({.threads = 2});
  cut_small_products(device);
  const lw::Matrix empty(device, LW_Q4_0, 0, 32, {});
  const Weights w(device, *find_format("q4_0"), 4, 32, 1);
  lw::Activation activation(device, 32, 2);
  activation.set(Floats(64, 1.0F));
  EXPECT_EQ(lw_gemv(device.get(), empty.get(), activation.get(), {nullptr, LW_DTYPE_F32, 0}, nullptr), LW_OK);
  activation.set(Floats{});
  Floats y(4, untouched());
  lw::gemv(device, w.matrix, activation, y);
  EXPECT_EQ(count_untouched(y), 4u);
  EXPECT_EQ(lw_gemv(device.get(), w.matrix.get(), activation.get(), {nullptr, LW_DTYPE_F32, 0}, nullptr), LW_OK);
  EXPECT_EQ(lw_gemv_part(device.get(), w.matrix.get(), activation.get(), {nullptr, LW_DTYPE_F32, 0}, 0, 1, nullptr),
            LW_OK);
}

TEST(GemvShape, NotANumberPoisonsItsTokenOnly) {
  const lw::Device device({.threads = 2});
  cut_small_products(device);
  const Weights w(device, *find_format("q5_K"), 9, 256, 1);
  Floats x = make_x(512, 1);
  x[256 + 17] = std::numeric_limits<float>::infinity();
  Floats y(18), clean(18);
  lw::gemv(device, w.matrix, lw::Activation(device, x, 256), y);
  x[256 + 17] = 0;
  lw::gemv(device, w.matrix, lw::Activation(device, x, 256), clean);
  EXPECT_TRUE(same_bits({y.data(), 9}, {clean.data(), 9}));
  for (std::size_t r = 9; r < 18; ++r) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &y[r], sizeof bits);
    EXPECT_EQ(bits, 0x7FC00000u);
  }
}

TEST(GemvShape, ExplainNamesTheKernel) {
  const lw::Device device({.threads = 2});
  cut_small_products(device);
  const Weights w(device, *find_format("q4_K"), 64, 1024, 1);
  const lw::Activation activation(device, make_x(1024, 1), 1024);
  char text[200];
  ASSERT_EQ(lw_gemv_explain(device.get(), w.matrix.get(), activation.get(), text, sizeof text, nullptr), LW_OK);
  // Which kernel is first depends on the processor.
  const std::string said(text);
  EXPECT_TRUE(said.starts_with("cpu.gemv.q4_K.raw.x16.")) << said;
  EXPECT_TRUE(said.ends_with(": the first of the list that this device can run; 64 rows in 2 parts over 2 threads"))
      << said;
  char small[9];
  ASSERT_EQ(lw_gemv_explain(device.get(), w.matrix.get(), activation.get(), small, sizeof small, nullptr), LW_OK);
  EXPECT_STREQ(small, "cpu.gemv");

  // Threads that sleep aren't woken for little.
  const lw::Device usual({.threads = 2});
  const Weights little(usual, *find_format("q4_K"), 64, 1024, 1);
  const Weights more(usual, *find_format("q4_K"), 1024, 1024, 1);
  const lw::Activation for_usual(usual, make_x(1024, 1), 1024);
  ASSERT_EQ(lw_gemv_explain(usual.get(), little.matrix.get(), for_usual.get(), text, sizeof text, nullptr), LW_OK);
  EXPECT_TRUE(std::string_view(text).ends_with("64 rows in 1 part over 2 threads")) << text;
  ASSERT_EQ(lw_gemv_explain(usual.get(), more.matrix.get(), for_usual.get(), text, sizeof text, nullptr), LW_OK);
  EXPECT_TRUE(std::string_view(text).ends_with("1024 rows in 4 parts over 2 threads")) << text;

  const lw::Device named({.threads = 1, .kernel = "cpu.gemv.q4_K.raw.x16.scalar"});
  const Weights same(named, *find_format("q4_K"), 4, 256, 1);
  const Weights other(named, *find_format("q6_K"), 4, 256, 1);
  const lw::Activation x(named, make_x(256, 1), 256);
  Floats y(4);
  lw::gemv(named, same.matrix, x, y);
  lw_error error = LW_ERROR_INIT;
  EXPECT_EQ(lw::gemv(named, other.matrix, x, y, error), LW_ERROR_NOT_FOUND) << "a kernel asked for is never replaced";
  EXPECT_NE(std::string(error.message).find("q6_K"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace lanewise::test
