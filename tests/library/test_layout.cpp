// Devices that put matrices into a layout of their own: the bits of y are those of GGUF's rows, the bytes they came
// from are needed no more, and what can't be done is said when the device is opened.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "library/support.h"

namespace lanewise::test {
namespace {

// LANEWISE_ISA for a while.
class IsaFor {
 public:
  explicit IsaFor(const char* value) {
    if (const char* before = std::getenv("LANEWISE_ISA")) before_ = before;
    ::setenv("LANEWISE_ISA", value, 1);
  }
  ~IsaFor() {
    if (before_) {
      ::setenv("LANEWISE_ISA", before_->c_str(), 1);
    } else {
      ::unsetenv("LANEWISE_ISA");
    }
  }
  IsaFor(const IsaFor&) = delete;
  IsaFor& operator=(const IsaFor&) = delete;

 private:
  std::optional<std::string> before_;
};

lw_status open_with(const char* layout, const char* kernel, std::string* message) {
  lw_error error = LW_ERROR_INIT;
  const lw::Device device = lw::Device::open({.kernel = kernel, .layout = layout}, error);
  *message = error.message;
  return error.code;
}

bool has_rows16() {
  std::string message;
  return open_with("rows16", nullptr, &message) == LW_OK;
}

class Layouts : public testing::TestWithParam<FormatInfo> {};

TEST_P(Layouts, GiveTheBitsOfGgufsRows) {
  if (!has_rows16()) GTEST_SKIP() << "this processor or build has no kernel of rows16";
  const FormatInfo& info = GetParam();
  const std::uint64_t cols = odd_cols(info);
  constexpr std::uint64_t rows = 37;
  constexpr std::uint64_t tokens = 3;
  const Floats x = make_x(tokens * cols, 1);
  const lw::Device plain({.threads = 1});
  const lw::Device packing({.threads = 3, .layout = "rows16"});
  const Weights w(plain, info, rows, cols, 2);
  Bytes mine = w.bytes;
  const lw::Matrix repacked(packing, static_cast<lw_format>(info.id), rows, cols, mine);
  // Codes are copied; matrices of floats stay where they are.
  if (!info.is_float()) std::ranges::fill(mine, std::byte{0xFF});
  for (const lw_planes planes : {LW_X8, LW_X16, LW_X24}) {
    const lw::Activation x_plain(plain, x, cols, planes);
    const lw::Activation x_packing(packing, x, cols, planes);
    Floats expected(rows * tokens);
    lw::gemv(plain, w.matrix, x_plain, expected);
    ASSERT_TRUE(is_telling(expected));
    Floats y(rows * tokens, untouched());
    lw::gemv(packing, repacked, x_packing, y);
    EXPECT_TRUE(same_bits(y, expected)) << info.name << " x" << 8 * planes;
    Floats parts(rows * tokens, untouched());
    for (std::uint32_t part = 0; part < 5; ++part) {
      lw_error error = LW_ERROR_INIT;
      const lw_output out{parts.data(), LW_DTYPE_F32, 0};
      ASSERT_EQ(lw_gemv_part(packing.get(), repacked.get(), x_packing.get(), out, part, 5, &error), LW_OK)
          << error.message;
    }
    EXPECT_TRUE(same_bits(parts, expected)) << info.name << " in parts";
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Layouts, testing::ValuesIn(formats().begin(), formats().end()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(LayoutOfADevice, IsRefusedByName) {
  std::string message;
  EXPECT_EQ(open_with("columns", nullptr, &message), LW_ERROR_NOT_FOUND);
  EXPECT_NE(message.find("'columns'"), std::string::npos) << message;
  EXPECT_EQ(open_with("", nullptr, &message), LW_ERROR_NOT_FOUND);
  EXPECT_EQ(open_with("raw", nullptr, &message), LW_OK) << message;
}

// Not at the first product, when a whole model has been repacked for nothing.
TEST(LayoutOfADevice, WithoutAKernelIsRefusedAtOnce) {
  std::string message;
  EXPECT_EQ(open_with("rows16", "scalar", &message), LW_ERROR_UNSUPPORTED);
  EXPECT_NE(message.find("rows16 called 'scalar'"), std::string::npos) << message;
  const IsaFor scalar("scalar");
  EXPECT_EQ(open_with("rows16", nullptr, &message), LW_ERROR_UNSUPPORTED);
  EXPECT_NE(message.find("rows16"), std::string::npos) << message;
}

}  // namespace
}  // namespace lanewise::test
