// No sum leaves int32, and which formats may join their planes early: docs/arithmetic.md, section 3.
//
// A bound for a d-group: S = elements * largest |sc| * largest |c|, each found by trying every value of its field. Any
// partial sum, in any order and with sc applied before or after, is at most S * 128 in magnitude, as no plane's element
// exceeds 128. The q of a whole element is at most 32512 at x16, so joined sums are at most S * 32512.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "arithmetic/fills.h"
#include "arithmetic/scalar.h"
#include "formats/block.h"

namespace lanewise::trial {
namespace {

constexpr std::int64_t int32_end = std::int64_t{1} << 31;
constexpr std::int64_t plane_most = 128;

struct Bounds {
  std::int64_t codes = 0;  // S of the codes
  std::int64_t mins = 0;   // the same with mn in place of sc * c
};

Bounds bounds(const FormatInfo& info) {
  const Extremes e = extremes(info.format);
  return {info.dgroup * e.sub_scale * e.code, info.has_min ? info.dgroup * e.sub_min : 0};
}

TEST(IntegerSums, FieldsReachTheExtremesOfTheirFormats) {
  // Facts of the formats, by hand, so that a search that misses a value is caught.
  struct Row {
    Format format;
    std::int64_t code, sub_scale, sub_min;
  };
  const std::vector<Row> rows = {
      Row{Format::Q4_0, 8, 1, 0},      Row{Format::Q4_1, 15, 1, 1},     Row{Format::Q5_0, 16, 1, 0},
      Row{Format::Q5_1, 31, 1, 1},     Row{Format::Q8_0, 128, 1, 0},    Row{Format::Q2_K, 3, 15, 15},
      Row{Format::Q3_K, 4, 32, 0},     Row{Format::Q4_K, 15, 63, 63},   Row{Format::Q5_K, 31, 63, 63},
      Row{Format::Q6_K, 32, 128, 0},   Row{Format::IQ2_XXS, 43, 31, 0}, Row{Format::IQ2_XS, 43, 31, 0},
      Row{Format::IQ2_S, 43, 31, 0},   Row{Format::IQ3_XXS, 62, 31, 0}, Row{Format::IQ3_S, 15, 31, 0},
      Row{Format::IQ1_S, 9, 15, 0},    Row{Format::IQ1_M, 9, 15, 0},    Row{Format::IQ4_NL, 127, 1, 0},
      Row{Format::IQ4_XS, 127, 32, 0}, Row{Format::TQ1_0, 1, 1, 0},     Row{Format::TQ2_0, 2, 1, 0},
      Row{Format::MXFP4, 12, 1, 0},    Row{Format::NVFP4, 12, 1, 0},    Row{Format::Q1_0, 1, 1, 0},
      Row{Format::Q2_0, 2, 1, 0}};
  ASSERT_EQ(rows.size(), code_formats().size());
  for (const Row& row : rows) {
    const Extremes e = extremes(row.format);
    EXPECT_EQ(e.code, row.code) << format_info(row.format).name;
    EXPECT_EQ(e.sub_scale, row.sub_scale) << format_info(row.format).name;
    EXPECT_EQ(e.sub_min, row.sub_min) << format_info(row.format).name;
  }
}

TEST(IntegerSums, BoundsAreBelowInt32) {
  for (const FormatInfo& info : formats()) {
    if (info.is_float()) continue;
    const Bounds b = bounds(info);
    EXPECT_GT(b.codes, 0) << info.name;
    EXPECT_LT(b.codes * plane_most, int32_end) << info.name;
    EXPECT_LT(b.mins * plane_most, int32_end) << info.name;
  }
}

// Real blocks and real activations at the extremes: x chosen against the block so that every product of a plane adds to
// the same side. The kernel's sums are those of 64-bit arithmetic, every partial one fits, and the largest come near
// the bound.
struct Attained {
  std::int64_t largest = 0;      // |J_p|
  std::int64_t largest_min = 0;  // |M_p|
  std::int64_t partial = 0;      // any partial sum: of a group, times sc, of the d-group
};

template <class T>
Attained attain(const std::vector<std::uint8_t>& row, std::uint64_t cols, Planes planes, const Trace& trace,
                const NaturalToken& token) {
  Attained most;
  const auto note = [](std::int64_t& largest, std::int64_t value) { largest = std::max(largest, std::abs(value)); };
  std::size_t step = 0;
  for (std::uint64_t k = 0; k < cols; k += T::info.dgroup) {
    const Block<T> block{row.data() + k / T::info.block_elements * T::info.block_bytes};
    const auto first = static_cast<lw_u32>(k % T::info.block_elements);
    std::array<std::int64_t, 3> J{}, M{};
    for (std::uint32_t p = 0; p < plane_count(planes); ++p) {
      const std::int8_t* plane = token.plane(p) + k;
      for (lw_u32 g = 0; g < T::info.dgroup / T::info.group; ++g) {
        std::int64_t sum = 0, plain = 0;
        for (lw_u32 i = g * T::info.group; i < (g + 1) * T::info.group; ++i) {
          const lw_u32 at = first + i;
          sum += std::int64_t{quad_code(block.quad(at / 4), at % 4)} * plane[i];
          plain += plane[i];
          note(most.partial, sum);
        }
        const std::int64_t scaled = block.sub_scale(first / T::info.group + g) * sum;
        note(most.partial, scaled);
        J[p] += scaled;
        note(most.partial, J[p]);
        if (T::info.has_min) M[p] += block.sub_min(first / T::info.group + g) * plain;
        note(most.partial, M[p]);
      }
      note(most.largest, J[p]);
      note(most.largest_min, M[p]);
      EXPECT_EQ(trace.steps[step].sums[p], J[p]) << T::info.name << " k " << k << " plane " << p;
      if (T::info.has_min) {
        EXPECT_EQ(trace.steps[step + 1].sums[p], M[p]) << T::info.name << " k " << k;
      }
    }
    step += T::info.has_min ? 2 : 1;
  }
  return most;
}

// q of an element for which every plane is at its extreme on the side of `sign`.
std::int64_t extreme_q(Planes planes, bool positive) {
  if (planes == Planes::x8) return positive ? 127 : -127;
  if (planes == Planes::x16) return positive ? 126 * 256 + 127 : -126 * 256 - 128;
  return positive ? (126 * 256 + 127) * 256 + 127 : ((-126 * 256) - 128) * 256 - 128;
}

class Sums : public ::testing::TestWithParam<Format> {};

TEST_P(Sums, FitAtTheExtremes) {
  const FormatInfo& info = format_info(GetParam());
  const std::uint64_t cols = 1024;
  Random random(41);
  Attained most;
  for (const WeightFill fill : {WeightFill::largest, WeightFill::smallest, WeightFill::widest, WeightFill::mixed}) {
    const std::vector<std::uint8_t> weights = make_weights(GetParam(), 1, cols, fill, random);
    for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
      // Against the codes (twice, mirrored), all of one sign for the mins (twice).
      for (int side = 0; side < 4; ++side) {
        std::vector<float> x(cols);
        for (std::uint64_t k = 0; k < cols; ++k) {
          const oracle::Element e =
              oracle::element(static_cast<int>(info.id), weights.data(), static_cast<std::int64_t>(k));
          const bool with = side < 2 ? (e.code * e.sub_scale > 0) == (side == 0) : side == 2;
          x[k] = static_cast<float>(extreme_q(planes, with));
        }
        const Input input = input_of(x, 1);
        auto a = Activation::create(planes, 1, cols);
        ASSERT_TRUE(a.ok() && (*a)->set(input.view()).ok());
        ASSERT_EQ((*a)->natural(0).exponents[0], 0) << "x is to be its own q";
        const MatrixView w{GetParam(), 1, cols, weights.data()};
        const Trace trace = trace_scalar(w, **a, 0, 0);
        const Attained here = with_format(GetParam(), [&]<class T>(T) {
          if constexpr (T::info.is_float()) {
            return Attained{};
          } else {
            return attain<T>(weights, cols, planes, trace, (*a)->natural(0));
          }
        });
        most.largest = std::max(most.largest, here.largest);
        most.largest_min = std::max(most.largest_min, here.largest_min);
        most.partial = std::max(most.partial, here.partial);
        float y = 0, expected = 0;
        gemv_scalar(w, **a, {&y, Dtype::f32, 1}, 0, 1);
        const oracle::SumRange range =
            oracle::gemv(static_cast<int>(info.id), weights.data(), 1, static_cast<std::int64_t>(cols),
                         oracle_activation(input, planes), &expected);
        EXPECT_TRUE(range.fits);
        EXPECT_EQ(range.largest, std::max(here.largest, here.largest_min));
        EXPECT_EQ(std::memcmp(&y, &expected, 4), 0);
      }
    }
  }
  const Bounds b = bounds(info);
  EXPECT_LE(most.largest, b.codes * plane_most);
  EXPECT_LE(most.largest_min, b.mins * plane_most);
  EXPECT_LE(most.partial, std::max(b.codes, b.mins) * plane_most);
  EXPECT_LT(most.partial, int32_end);
  // A bound that nothing comes near would prove little: the blocks reach 9 tenths of it, the grids what their entries
  // hold.
  EXPECT_GE(static_cast<double>(most.largest), (info.has_grid ? 0.5 : 0.9) * static_cast<double>(b.codes * plane_most));
  if (info.has_min) {
    EXPECT_GE(static_cast<double>(most.largest_min), 0.9 * static_cast<double>(b.mins * plane_most));
  }
  RecordProperty("largest", std::to_string(most.largest));
}

INSTANTIATE_TEST_SUITE_P(Formats, Sums, ::testing::ValuesIn(code_formats()),
                         [](const auto& at) { return test_name(at.param); });

// ---- joining early ----

// At x16: J = 256 * J_h + J_l in int32 and one conversion give F(J) where S * 32512 fits int32 and S * 128 <= 2^24.
bool may_join(std::int64_t bound) { return bound * 32512 < int32_end && bound * plane_most <= (1 << 24); }

TEST(JoiningEarly, TheFormatsThatMay) {
  const std::map<Format, bool> table = {
      {Format::Q4_0, true},   {Format::Q4_1, true},     {Format::Q5_0, true},     {Format::Q5_1, true},
      {Format::Q8_0, true},   {Format::Q2_K, true},     {Format::Q3_K, true},     {Format::Q4_K, false},
      {Format::Q5_K, false},  {Format::Q6_K, false},    {Format::IQ2_XXS, false}, {Format::IQ2_XS, false},
      {Format::IQ2_S, false}, {Format::IQ3_XXS, false}, {Format::IQ3_S, false},   {Format::IQ1_S, true},
      {Format::IQ1_M, true},  {Format::IQ4_NL, true},   {Format::IQ4_XS, false},  {Format::TQ1_0, true},
      {Format::TQ2_0, true},  {Format::MXFP4, true},    {Format::NVFP4, true},    {Format::Q1_0, true},
      {Format::Q2_0, true}};
  ASSERT_EQ(table.size(), code_formats().size());
  for (const FormatInfo& info : formats()) {
    if (info.is_float()) continue;
    EXPECT_EQ(may_join(bounds(info).codes), table.at(info.format)) << info.name;
    if (info.has_min) {
      EXPECT_TRUE(may_join(bounds(info).mins)) << info.name << ": M";
    }
  }
}

// The table is no looser and no stricter than real blocks are: those that may give F(J) at their extremes and on random
// blocks; each that may not has a block whose joined sum passes int32.
TEST_P(Sums, JoinEarlyAsTheTableSays) {
  const FormatInfo& info = format_info(GetParam());
  const bool may = may_join(bounds(info).codes);
  const std::uint64_t cols = 1024;
  Random random(43);
  std::int64_t largest = 0;
  for (int round = 0; round < 40; ++round) {
    const WeightFill fill = std::array{WeightFill::largest, WeightFill::smallest, WeightFill::widest,
                                       WeightFill::tame}[static_cast<std::size_t>(round % 4)];
    const std::vector<std::uint8_t> weights = make_weights(GetParam(), 1, cols, fill, random);
    std::vector<float> x(cols);
    for (std::uint64_t k = 0; k < cols; ++k) {
      const oracle::Element e =
          oracle::element(static_cast<int>(info.id), weights.data(), static_cast<std::int64_t>(k));
      const std::int64_t q = round < 4 ? 32512 : random.between(round < 20 ? -32512 : 31000, 32512);
      x[k] = static_cast<float>(round < 20 && e.code * e.sub_scale < 0 ? -std::abs(q) : q);
    }
    x[0] = 32512;
    for (std::uint64_t k = 256; k < cols; k += 256) x[k] = 32512;
    const Input input = input_of(x, 1);
    auto a = Activation::create(Planes::x16, 1, cols);
    ASSERT_TRUE(a.ok() && (*a)->set(input.view()).ok());
    const Trace trace = trace_scalar({GetParam(), 1, cols, weights.data()}, **a, 0, 0);
    for (const TraceStep& step : trace.steps) {
      const std::int64_t joined = std::int64_t{256} * step.sums[1] + step.sums[0];
      if (!step.is_min) largest = std::max(largest, std::abs(joined));
      if (!may && !step.is_min) continue;
      ASSERT_LT(std::abs(joined), int32_end);
      const auto whole = static_cast<float>(static_cast<std::int32_t>(joined));
      ASSERT_EQ(std::bit_cast<std::uint32_t>(whole), std::bit_cast<std::uint32_t>(step.value))
          << info.name << " " << joined;
    }
  }
  if (!may) {
    EXPECT_GE(largest, int32_end) << info.name;
  }
}

}  // namespace
}  // namespace lanewise::trial
