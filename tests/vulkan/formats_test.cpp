// Every format on a Vulkan device: decoding, the image of x, and products by each kernel and layout, for windows of one
// to nine tokens and any planes, against the oracle and the scalar kernel by memcmp.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "harness/fill.h"
#include "harness/verify.h"
#include "vulkan/device.h"

namespace lanewise::test {
namespace {

class VulkanFormats : public testing::TestWithParam<FormatInfo> {
 protected:
  // Matrices whose last tile and last super-block are short where the format allows it.
  struct Matrix {
    std::vector<std::uint8_t> bytes;
    MatrixView view;
  };
  static Matrix make(std::uint64_t rows, std::uint64_t cols, Fill fill) {
    const FormatInfo& info = GetParam();
    Matrix made;
    made.view = {info.format, rows, cols / info.block_elements * info.block_elements, nullptr};
    made.bytes.resize(made.view.bytes());
    fill_weights(info.format, made.view.cols, fill, 7, 0, rows, made.bytes.data());
    made.view.data = made.bytes.data();
    return made;
  }
  static void expect_right(const Matrix& matrix, const std::shared_ptr<gpu::Device>& device, Planes planes,
                           Layout layout, const char* kernel, std::vector<std::uint64_t> tokens, bool decode,
                           Dtype output = Dtype::f32, const gpu::Tiling& tile = {}) {
    Case problem;
    problem.tile = tile;
    problem.planes = planes;
    problem.layout = layout;
    problem.kernel = kernel;
    problem.fill = Fill::gauss;
    problem.seed = 3;
    problem.output = output;
    VerifyOptions options;
    options.threads = 1;
    options.gpu = device;
    options.check_weights = decode;
    for (const Verdict& verdict : verify_windows(matrix.view, problem, tokens, options)) {
      EXPECT_TRUE(verdict.passed()) << to_string(verdict);
      EXPECT_TRUE(verdict.kernel.starts_with("vulkan.gemv.")) << verdict.kernel;
      EXPECT_TRUE(*kernel == '\0' || verdict.kernel.ends_with(std::string(".") + kernel)) << verdict.kernel;
    }
  }
  static std::vector<Layout> layouts() {
    if (GetParam().is_float()) return {Layout::raw};
    return {Layout::rows16, Layout::raw};
  }
};

INSTANTIATE_TEST_SUITE_P(Formats, VulkanFormats, testing::ValuesIn(formats().begin(), formats().end()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_P(VulkanFormats, EveryWindowPlaneCountAndLayout) {
  LW_VULKAN_OR_RETURN(device);
  const Matrix matrix = make(37, 11 * 256 - 64, Fill::random);
  // A pipeline for one token, for up to four and for up to eight, by planes: each takes a software device half a second
  // of compiling, so that only the default's are all tried in both layouts.
  bool decode = true;
  for (const Layout layout : layouts()) {
    expect_right(matrix, device, Planes::x16, layout, "", {1, 2, 3, 4, 5, 6, 7, 8, 9}, decode);
    decode = false;
    if (GetParam().is_float()) continue;  // whose x the planes don't touch
    expect_right(matrix, device, Planes::x8, layout, "", {layout == Layout::raw ? 3U : 9U}, decode);
    expect_right(matrix, device, Planes::x24, layout, "", {layout == Layout::raw ? 9U : 3U}, decode);
  }
  expect_no_complaint(*device);
}

// Kernels that a software device doesn't choose and takes many seconds to compile: one token, formats of each kind.
TEST_P(VulkanFormats, EveryKernel) {
  constexpr std::array kinds = {Format::F16,   Format::Q4_K,   Format::Q6_K,  Format::Q8_0,
                                Format::MXFP4, Format::IQ2_XS, Format::NVFP4, Format::TQ1_0};
  if (std::ranges::count(kinds, GetParam().format) == 0) return;
  vulkan::Overrides all;
  all.capabilities = CAP_VULKAN_GPU;
  LW_VULKAN_OR_RETURN(device, all);
  const Matrix matrix = make(21, 3 * 256, Fill::gauss);
  for (const KernelDesc& kernel : vulkan_kernels()) {
    if (!accepts(kernel.formats, GetParam()) || (kernel.needs & ~device->capabilities()) != 0) continue;
    expect_right(matrix, device, Planes::x16, kernel.layout, std::string(kernel.name).c_str(), {1}, false);
  }
  expect_no_complaint(*device);
}

// Workgroups of other sizes, and more rows an invocation, by the kernels that GPUs choose: one token, a few, and eight.
TEST_P(VulkanFormats, EveryShapeOfWorkgroups) {
  constexpr std::array kinds = {Format::F16,   Format::F32,   Format::Q4_0, Format::Q4_K, Format::Q6_K,
                                Format::MXFP4, Format::NVFP4, Format::Q2_K, Format::Q1_0};
  if (std::ranges::count(kinds, GetParam().format) == 0) return;
  const Matrix matrix = make(75, 3 * 256, Fill::gauss);
  struct Shape {
    std::uint32_t group_size, lane_rows;
    std::uint64_t tokens;
  };
  for (const Shape& each : {Shape{64, 4, 1}, Shape{128, 2, 3}, Shape{256, 2, 7}, Shape{256, 4, 8}}) {
    vulkan::Overrides shape;
    shape.group_size = each.group_size;
    shape.lane_rows = each.lane_rows;
    shape.capabilities = CAP_VULKAN_GPU;
    LW_VULKAN_OR_RETURN(device, shape);
    expect_right(matrix, device, Planes::x16, layouts().front(), "", {each.tokens}, false);
    expect_no_complaint(*device);
  }
}

// Rows split among workgroups, whose parts another shader folds: every split, in both layouts. Where eighths begin has
// nothing to do with the format: other windows and types of y are tried by a few.
TEST_P(VulkanFormats, EverySplit) {
  constexpr std::array kinds = {Format::F16, Format::Q4_0, Format::Q4_K, Format::Q1_0};
  const bool is_one = std::ranges::count(kinds, GetParam().format) != 0;
  LW_VULKAN_OR_RETURN(device);
  const Matrix matrix = make(53, 9 * 256, Fill::random);
  for (const Layout layout : layouts()) {
    for (const gpu::Tiling& tile : {gpu::Tiling{1}, gpu::Tiling{2}, gpu::Tiling{4}, gpu::Tiling{8}}) {
      expect_right(matrix, device, Planes::x16, layout, "", {3}, false, Dtype::f32, tile);
      if (is_one) expect_right(matrix, device, Planes::x16, layout, "", {1, 9}, false, Dtype::f16, tile);
    }
  }
  expect_no_complaint(*device);
}

// What is also run with instrumented shaders, which take ten times as long.
TEST_P(VulkanFormats, OneWindow) {
  LW_VULKAN_OR_RETURN(device);
  const Matrix matrix = make(21, 3 * 256, Fill::gauss);
  expect_right(matrix, device, Planes::x16, layouts().front(), "", {1}, true, Dtype::f32, {2});
  expect_no_complaint(*device);
}

TEST_P(VulkanFormats, EveryTypeOfY) {
  LW_VULKAN_OR_RETURN(device);
  const Matrix matrix = make(21, 3 * 256, Fill::gauss);
  for (const Dtype output : {Dtype::f16, Dtype::bf16}) {
    expect_right(matrix, device, Planes::x16, layouts().front(), "", {3}, false, output);
  }
  expect_no_complaint(*device);
}

}  // namespace
}  // namespace lanewise::test
