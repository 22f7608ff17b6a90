// Many threads read one activation; its images for float weights are made by whichever asks first. Run under
// LANEWISE_SANITIZE=thread this shows that no access races.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "arithmetic/fills.h"
#include "arithmetic/scalar.h"

namespace lanewise::trial {
namespace {

TEST(Threads, ReadOneActivationTogether) {
  constexpr std::uint64_t rows = 6, cols = 512, tokens = 9;
  constexpr std::array kinds = {Format::F32, Format::F16, Format::BF16, Format::Q4_K, Format::Q8_0};
  Random random(17);
  std::vector<std::vector<std::uint8_t>> weights;
  for (const Format format : kinds) weights.push_back(make_weights(format, rows, cols, WeightFill::tame, random));
  const Input input = make_input(InputFill::gauss, Planes::x16, Dtype::f32, tokens, cols, cols, random);
  const oracle::Activation ox = oracle_activation(input, Planes::x16);
  std::vector<std::vector<float>> expected;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    expected.emplace_back(rows * tokens);
    oracle::gemv(static_cast<int>(kinds[i]), weights[i].data(), rows, cols, ox, expected.back().data());
  }

  auto x = Activation::create(Planes::x16, tokens, cols);
  ASSERT_TRUE(x.ok());
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE((*x)->set(input.view()).ok());
    std::vector<std::vector<float>> got(16, std::vector<float>(rows * tokens));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < got.size(); ++i) {
      threads.emplace_back([&, i] {
        const std::size_t kind = i % kinds.size();
        gemv_scalar({kinds[kind], rows, cols, weights[kind].data()}, **x, {got[i].data(), Dtype::f32, rows}, 0, rows);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::vector<float>& y = expected[i % kinds.size()];
      ASSERT_EQ(std::memcmp(got[i].data(), y.data(), y.size() * sizeof(float)), 0) << "thread " << i;
    }
  }
}

}  // namespace
}  // namespace lanewise::trial
