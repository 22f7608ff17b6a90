// No product allocates; no call leaks or dies when memory runs out at any of its allocations.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>

#include "library/allocations.h"
#include "library/support.h"

namespace lanewise::test {
namespace {

TEST(Memory, TheCounterCounts) {
  ASSERT_TRUE(counts_allocations());
  const std::uint64_t before = allocation_count();
  void* volatile memory = std::malloc(10);
  std::free(memory);
  EXPECT_EQ(allocation_count() - before, 1u);
  int* volatile number = new int(1);
  delete number;
  EXPECT_EQ(allocation_count() - before, 2u);
}

void yield_for(void*, std::uint32_t count, void (*task)(void*, std::uint32_t), void* context) {
  for (std::uint32_t i = 0; i < count; ++i) task(context, i);
}

// The first call too: nothing is put off until then.
TEST(Memory, NoProductAndNoSetAllocates) {
  for (const bool callers_threads : {false, true}) {
    const lw::Device device({.threads = 3, .parallel_for = callers_threads ? yield_for : nullptr});
    cut_small_products(device);
    const Floats x = make_x(4 * 1024, 1);
    for (const FormatInfo& info : formats()) {
      const Weights a(device, info, 64, 1024, 1);
      const Weights b(device, info, 64, 1024, 2);
      lw::Activation activation(device, 1024, 4);
      const std::array<const lw_matrix*, 2> pair = {a.matrix.get(), b.matrix.get()};
      const std::array<std::int32_t, 8> ids = {0, 1, 1, 1, 0, 0, 1, 0};
      Floats y(256), z(256), experts(512);
      const std::array<lw_output, 2> ys = {lw_output{y.data(), LW_DTYPE_F32, 0}, lw_output{z.data(), LW_DTYPE_F32, 0}};
      lw_error error = LW_ERROR_INIT;

      const std::uint64_t before = allocation_count();
      const lw_status set = activation.set(x, error);
      const lw_status one = lw::gemv(device, a.matrix, activation, y, error);
      const lw_status part = lw_gemv_part(device.get(), a.matrix.get(), activation.get(), ys[1], 1, 2, &error);
      const lw_status group = lw::gemv_group(device, pair, activation, ys, error);
      const lw_status expert = lw::gemv_experts(device, pair, activation, ids, experts, error);
      const std::uint64_t count = allocation_count() - before;
      EXPECT_EQ(count, 0u) << info.name;
      EXPECT_EQ(set | one | part | group | expert, LW_OK);
    }
  }
}

// Runs `call` with its first allocation failing, then the second, until none does: each time it says so and undoes what
// it began (the sanitizer builds look for leaks).
void fail_at_each(const std::string& what, const std::function<lw_status(lw_error*)>& call, std::uint64_t least) {
  for (std::int64_t n = 0;; ++n) {
    ASSERT_LT(n, 10000) << what << " allocates without end";
    lw_error error = LW_ERROR_INIT;
    fail_allocation(n);
    const lw_status status = call(&error);
    if (!stop_failing()) {
      EXPECT_EQ(status, LW_OK) << what << ": " << error.message;
      EXPECT_GE(static_cast<std::uint64_t>(n), least) << what << ": fewer allocations than it must have";
      return;
    }
    ASSERT_EQ(status, LW_ERROR_MEMORY) << what << ", allocation " << n << ": " << error.message;
    ASSERT_EQ(error.code, LW_ERROR_MEMORY);
    ASSERT_NE(error.message[0], '\0');
  }
}

TEST(Memory, RunningOutAnywhereIsAnError) {
  if (!can_fail_allocations()) GTEST_SKIP() << "operator new can't be made to fail under the thread sanitizer";
  const auto file = usual_model();
  fail_at_each(
      "lw_model_open_bytes",
      [&](lw_error* error) {
        lw_model* model = nullptr;
        const lw_status status = lw_model_open_bytes(file.data(), file.size(), &model, error);
        EXPECT_EQ(model == nullptr, status != LW_OK);
        lw_model_close(model);
        return status;
      },
      2);
  const lw::Model model(std::as_bytes(std::span(file)));
  const lw::Device device({.threads = 1});
  cut_small_products(device);
  fail_at_each(
      "lw_matrix_from_tensor",
      [&](lw_error* error) {
        lw_matrix* matrix = nullptr;
        const lw_status status =
            lw_matrix_from_tensor(device.get(), model.get(), "blk.0.exps.weight[2]", &matrix, error);
        EXPECT_EQ(matrix == nullptr, status != LW_OK);
        lw_matrix_free(matrix);
        return status;
      },
      1);
  fail_at_each(
      "lw_activation_create",
      [&](lw_error* error) {
        lw_activation* activation = nullptr;
        const lw_status status = lw_activation_create(device.get(), LW_X16, 2, 512, &activation, error);
        EXPECT_EQ(activation == nullptr, status != LW_OK);
        lw_activation_free(activation);
        return status;
      },
      3);
  // A thread that can't be had is no error: the device has fewer. So only the caller's own allocations are counted.
  const lw_device_options options = {sizeof options, 1,       "cpu", "cpu.gemv.q4_K.raw.x16.scalar", yield_for, nullptr,
                                     nullptr,        nullptr, 0};
  fail_at_each(
      "lw_device_open",
      [&](lw_error* error) {
        lw_device* opened = nullptr;
        const lw_status status = lw_device_open(&options, &opened, error);
        EXPECT_EQ(opened == nullptr, status != LW_OK);
        lw_device_close(opened);
        return status;
      },
      2);
}

}  // namespace
}  // namespace lanewise::test
