// Every stage of the trace against the oracle's: integers, sums, F, d, each addition, r and y.
#include "arithmetic/stages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "arithmetic/fills.h"

namespace lanewise::trial {
namespace {

struct Pair {
  Trace kernel;
  oracle::Trace oracle;
};

Pair traces(const MatrixView& w, const Activation& x, const oracle::Activation& ox, std::uint64_t row,
            std::uint64_t token) {
  return {trace_scalar(w, x, row, token),
          oracle::trace(static_cast<int>(w.info().id), w.row(row), static_cast<std::int64_t>(w.cols), ox,
                        static_cast<std::int64_t>(token))};
}

class Stages : public ::testing::TestWithParam<Format> {};

TEST_P(Stages, EqualTheOraclesAndTheKernels) {
  const FormatInfo& info = format_info(GetParam());
  std::uint64_t seed = 77000 + info.id;
  std::uint64_t poisoned = 0;
  for (const std::uint64_t cols : {1U, 32U, 160U, 256U, 640U, 768U, 2560U}) {
    if (cols % info.block_elements != 0) continue;
    for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
      for (const DataKind& data : data_kinds) {
        Random random(++seed);
        const std::uint64_t rows = 2, tokens = 3;
        const std::vector<std::uint8_t> weights = make_weights(GetParam(), rows, cols, data.weights, random);
        const Input input = make_input(data.input, planes, Dtype::f32, tokens, cols, cols, random);
        const MatrixView w{GetParam(), rows, cols, weights.data()};
        auto x = Activation::create(planes, tokens, cols);
        ASSERT_TRUE(x.ok() && (*x)->set(input.view()).ok());
        const oracle::Activation ox = oracle_activation(input, planes);
        std::vector<float> y(rows * tokens);
        gemv_scalar(w, **x, {y.data(), Dtype::f32, rows}, 0, rows);
        for (std::uint64_t i = 0; i < rows * tokens; ++i) {
          const Pair both = traces(w, **x, ox, i % rows, i / rows);
          ASSERT_EQ(first_difference(info, both.kernel, both.oracle), "")
              << info.name << " " << planes_name(planes) << " K " << cols << " row " << i % rows << " token "
              << i / rows << ": " << data.name;
          ASSERT_EQ(std::memcmp(&y[i], &both.kernel.y, 4), 0) << "the trace tells another y than the kernel";
          poisoned += both.kernel.poisoned ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(poisoned, 0U);
}

INSTANTIATE_TEST_SUITE_P(Formats, Stages, ::testing::ValuesIn(all_formats()),
                         [](const auto& at) { return test_name(at.param); });

// The comparison itself: a change planted in one stage is found, and named as that stage.
TEST(FirstDifference, NamesThePlantedStage) {
  Random random(5);
  const std::vector<std::uint8_t> weights = make_weights(Format::Q4_K, 1, 768, WeightFill::tame, random);
  const Input input = make_input(InputFill::gauss, Planes::x16, Dtype::f32, 1, 768, 768, random);
  const MatrixView w{Format::Q4_K, 1, 768, weights.data()};
  auto x = Activation::create(Planes::x16, 1, 768);
  ASSERT_TRUE(x.ok() && (*x)->set(input.view()).ok());
  const Pair sound = traces(w, **x, oracle_activation(input, Planes::x16), 0, 0);
  ASSERT_EQ(first_difference(w.info(), sound.kernel, sound.oracle), "");

  struct Plant {
    const char* stage;
    std::function<void(Trace&)> change;
  };
  const auto flip = [](float& f) { f = std::bit_cast<float>(std::bit_cast<std::uint32_t>(f) ^ 1u); };
  const std::vector<Plant> plants = {
      {"poisoned[0]", [](Trace& t) { t.poisoned = true; }},
      {"e[1]", [](Trace& t) { ++t.exponents[1]; }},
      {"q[700]", [](Trace& t) { --t.q[700]; }},
      {"number of steps[0]", [](Trace& t) { t.steps.pop_back(); }},
      {"g of step[2]", [](Trace& t) { ++t.steps[2].g; }},
      {"v of step[2]", [](Trace& t) { ++t.steps[2].v; }},
      {"min of step[3]", [](Trace& t) { t.steps[3].is_min = false; }},
      {"J_1[1]", [](Trace& t) { ++t.steps[2].sums[1]; }},
      {"M_0[2]", [](Trace& t) { ++t.steps[5].sums[0]; }},
      {"F(J)[0]", [&](Trace& t) { flip(t.steps[0].value); }},
      {"F(M)[0]", [&](Trace& t) { flip(t.steps[1].value); }},
      {"d[0]", [&](Trace& t) { flip(t.steps[0].scale); }},
      {"m[2]", [&](Trace& t) { flip(t.steps[5].scale); }},
      {"term of step[4]", [&](Trace& t) { flip(t.steps[4].term); }},
      {"accumulator after step[5]", [&](Trace& t) { flip(t.steps[5].accumulator); }},
      {"r[5]", [&](Trace& t) { flip(t.eighth_sums[5]); }},
      {"y[0]", [&](Trace& t) { flip(t.y); }},
  };
  for (const Plant& plant : plants) {
    Trace changed = sound.kernel;
    plant.change(changed);
    const std::string found = first_difference(w.info(), changed, sound.oracle);
    EXPECT_EQ(found.substr(0, found.find(':')), plant.stage);
  }
}

}  // namespace
}  // namespace lanewise::trial
