// The C interface on a Vulkan device: memory by it, products alone and in groups, and an engine's own device, buffers
// and command buffers.
#include <dlfcn.h>
#include <lanewise/lanewise.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "backends/vulkan/device.h"
#include "harness/fill.h"
#include "vulkan/device.h"

namespace lanewise::test {
namespace {

constexpr std::uint64_t cols = 512;
constexpr std::uint64_t tokens = 3;

struct Weights {
  lw_format format;
  std::uint64_t rows;
  std::vector<std::uint8_t> bytes;

  Weights(Format kind, std::uint64_t row_count) : format(static_cast<lw_format>(kind)), rows(row_count) {
    bytes.resize(MatrixView{kind, rows, cols, nullptr}.bytes());
    fill_weights(kind, cols, Fill::gauss, rows, 0, rows, bytes.data());
  }
  lw_matrix* on(lw_device* device) const {
    lw_error error = LW_ERROR_INIT;
    lw_matrix* matrix = nullptr;
    EXPECT_EQ(lw_matrix_from_bytes(device, format, rows, cols, bytes.data(), bytes.size(), &matrix, &error), LW_OK)
        << error.message;
    return matrix;
  }
};

std::vector<float> make_x() {
  std::vector<float> x(tokens * cols);
  fill_x(Format::Q4_K, tokens, cols, Fill::gauss, 2, Dtype::f32, x.data());
  return x;
}

lw_device* open_by_name(const char* name) {
  lw_device_options options = LW_DEVICE_OPTIONS_INIT;
  options.name = name;
  lw_error error = LW_ERROR_INIT;
  lw_device* device = nullptr;
  EXPECT_EQ(lw_device_open(&options, &device, &error), LW_OK) << error.message;
  return device;
}

// The products of these matrices as one group, by memory of the device's.
std::vector<std::vector<float>> multiply(lw_device* device, const std::vector<Weights>& list) {
  lw_error error = LW_ERROR_INIT;
  const std::vector<float> x = make_x();
  void* x_there = nullptr;
  EXPECT_EQ(lw_memory_allocate(device, x.size() * 4, &x_there, &error), LW_OK) << error.message;
  EXPECT_EQ(lw_memory_copy(device, x_there, x.data(), x.size() * 4, &error), LW_OK) << error.message;
  lw_activation* activation = nullptr;
  EXPECT_EQ(lw_activation_create(device, LW_X16, tokens, cols, &activation, &error), LW_OK) << error.message;
  EXPECT_EQ(lw_activation_set(activation, LW_DTYPE_F32, x_there, tokens, 0, &error), LW_OK) << error.message;
  std::vector<const lw_matrix*> matrices;
  std::vector<lw_output> ys;
  for (const Weights& each : list) {
    matrices.push_back(each.on(device));
    lw_output y{nullptr, LW_DTYPE_F32, 0};
    EXPECT_EQ(lw_memory_allocate(device, tokens * each.rows * 4, &y.data, &error), LW_OK) << error.message;
    ys.push_back(y);
  }
  EXPECT_EQ(lw_gemv_group(device, list.size(), matrices.data(), activation, ys.data(), &error), LW_OK) << error.message;
  std::vector<std::vector<float>> got;
  for (std::size_t i = 0; i < list.size(); ++i) {
    got.emplace_back(tokens * list[i].rows);
    EXPECT_EQ(lw_memory_copy(device, got[i].data(), ys[i].data, got[i].size() * 4, &error), LW_OK) << error.message;
    lw_memory_free(device, ys[i].data);
    lw_matrix_free(const_cast<lw_matrix*>(matrices[i]));
  }
  lw_activation_free(activation);
  lw_memory_free(device, x_there);
  return got;
}

TEST(VulkanLibrary, GroupsAreTheBitsOfTheCpu) {
  LW_VULKAN_OR_RETURN(opened);
  const std::vector<Weights> list{{Format::Q4_K, 40}, {Format::Q6_K, 24}, {Format::Q4_K, 17}, {Format::F16, 9}};
  lw_device* const cpu = open_by_name("cpu");
  lw_device* const gpu = open_by_name("vulkan:0");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(multiply(gpu, list), multiply(cpu, list));
  lw_device_close(gpu);
  lw_device_close(cpu);
  expect_no_complaint(*opened);
}

// Gate and up with experts, more tokens than a slice; ids that repeat; then a bad one.
std::vector<std::vector<float>> with_experts(lw_device* device, Format format, std::uint64_t rows, lw_dtype dtype) {
  constexpr std::uint64_t all = 11;
  constexpr std::uint64_t used = 3;
  constexpr std::uint64_t count = 5;
  lw_error error = LW_ERROR_INIT;
  std::vector<float> x(all * cols);
  fill_x(format, all, cols, Fill::gauss, 2, Dtype::f32, x.data());
  std::vector<std::int32_t> ids;
  for (std::uint64_t i = 0; i < all * used; ++i) ids.push_back(static_cast<std::int32_t>(i * i % 7 % count));
  void* x_there = nullptr;
  void* ids_there = nullptr;
  EXPECT_EQ(lw_memory_allocate(device, x.size() * 4, &x_there, &error), LW_OK);
  EXPECT_EQ(lw_memory_copy(device, x_there, x.data(), x.size() * 4, &error), LW_OK);
  EXPECT_EQ(lw_memory_allocate(device, ids.size() * 4, &ids_there, &error), LW_OK);
  EXPECT_EQ(lw_memory_copy(device, ids_there, ids.data(), ids.size() * 4, &error), LW_OK);
  lw_activation* activation = nullptr;
  EXPECT_EQ(lw_activation_create(device, LW_X16, all, cols, &activation, &error), LW_OK);
  EXPECT_EQ(lw_activation_set(activation, LW_DTYPE_F32, x_there, all, 0, &error), LW_OK);
  std::vector<const lw_matrix*> matrices;
  std::vector<Weights> experts(2 * count, Weights(format, rows));  // which matrices on a CPU read where they lie
  for (Weights& each : experts) {
    fill_weights(format, cols, Fill::gauss, 100 + matrices.size(), 0, rows, each.bytes.data());
    matrices.push_back(each.on(device));
  }
  const std::uint64_t unit = dtype == LW_DTYPE_F32 ? 4 : 2;
  const std::uint64_t bytes = all * used * (rows + 3) * unit;
  std::vector<lw_output> ys(2, lw_output{nullptr, dtype, rows + 3});
  const std::vector<std::uint8_t> poison(bytes, 0x7B);
  for (lw_output& y : ys) {
    EXPECT_EQ(lw_memory_allocate(device, bytes, &y.data, &error), LW_OK);
    EXPECT_EQ(lw_memory_copy(device, y.data, poison.data(), bytes, &error), LW_OK);
  }
  const auto* const id_data = static_cast<const std::int32_t*>(ids_there);
  EXPECT_EQ(lw_gemv_experts_group(device, 2, count, matrices.data(), activation, id_data, used, ys.data(), &error),
            LW_OK)
      << error.message;
  EXPECT_EQ(lw_experts_check(device, activation, &error), LW_OK) << error.message;
  std::vector<std::vector<float>> got(2, std::vector<float>(bytes / 4));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(lw_memory_copy(device, got[i].data(), ys[i].data, bytes, &error), LW_OK) << error.message;
  }
  // A bad id: nothing is written, and the check says so.
  ids[20] = static_cast<std::int32_t>(count);
  EXPECT_EQ(lw_memory_copy(device, ids_there, ids.data(), ids.size() * 4, &error), LW_OK);
  EXPECT_EQ(lw_memory_copy(device, ys[0].data, poison.data(), bytes, &error), LW_OK);
  const lw_status called = lw_gemv_experts(device, count, matrices.data(), activation, id_data, used, ys[0], &error);
  EXPECT_EQ(called == LW_OK ? lw_experts_check(device, activation, &error) : called, LW_ERROR_ARGUMENT);
  std::vector<std::uint8_t> untouched(bytes);
  EXPECT_EQ(lw_memory_copy(device, untouched.data(), ys[0].data, bytes, &error), LW_OK);
  EXPECT_EQ(untouched, poison);
  for (const lw_matrix* matrix : matrices) lw_matrix_free(const_cast<lw_matrix*>(matrix));
  for (lw_output& y : ys) lw_memory_free(device, y.data);
  lw_activation_free(activation);
  lw_memory_free(device, ids_there);
  lw_memory_free(device, x_there);
  return got;
}

TEST(VulkanLibrary, ExpertsAreTheBitsOfTheCpu) {
  LW_VULKAN_OR_RETURN(opened);
  lw_device* const cpu = open_by_name("cpu");
  lw_device* const gpu = open_by_name("vulkan:0");
  const auto same = [&](Format format, std::uint64_t rows, lw_dtype dtype) {
    const auto there = with_experts(gpu, format, rows, dtype);
    const auto here = with_experts(cpu, format, rows, dtype);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(std::memcmp(there[i].data(), here[i].data(), here[i].size() * 4), 0) << format_info(format).name << i;
    }
  };
  same(Format::Q4_K, 40, LW_DTYPE_F32);
  same(Format::MXFP4, 33, LW_DTYPE_F16);
  same(Format::BF16, 7, LW_DTYPE_F32);
  lw_device_close(gpu);
  lw_device_close(cpu);
  expect_no_complaint(*opened);
}

// What is said of a product is what runs: after a kernel was struck out, the one in its place.
TEST(VulkanLibrary, ExplainsWhatRuns) {
  LW_VULKAN_OR_RETURN(opened);
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "lanewise-explained";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string usual = before == nullptr ? "" : before;
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  const auto explain = [&]() -> std::string {
    lw_error error = LW_ERROR_INIT;
    lw_device* const gpu = open_by_name("vulkan:0");
    lw_matrix* const matrix = Weights(Format::Q5_0, 4).on(gpu);
    lw_activation* activation = nullptr;
    void* x = nullptr;
    EXPECT_EQ(lw_memory_allocate(gpu, cols * 4, &x, &error), LW_OK);
    EXPECT_EQ(lw_activation_create(gpu, LW_X16, 1, cols, &activation, &error), LW_OK);
    EXPECT_EQ(lw_activation_set(activation, LW_DTYPE_F32, x, 1, 0, &error), LW_OK);
    char text[1024] = "";
    EXPECT_EQ(lw_gemv_explain(gpu, matrix, activation, text, sizeof text, &error), LW_OK) << error.message;
    lw_activation_free(activation);
    lw_memory_free(gpu, x);
    lw_matrix_free(matrix);
    lw_device_close(gpu);
    return text;
  };
  const std::string right = explain();
  EXPECT_EQ(right.find("in place of"), std::string::npos) << right;
  // As if that kernel had been found wrong.
  std::filesystem::path file;
  for (const auto& each : std::filesystem::directory_iterator(folder / "lanewise")) file = each.path();
  std::string line;
  std::getline(std::ifstream(file), line);
  std::ofstream(file) << "wrong" << line.substr(5) << "\n";
  const std::string other = explain();
  const std::string first = right.substr(0, right.find(": "));
  EXPECT_FALSE(other.starts_with(first)) << other;
  EXPECT_NE(other.find("in place of '" + first.substr(first.rfind('.') + 1) + "'"), std::string::npos) << other;
  setenv("XDG_CACHE_HOME", usual.c_str(), 1);
  std::filesystem::remove_all(folder);
}

TEST(VulkanLibrary, RefusesWhatItMust) {
  LW_VULKAN_OR_RETURN(opened);
  lw_device* const cpu = open_by_name("cpu");
  lw_device* const gpu = open_by_name("vulkan");
  lw_error error = LW_ERROR_INIT;
  void* memory = nullptr;
  EXPECT_EQ(lw_memory_allocate(gpu, 0, &memory, &error), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw_memory_allocate(gpu, UINT64_MAX / 4, &memory, &error), LW_ERROR_MEMORY) << error.message;
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(lw_vulkan_address(cpu, 1, 0, 1, &memory, &error), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw_vulkan_address(gpu, 1, 3, 1, &memory, &error), LW_ERROR_ARGUMENT);
  lw_vulkan engine = LW_VULKAN_INIT;
  lw_device* device = nullptr;
  EXPECT_EQ(lw_device_open_vulkan(nullptr, &engine, &device, &error), LW_ERROR_ARGUMENT);
  engine.struct_size = 7;
  EXPECT_EQ(lw_device_open_vulkan(nullptr, &engine, &device, &error), LW_ERROR_ARGUMENT);
  // Host memory as y.
  const Weights w(Format::Q8_0, 4);
  lw_matrix* const matrix = w.on(gpu);
  const std::vector<float> x = make_x();
  lw_activation* activation = nullptr;
  ASSERT_EQ(lw_activation_create(gpu, LW_X16, 1, cols, &activation, &error), LW_OK);
  EXPECT_EQ(lw_activation_set(activation, LW_DTYPE_F32, x.data(), 1, 0, &error), LW_ERROR_ARGUMENT) << error.message;
  lw_activation_free(activation);
  lw_matrix_free(matrix);
  lw_device_close(gpu);
  lw_device_close(cpu);
}

TEST(VulkanLibrary, RecordsIntoAnEnginesCommandBuffer) {
  LW_VULKAN_OR_RETURN(opened);
  // What an engine has: handles, buffers and a command buffer of its own.
  auto& engine = static_cast<vulkan::OpenDevice&>(*opened);
  const vulkan::Functions& vk = engine.functions();
  VkQueue queue = VK_NULL_HANDLE;
  vk.GetDeviceQueue(engine.handle(), engine.physical().queue_family, 0, &queue);
  vulkan::Heap heap(vk, engine.handle(), engine.physical().memory_type, engine.physical().most_at_once);
  std::uint8_t* const own = *heap.allocate(1 << 16, 0);
  const vulkan::Place buffer = heap.find(own);
  ASSERT_EQ(buffer.offset % 256, 0U);

  lw_vulkan given = LW_VULKAN_INIT;
  given.queue_family = engine.physical().queue_family;
  given.instance = engine.instance().handle();
  given.physical_device = engine.physical().handle;
  given.device = engine.handle();
  given.queue = queue;
  void* const loader = dlopen("libvulkan.so.1", RTLD_NOW);
  given.get_instance_proc_addr = dlsym(loader, "vkGetInstanceProcAddr");
  given.has_dot_product = engine.physical().has_dot ? 1 : 0;
  lw_error error = LW_ERROR_INIT;
  lw_device* device = nullptr;
  ASSERT_EQ(lw_device_open_vulkan(nullptr, &given, &device, &error), LW_OK) << error.message;
  void* y = nullptr;
  ASSERT_EQ(lw_vulkan_address(device, std::bit_cast<std::uint64_t>(buffer.buffer), buffer.offset, 1 << 16, &y, &error),
            LW_OK)
      << error.message;

  const std::vector<Weights> list{{Format::Q5_K, 33}};
  lw_matrix* const matrix = list[0].on(device);
  const std::vector<float> x = make_x();
  void* x_there = nullptr;
  ASSERT_EQ(lw_memory_allocate(device, x.size() * 4, &x_there, &error), LW_OK);
  ASSERT_EQ(lw_memory_copy(device, x_there, x.data(), x.size() * 4, &error), LW_OK);
  VkCommandBuffer commands = *engine.queue().make_commands();
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  ASSERT_EQ(vk.BeginCommandBuffer(commands, &begin), VK_SUCCESS);
  lw_device* recording = nullptr;
  ASSERT_EQ(lw_device_on_stream(device, commands, &recording, &error), LW_OK) << error.message;
  lw_activation* activation = nullptr;
  ASSERT_EQ(lw_activation_create(recording, LW_X16, tokens, cols, &activation, &error), LW_OK) << error.message;
  ASSERT_EQ(lw_activation_set(activation, LW_DTYPE_F32, x_there, tokens, 0, &error), LW_OK) << error.message;
  ASSERT_EQ(lw_gemv(recording, matrix, activation, {y, LW_DTYPE_F32, 0}, &error), LW_OK) << error.message;
  engine.queue().barrier(commands);
  ASSERT_EQ(vk.EndCommandBuffer(commands), VK_SUCCESS);
  ASSERT_TRUE(engine.queue().run(commands));
  std::vector<float> got(tokens * list[0].rows);
  ASSERT_EQ(lw_memory_copy(device, got.data(), y, got.size() * 4, &error), LW_OK) << error.message;
  lw_device* const cpu = open_by_name("cpu");
  EXPECT_EQ(got, multiply(cpu, list)[0]);
  lw_device_close(cpu);

  lw_activation_free(activation);
  lw_matrix_free(matrix);
  lw_memory_free(device, x_there);
  lw_memory_free(device, y);
  lw_device_close(recording);
  lw_device_close(device);
  engine.queue().free_commands(commands);
  heap.release(own);
  dlclose(loader);
  expect_no_complaint(*opened);
}

}  // namespace
}  // namespace lanewise::test
