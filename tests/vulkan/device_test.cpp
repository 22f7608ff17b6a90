// A Vulkan device but for its formats: memory in pieces, bindings and grids that are cut, batches, decoding of all
// halves.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <vector>

#include "arithmetic/scalar.h"
#include "backends/vulkan/device.h"
#include "harness/fill.h"
#include "kernels/devices.h"
#include "vulkan/device.h"

namespace lanewise::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes weights(const MatrixView& shape, std::uint64_t seed) {
  Bytes bytes(shape.bytes());
  fill_weights(shape.format, shape.cols, Fill::gauss, seed, 0, shape.rows, bytes.data());
  return bytes;
}

std::vector<float> inputs(std::uint64_t tokens, std::uint64_t cols) {
  std::vector<float> x(tokens * cols);
  fill_x(Format::Q4_K, tokens, cols, Fill::gauss, 5, Dtype::f32, x.data());
  return x;
}

std::vector<float> by_scalar(const MatrixView& w, const std::vector<float>& x, std::uint64_t tokens) {
  const auto activation = *Activation::create(Planes::x16, tokens, w.cols);
  EXPECT_TRUE(activation->set({x.data(), Dtype::f32, tokens, w.cols, w.cols}));
  std::vector<float> y(tokens * w.rows);
  gemv_scalar(w, *activation, {y.data(), Dtype::f32, w.rows}, 0, w.rows);
  return y;
}

// W * x on the device, all memory of it made as the library makes it.
std::vector<float> by_device(const std::shared_ptr<gpu::Device>& device, const MatrixView& w, Layout layout,
                             const std::vector<float>& x, std::uint64_t tokens) {
  const auto loaded = gpu::load_matrix(device, w, layout);
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  const auto there = *gpu::Memory::allocate(device, x.size() * sizeof(float));
  EXPECT_TRUE(device->copy(there.data(), x.data(), x.size() * sizeof(float)));
  const auto image = *gpu::Image::create(device, Planes::x16, tokens, w.cols);
  EXPECT_TRUE(image->set({there.data(), Dtype::f32, tokens, w.cols, w.cols}, false, nullptr));
  std::vector<float> y(tokens * w.rows);
  const auto out = *gpu::Memory::allocate(device, y.size() * sizeof(float));
  gpu::Operand operand{w, {out.data(), Dtype::f32, w.rows}};
  operand.w.data = loaded->data();
  const KernelDesc* const kernel =
      find_kernel({w.format, w.rows, w.cols, tokens, Planes::x16, layout}, "vulkan", device->capabilities());
  const Outcome multiplied = gpu::multiply(*device, *kernel, {&operand, 1}, *image, {}, nullptr);
  EXPECT_TRUE(multiplied) << multiplied.error().message;
  EXPECT_TRUE(device->wait(nullptr));
  EXPECT_TRUE(device->copy(y.data(), out.data(), y.size() * sizeof(float)));
  // And back to GGUF's bytes.
  MatrixView packed = w;
  packed.data = loaded->data();
  Bytes back(w.bytes());
  EXPECT_TRUE(gpu::store_matrix(device, packed, layout, back.data()));
  EXPECT_EQ(std::memcmp(back.data(), w.data, back.size()), 0);
  return y;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Memory of more than one allocation, more rows than a binding holds, more workgroups than a row of a grid has.
TEST(VulkanLimits, LargeMatricesAreCut) {
  vulkan::Overrides small;
  small.most_at_once = 100'000;
  small.most_bound = 60'000;
  small.most_groups = 3;
  LW_VULKAN_OR_RETURN(device, small);
  for (const Format format : {Format::Q4_K, Format::Q6_K, Format::Q8_0, Format::F16}) {
    MatrixView w{format, 333, 768, nullptr};
    const Bytes bytes = weights(w, 3);
    ASSERT_GT(bytes.size(), 100'000U);
    w.data = bytes.data();
    const std::vector<float> x = inputs(1, w.cols);
    const std::vector<float> wanted = by_scalar(w, x, 1);
    for (const Layout layout : {Layout::raw, Layout::rows16}) {
      if (!has_layout(layout, w.info())) continue;
      EXPECT_TRUE(same(by_device(device, w, layout, x, 1), wanted)) << w.info().name << " " << layout_name(layout);
    }
  }
  // What can't be cut is an error.
  const auto refused = device->allocate(200'000, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, LW_ERROR_MEMORY);
  expect_no_complaint(*device);
}

TEST(VulkanMemory, IsGivenBackAndKeptApart) {
  LW_VULKAN_OR_RETURN(device);
  std::vector<gpu::Memory> held;
  for (std::uint32_t i = 1; i < 200; ++i) {
    held.push_back(*gpu::Memory::allocate(device, i * 37));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(held.back().data()) % 256, 0U);
    EXPECT_TRUE(device->fill(held.back().data(), static_cast<std::uint8_t>(i), i * 37));
    if (i % 3 == 0) held.erase(held.begin());
  }
  for (const gpu::Memory& each : held) {
    Bytes back(each.bytes());
    EXPECT_TRUE(device->copy(back.data(), each.data(), back.size()));
    EXPECT_EQ(std::count(back.begin(), back.end(), static_cast<std::uint8_t>(each.bytes() / 37)),
              static_cast<std::ptrdiff_t>(back.size()));
  }
  EXPECT_TRUE(device->check_memory(held.front().data(), "it"));
  int here = 0;
  EXPECT_EQ(device->check_memory(&here, "it").error().code, LW_ERROR_ARGUMENT);
  expect_no_complaint(*device);
}

// A copy of any bytes to any place: those around it stay.
TEST(VulkanMemory, CopiesAndFillsAreExact) {
  LW_VULKAN_OR_RETURN(device);
  const auto memory = *gpu::Memory::allocate(device, 64);
  for (std::uint64_t at = 0; at < 6; ++at) {
    for (std::uint64_t bytes = 0; bytes < 11; ++bytes) {
      Bytes expected(64, 0x11);
      EXPECT_TRUE(device->fill(memory.data(), 0x11, 64));
      EXPECT_TRUE(device->fill(memory.data() + at, 0x22, bytes));
      EXPECT_TRUE(device->copy(memory.data() + 32 + at, expected.data(), 0));
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(at), bytes, 0x22);
      const Bytes some{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
      EXPECT_TRUE(device->copy(memory.data() + 32 + at, some.data(), std::min<std::uint64_t>(bytes, 10)));
      std::copy_n(some.begin(), std::min<std::uint64_t>(bytes, 10),
                  expected.begin() + 32 + static_cast<std::ptrdiff_t>(at));
      Bytes back(64);
      EXPECT_TRUE(device->copy(back.data(), memory.data(), 64));
      EXPECT_EQ(back, expected) << at << " " << bytes;
    }
  }
  expect_no_complaint(*device);
}

// Products whose x is the y of the one before, many in a batch: each must wait for the last.
void expect_order(const vulkan::Overrides& overrides) {
  LW_VULKAN_OR_RETURN(device, overrides);
  MatrixView w{Format::Q8_0, 256, 256, nullptr};
  const Bytes bytes = weights(w, 9);
  w.data = bytes.data();
  constexpr int steps = 300;  // more than a batch holds
  std::vector<float> wanted = inputs(1, w.cols);
  const auto loaded = *gpu::load_matrix(device, w, Layout::rows16);
  const auto first = *gpu::Memory::allocate(device, 1024);
  const auto second = *gpu::Memory::allocate(device, 1024);
  const auto image = *gpu::Image::create(device, Planes::x16, 1, 256);
  const KernelDesc* const kernel =
      find_kernel({w.format, 256, 256, 1, Planes::x16, Layout::rows16}, "vulkan", device->capabilities());
  EXPECT_TRUE(device->copy(first.data(), wanted.data(), 1024));
  for (int i = 0; i < steps; ++i) {
    std::uint8_t* const from = (i % 2 == 0 ? first : second).data();
    std::uint8_t* const to = (i % 2 == 0 ? second : first).data();
    ASSERT_TRUE(image->set({from, Dtype::f32, 1, 256, 256}, false, nullptr));
    gpu::Operand operand{w, {to, Dtype::f32, 256}};
    operand.w.data = loaded.data();
    ASSERT_TRUE(gpu::multiply(*device, *kernel, {&operand, 1}, *image, {}, nullptr));
    wanted = by_scalar(w, wanted, 1);
  }
  std::vector<float> got(256);
  EXPECT_TRUE(device->wait(nullptr));
  EXPECT_TRUE(device->copy(got.data(), (steps % 2 == 0 ? first : second).data(), 1024));
  EXPECT_TRUE(same(got, wanted));
  expect_no_complaint(*device);
}

TEST(VulkanBatches, OrderWhatDepends) {
  for (const bool polls : {false, true}) {
    vulkan::Overrides waiting;
    waiting.polls = polls;
    expect_order(waiting);
  }
}

// A driver without push descriptors: a set for each command on its way, and an error where that can't be told.
TEST(VulkanBatches, HaveSetsWithoutPushDescriptors) {
  vulkan::Overrides old;
  old.no_push = true;
  expect_order(old);
  LW_VULKAN_OR_RETURN(device, old);
  const auto memory = *gpu::Memory::allocate(device, 1024);
  int recorded = 0;  // never looked at
  const Outcome refused =
      device->dequantize(Format::F16, memory.data(), 16, reinterpret_cast<float*>(memory.data() + 512), &recorded);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, LW_ERROR_UNSUPPORTED);
  EXPECT_NE(refused.error().message.find("VK_KHR_push_descriptor"), std::string::npos) << refused.error().message;
}

// What is said to come is made by threads; what is asked for before they have it, or never, does no harm.
TEST(VulkanPipelines, AreMadeMeanwhile) {
  MatrixView w{Format::Q8_0, 40, 512, nullptr};
  const Bytes bytes = weights(w, 4);
  w.data = bytes.data();
  constexpr std::array all{Planes::x8, Planes::x16, Planes::x24};
  constexpr std::array<std::uint64_t, 3> windows{1, 3, 12};
  for (int i = 0; i < 3; ++i) {
    vulkan::Overrides fresh;
    fresh.forgetful = true;
    LW_VULKAN_OR_RETURN(device, fresh);
    for (const KernelDesc& kernel : vulkan_kernels()) {
      for (const Format format : {Format::Q8_0, Format::F16, Format::MXFP4}) {
        if (accepts(kernel.formats, format_info(format))) device->foresee(kernel, format, all, windows);
      }
    }
    if (i == 0) continue;  // given up at once
    for (const std::uint64_t tokens : {std::uint64_t{3}, std::uint64_t{1}}) {
      const std::vector<float> x = inputs(tokens, w.cols);
      EXPECT_TRUE(same(by_device(device, w, Layout::rows16, x, tokens), by_scalar(w, x, tokens)));
    }
    EXPECT_TRUE(device->warnings().empty());
    expect_no_complaint(*device);
  }
}

TEST(VulkanDecode, AllHalves) {
  LW_VULKAN_OR_RETURN(device);
  for (const Format format : {Format::F16, Format::BF16}) {
    std::vector<std::uint16_t> all(65536);
    std::iota(all.begin(), all.end(), std::uint16_t{0});
    const auto there = *gpu::Memory::allocate(device, all.size() * 2);
    EXPECT_TRUE(device->copy(there.data(), all.data(), all.size() * 2));
    const auto out = *gpu::Memory::allocate(device, all.size() * 4);
    EXPECT_TRUE(device->dequantize(format, there.data(), all.size(), reinterpret_cast<float*>(out.data()), nullptr));
    EXPECT_TRUE(device->wait(nullptr));
    std::vector<float> got(all.size());
    EXPECT_TRUE(device->copy(got.data(), out.data(), all.size() * 4));
    std::vector<float> wanted(all.size());
    dequantize_row(format, reinterpret_cast<const std::uint8_t*>(all.data()), all.size(), wanted.data());
    EXPECT_TRUE(same(got, wanted)) << format_info(format).name;
  }
  expect_no_complaint(*device);
}

TEST(VulkanOpen, SaysWhatIsMissing) {
  LW_VULKAN_OR_RETURN(device);
  const auto refused = open_gpu("vulkan:1000");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, LW_ERROR_NOT_FOUND);
  EXPECT_NE(refused.error().message.find("no device 'vulkan:1000'"), std::string::npos) << refused.error().message;
  setenv("LANEWISE_VULKAN_DEVICE", "no such device", 1);
  const auto none = vulkan::list_devices();
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("LANEWISE_VULKAN_DEVICE"), std::string::npos);
  setenv("LANEWISE_VULKAN_DEVICE", device->info().name.substr(1, 4).c_str(), 1);
  EXPECT_TRUE(vulkan::list_devices());
  unsetenv("LANEWISE_VULKAN_DEVICE");
}

// Kernels that a driver would run wrong: one that writes nothing, one that gives other bits. Both are struck out, said,
// and replaced by the next.
TEST(VulkanSelfTest, StrikesOutWhatIsWrong) {
  MatrixView w{Format::Q4_K, 40, 512, nullptr};
  const Bytes bytes = weights(w, 4);
  w.data = bytes.data();
  const std::vector<float> x = inputs(3, w.cols);
  for (const char* by : {"read", "gemv_q4_K_raw_dot", "gemv_q5_K_rows16_dot"}) {
    vulkan::Overrides planted;
    planted.spoiled = "dot";
    planted.spoiled_by = by;
    planted.forgetful = true;
    LW_VULKAN_OR_RETURN(device, planted);
    if ((device->capabilities() & CAP_PACKED_DOT) == 0) GTEST_SKIP() << "skipped: no device with a kernel to spoil";
    EXPECT_TRUE(device->warnings().empty());
    EXPECT_TRUE(same(by_device(device, w, Layout::rows16, x, 3), by_scalar(w, x, 3))) << by;
    ASSERT_EQ(device->warnings().size(), 1U) << by;
    EXPECT_NE(device->warnings()[0].find("kernel 'dot' for q4_K gives wrong bits"), std::string::npos);
    expect_no_complaint(*device);
  }
}

TEST(VulkanSelfTest, IsAnErrorWhereNothingIsRight) {
  vulkan::Overrides planted;
  planted.spoiled = "floats";
  planted.spoiled_by = "gemv_bf16_raw_floats";
  planted.forgetful = true;
  LW_VULKAN_OR_RETURN(device, planted);
  gpu::Launch what;
  const auto memory = *gpu::Memory::allocate(device, 1 << 16);
  what.x = memory.data();
  what.tokens = 1;
  what.planes = 2;
  what.cols = 256;
  what.blocks = 1;
  what.targets[what.count++] = {memory.data() + 32768, memory.data() + 49152, 4, 4};
  const KernelDesc* const kernel =
      find_kernel({Format::F32, 4, 256, 1, Planes::x16, Layout::raw}, "vulkan", device->capabilities());
  const Outcome refused = device->launch(*kernel, Format::F32, what, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, LW_ERROR_UNSUPPORTED);
  EXPECT_NE(refused.error().message.find("gives the right bits"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(device->launch(*kernel, Format::BF16, what, nullptr));  // which it is made for
  expect_no_complaint(*device);
}

// A verdict is kept for the next process, under the driver's name, and believed there.
TEST(VulkanSelfTest, KeepsItsVerdicts) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "lanewise-verdicts";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  MatrixView w{Format::Q8_0, 16, 256, nullptr};
  const Bytes bytes = weights(w, 4);
  w.data = bytes.data();
  const std::vector<float> x = inputs(1, w.cols);
  const std::vector<float> wanted = by_scalar(w, x, 1);
  vulkan::Overrides fresh;
  fresh.most_groups = 1000;  // a device of its own
  std::size_t lines = 0;
  std::filesystem::path file;
  {
    LW_VULKAN_OR_RETURN(device, fresh);
    EXPECT_TRUE(same(by_device(device, w, Layout::rows16, x, 1), wanted));
    for (const auto& each : std::filesystem::directory_iterator(folder / "lanewise")) file = each.path();
    std::ifstream in(file);
    for (std::string line; std::getline(in, line); ++lines)
      EXPECT_TRUE(line.starts_with("right gemv_q8_0_rows16_")) << line;
    EXPECT_EQ(lines, 1U);
  }
  {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    in.close();
    std::ofstream(file) << "wrong" << line.substr(5) << "\n";
    LW_VULKAN_OR_RETURN(device, fresh);
    EXPECT_TRUE(same(by_device(device, w, Layout::rows16, x, 1), wanted));
    EXPECT_EQ(device->warnings().size(), 1U);
  }
  std::filesystem::remove_all(folder);
  unsetenv("XDG_CACHE_HOME");
}

// The layer that the tests above rely on does complain, and a complaint is an error.
TEST(VulkanValidation, IsHeard) {
  LW_VULKAN_OR_RETURN(device);
  const char* const on = std::getenv("LANEWISE_VULKAN_VALIDATE");
  if (on == nullptr || *on != '1') GTEST_SKIP() << "skipped: the validation layer isn't installed";
  auto& opened = static_cast<vulkan::OpenDevice&>(*device);
  VkBufferCreateInfo without_usage{};
  without_usage.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  without_usage.size = 256;
  VkBuffer buffer = VK_NULL_HANDLE;
  (void)opened.functions().CreateBuffer(opened.handle(), &without_usage, nullptr, &buffer);
  if (buffer != VK_NULL_HANDLE) opened.functions().DestroyBuffer(opened.handle(), buffer, nullptr);
  const Outcome waited = device->wait(nullptr);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, LW_ERROR_INTERNAL);
  EXPECT_NE(waited.error().message.find("validation layer"), std::string::npos) << waited.error().message;
  opened.instance().forget_complaints();
  EXPECT_TRUE(device->wait(nullptr));
}

}  // namespace
}  // namespace lanewise::test
