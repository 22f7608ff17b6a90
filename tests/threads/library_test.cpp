// One device, model, matrix and activation used by many threads; the caller's threads in place of the pool.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "library/support.h"

namespace lanewise::test {
namespace {

TEST(Threads, ManyCallersShareEverything) {
  const auto file = usual_model();
  const lw::Model model(std::as_bytes(std::span(file)));
  const lw::Device device({.threads = 3});
  cut_small_products(device);
  const lw::Matrix q(device, model, "blk.0.q.weight");
  const Weights f(device, *find_format("f32"), 48, 512, 1);  // its image of x is made by whoever comes first
  const lw::Activation x(device, make_x(2 * 512, 1), 512);
  Floats expected_q(96), expected_f(96);
  {
    const lw::Device alone({.threads = 1});
    const lw::Matrix q1(alone, model, "blk.0.q.weight");
    const lw::Matrix f1(alone, LW_F32, 48, 512, f.bytes);
    const lw::Activation x1(alone, make_x(2 * 512, 1), 512);
    lw::gemv(alone, q1, x1, expected_q);
    lw::gemv(alone, f1, x1, expected_f);
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 5; ++c) {
    callers.emplace_back([&, c] {
      Floats y(96), z(96);
      const std::array<const lw_matrix*, 2> both = {q.get(), f.matrix.get()};
      const std::array<lw_output, 2> ys = {lw_output{y.data(), LW_DTYPE_F32, 0}, lw_output{z.data(), LW_DTYPE_F32, 0}};
      const std::array<std::int32_t, 4> ids = {0, 1, 1, 0};
      Floats experts(4 * 48);
      for (int again = 0; again < 20; ++again) {
        y.assign(96, 0);
        z.assign(96, 0);
        switch ((c + again) % 3) {
          case 0:
            lw::gemv(device, f.matrix, x, z);
            lw::gemv(device, q, x, y);
            break;
          case 1:
            lw::gemv_group(device, both, x, ys);
            break;
          default:
            lw::gemv_experts(device, both, x, ids, experts);
            std::copy_n(experts.begin(), 48, y.begin());
            std::copy_n(experts.begin() + 3 * 48, 48, y.begin() + 48);
            std::copy_n(experts.begin() + 48, 96, z.begin());
            break;
        }
        if (!same_bits(y, expected_q) || !same_bits(z, expected_f)) wrong.fetch_add(1);
        lw_tensor_info info = LW_TENSOR_INFO_INIT;
        lw_error error = LW_ERROR_INIT;
        if (model.find("blk.0.q.weight", info, error) != LW_OK) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

struct CallerThreads {
  std::atomic<std::uint32_t> calls = 0;
  std::atomic<std::uint32_t> parts = 0;
  static void run(void* user, std::uint32_t count, void (*task)(void*, std::uint32_t), void* context) {
    auto& mine = *static_cast<CallerThreads*>(user);
    mine.calls.fetch_add(1);
    mine.parts.fetch_add(count);
    std::vector<std::thread> threads;
    for (std::uint32_t i = count; i-- > 0;) threads.emplace_back([=] { task(context, i); });
    for (std::thread& thread : threads) thread.join();
  }
};

TEST(Threads, TheCallersParallelForTakesThePoolsPlace) {
  CallerThreads mine;
  const lw::Device theirs({.threads = 3, .parallel_for = CallerThreads::run, .parallel_user = &mine});
  EXPECT_EQ(theirs.info().threads, 3u);
  const lw::Device own({.threads = 1});
  const FormatInfo& info = *find_format("q6_K");
  const Floats x = make_x(4 * 1024, 1);
  const Weights w(theirs, info, 100, 1024, 2);
  const Weights same(own, info, 100, 1024, 2);
  const lw::Activation activation(theirs, x, 1024);
  const lw::Activation own_activation(own, x, 1024);
  Floats y(400), expected(400);
  lw::gemv(own, same.matrix, own_activation, expected);
  lw::gemv(theirs, w.matrix, activation, y);
  EXPECT_TRUE(same_bits(y, expected));
  EXPECT_EQ(mine.calls.load(), 1u);
  EXPECT_EQ(mine.parts.load(), 3u);

  const std::array<const lw_matrix*, 2> pair = {w.matrix.get(), w.matrix.get()};
  Floats again(400);
  y.assign(400, 0);
  const std::array<lw_output, 2> ys = {lw_output{y.data(), LW_DTYPE_F32, 0}, lw_output{again.data(), LW_DTYPE_F32, 0}};
  lw::gemv_group(theirs, pair, activation, ys);
  EXPECT_TRUE(same_bits(y, expected) && same_bits(again, expected));
  const std::array<std::int32_t, 4> ids = {1, 0, 1, 0};
  y.assign(400, 0);
  lw::gemv_experts(theirs, pair, activation, ids, y);
  EXPECT_TRUE(same_bits(y, expected));
  EXPECT_EQ(mine.calls.load(), 3u);
  EXPECT_LE(mine.parts.load(), 9u);

  // lw_gemv_part stays on the calling thread.
  ASSERT_EQ(lw_gemv_part(theirs.get(), w.matrix.get(), activation.get(), {y.data(), LW_DTYPE_F32, 0}, 0, 2, nullptr),
            LW_OK);
  EXPECT_EQ(mine.calls.load(), 3u);
}

}  // namespace
}  // namespace lanewise::test
