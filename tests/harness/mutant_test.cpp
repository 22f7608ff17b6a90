// The comparator itself: faults planted in a kernel must be caught on every format, and a sound kernel must not be.
#include "harness/mutant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "arithmetic/scalar.h"
#include "harness/compare.h"
#include "oracle/oracle.h"

namespace lanewise {
namespace {

constexpr std::uint64_t rows = 6;
constexpr std::uint64_t cols = 4 * super_block;
constexpr std::uint64_t tokens = 2;

// The W and x of a case, as verify_case makes them.
struct Inputs {
  explicit Inputs(const Case& problem)
      : bytes(MatrixView{problem.format, problem.rows, problem.cols, nullptr}.bytes()),
        x(problem.tokens * problem.cols) {
    fill_weights(problem.format, problem.cols, problem.fill, problem.seed, 0, problem.rows, bytes.data());
    fill_x(problem.format, problem.tokens, problem.cols, problem.fill, problem.seed, Dtype::f32, x.data());
    w = {problem.format, problem.rows, problem.cols, bytes.data()};
  }
  std::vector<std::uint8_t> bytes;
  std::vector<float> x;
  MatrixView w;
};

Case gauss_case(Format format, Planes planes = Planes::x16) {
  return {format, rows, cols, tokens, planes, Layout::raw, {}, Fill::gauss, 11, {}};
}

Launch scalar_with(std::function<void(const MatrixView&, const OutputView&)> extra) {
  return [extra = std::move(extra)](const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t begin,
                                    std::uint64_t end) {
    gemv_scalar(w, x, y, begin, end);
    extra(w, y);
  };
}

Verdict verify_with(const Case& problem, Launch launch) {
  VerifyOptions options;
  options.replacement = std::move(launch);
  return verify_case(problem, options);
}

TEST(Mutants, TheControlPassesOnEveryFormat) {
  for (const FormatInfo& info : formats()) {
    const Verdict verdict = verify_with(gauss_case(info.format), &gemv_scalar);
    EXPECT_TRUE(verdict.passed()) << to_string(verdict);
    EXPECT_EQ(verdict.against_scalar.compared, rows * tokens);
  }
}

TEST(Mutants, EveryFaultIsCaughtOnEveryFormatByTheBits) {
  std::uint64_t caught = 0;
  for (const FormatInfo& info : formats()) {
    for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
      const Case problem = gauss_case(info.format, planes);
      const Inputs inputs(problem);
      for (const Fault fault : all_faults) {
        const auto mutant = make_mutant(fault, inputs.w, inputs.x.data(), tokens, planes);
        ASSERT_TRUE(mutant) << info.name << ": " << mutant.error().message;
        const Verdict verdict = verify_with(problem, mutant->launch);
        EXPECT_EQ(verdict.kind(), VerdictKind::failed) << fault_name(fault) << ": " << to_string(verdict);
        EXPECT_GT(verdict.outputs.differing, 0U) << fault_name(fault) << ": " << to_string(verdict);
        EXPECT_EQ(verdict.outputs.differing, verdict.against_scalar.differing);
        EXPECT_FALSE(verdict.failure().empty());
        if (fault != Fault::all_rows_scaled && fault != Fault::last_block_dropped) {
          const std::uint64_t most = (fault == Fault::rows_swapped ? 2 : 1) * tokens;
          EXPECT_LE(verdict.outputs.differing, most) << fault_name(fault) << ": only its rows are wrong";
          ASSERT_TRUE(verdict.outputs.first.has_value());
          EXPECT_EQ(verdict.outputs.first->row, fault == Fault::rows_swapped ? mutant->row - 1 : mutant->row);
        }
        EXPECT_EQ(verdict.unwritten, fault == Fault::row_not_written ? tokens : 0) << fault_name(fault);
        EXPECT_EQ(verdict.weights.differing, 0U);
        caught += verdict.kind() == VerdictKind::failed ? 1U : 0U;
      }
    }
  }
  EXPECT_EQ(caught, formats().size() * 3 * all_faults.size());
}

// Apart from the bits: what the bound must see. x24, whose bound is tightest. Of a fault of one weight that is so small
// that the bound may hide it (the last bit of a bf16 or f16 weight, whose x has 13 or 16 bits), the fault's size in
// float64 against twice the bound says whether it must be seen.
TEST(Mutants, EveryFaultIsCaughtOnEveryFormatByTheBound) {
  std::map<Fault, int> visible;
  for (const FormatInfo& info : formats()) {
    const Case problem = gauss_case(info.format, Planes::x24);
    const Inputs inputs(problem);
    const auto id = static_cast<int>(info.id);
    const oracle::Activation x = oracle::activate(inputs.x.data(), oracle::Input::fp32, tokens, cols, 3);
    for (const Fault fault : all_faults) {
      const auto mutant = make_mutant(fault, inputs.w, inputs.x.data(), tokens, problem.planes);
      ASSERT_TRUE(mutant);
      bool must_show = true;
      if (fault == Fault::code_off_by_one || fault == Fault::sign_flipped || fault == Fault::last_block_dropped ||
          fault == Fault::neighbours_scale) {
        const std::uint8_t* row = inputs.w.row(mutant->row);
        double moved = 0;  // in token 0
        for (std::uint64_t k = 0; k < cols; ++k) {
          const auto at = static_cast<std::int64_t>(k);
          const double held = oracle::weight(id, row, at);
          double wrong = held;
          if (!mutant->weights.empty()) wrong = oracle::weight(id, mutant->weights.data(), at);
          if (fault == Fault::sign_flipped && k == mutant->element) wrong = -held;
          if (fault == Fault::last_block_dropped && k >= mutant->element) wrong = 0;
          moved += (wrong - held) * static_cast<double>(inputs.x[k]);
        }
        const oracle::Exact exact = oracle::exact(id, row, cols, x, 0);
        must_show = std::fabs(moved) > 2 * exact.bound;
      }
      visible[fault] += must_show ? 1 : 0;
      const Verdict verdict = verify_with(problem, mutant->launch);
      if (must_show) {
        EXPECT_GT(verdict.errors.outside, 0U) << fault_name(fault) << ": " << to_string(verdict);
        EXPECT_GT(verdict.errors.worst_ratio, 1) << fault_name(fault);
      }
    }
  }
  const auto count = static_cast<int>(formats().size());
  for (const Fault fault : all_faults) {
    const bool may_hide = fault == Fault::code_off_by_one || fault == Fault::last_block_dropped;
    EXPECT_GE(visible[fault], may_hide ? count - 3 : count) << fault_name(fault);
  }
}

TEST(Mutants, NoRoomIsAnError) {
  const Case problem{Format::Q4_0, 1, 256, 1, Planes::x16, Layout::raw, {}, Fill::gauss, 11, {}};
  const Inputs inputs(problem);
  EXPECT_FALSE(make_mutant(Fault::rows_swapped, inputs.w, inputs.x.data(), 1, Planes::x16));
}

TEST(Comparator, EqualNaNsAreEqualOthersAreNot) {
  const float nan = std::bit_cast<float>(canonical_nan);
  const auto compare = [](std::uint32_t got, float expected) {
    BitCount count;
    std::uint64_t unwritten = 0;
    compare_outputs({&got, Dtype::f32, 1}, {&expected, Dtype::f32, 1}, 1, 0, 1, count, unwritten);
    EXPECT_EQ(count.compared, 1U);
    return std::pair(count.differing, unwritten);
  };
  EXPECT_EQ(compare(canonical_nan, nan), std::pair(std::uint64_t{0}, std::uint64_t{0}));
  EXPECT_EQ(compare(0xFFC00000U, nan).first, 1U) << "a NaN with a sign isn't the canonical one";
  EXPECT_EQ(compare(0x7FC00001U, nan).first, 1U) << "nor one with a payload";
  EXPECT_EQ(compare(0U, 0.0F).first, 0U);
  EXPECT_EQ(compare(0x80000000U, 0.0F).first, 1U) << "-0 for +0";
  EXPECT_EQ(compare(0U, -0.0F).first, 1U);
  EXPECT_EQ(compare(0x3F800001U, 1.0F).first, 1U) << "one unit in the last place";
  const auto poisoned = compare(poison_bits(Dtype::f32), nan);
  EXPECT_EQ(poisoned.first, 1U);
  EXPECT_EQ(poisoned.second, 1U);
}

TEST(Comparator, NarrowOutputsAreComparedAsTheyAreStored) {
  const float expected[] = {65520.0F, 1.0F, 5.9604644775390625e-8F, std::bit_cast<float>(canonical_nan)};
  const std::uint16_t halves[] = {0x7C00, 0x3C00, 0x0001, 0x7E00};
  const std::uint16_t bfloats[] = {0x4780, 0x3F80, 0x3380, 0x7FC0};
  for (const auto& [dtype, held] : {std::pair{Dtype::f16, halves}, std::pair{Dtype::bf16, bfloats}}) {
    BitCount count;
    std::uint64_t unwritten = 0;
    std::uint16_t got[4];
    std::copy(held, held + 4, got);
    float reference[4];
    std::copy(expected, expected + 4, reference);
    compare_outputs({got, dtype, 4}, {reference, Dtype::f32, 4}, 1, 0, 4, count, unwritten);
    EXPECT_EQ(count.compared, 4U);
    EXPECT_EQ(count.differing, 0U);
    got[2] ^= 1;
    compare_outputs({got, dtype, 4}, {reference, Dtype::f32, 4}, 1, 0, 4, count, unwritten);
    EXPECT_EQ(count.differing, 1U);
    EXPECT_EQ(count.differing_bits, 1U);
    EXPECT_EQ(count.first->row, 2U);
  }
}

TEST(Comparator, FirstDifferenceIsByRowThenToken) {
  BitCount whole;
  BitCount a;
  BitCount b;
  note_bits(a, {7, 0, 0, 1, 2, false});
  note_bits(b, {3, 1, 0, 1, 2, false});
  note_bits(b, {5, 0, 0, 1, 1, false});
  add(whole, a);
  add(whole, b);
  EXPECT_EQ(whole.compared, 3U);
  EXPECT_EQ(whole.differing, 2U);
  EXPECT_EQ(whole.differing_bits, 4U);
  EXPECT_EQ(whole.first->row, 3U);
  EXPECT_EQ(whole.first->token, 1U);
}

TEST(Comparator, AnUnwrittenOutputIsCaughtWhereTheReferenceIsNaNToo) {
  Case problem{Format::F32, 4, 256, 4, Planes::x16, Layout::raw, {}, Fill::raw, 11, {}};  // token 3 is poisoned
  const Verdict verdict = verify_with(problem, [](const MatrixView& w, const Activation& x, const OutputView& y,
                                                  std::uint64_t begin, std::uint64_t end) {
    gemv_scalar(w, x, y, begin, end);
    const std::uint32_t poison = poison_bits(Dtype::f32);
    if (begin <= 2 && 2 < end) std::memcpy(static_cast<float*>(y.data) + 3 * y.stride + 2, &poison, sizeof poison);
  });
  EXPECT_EQ(verdict.kind(), VerdictKind::failed);
  EXPECT_EQ(verdict.unwritten, 1U);
  EXPECT_EQ(verdict.outputs.first->row, 2U);
  EXPECT_EQ(verdict.outputs.first->token, 3U);
}

TEST(Comparator, StrayWritesAreCaught) {
  const Case problem = gauss_case(Format::Q4_0);
  const auto stray = [&](std::ptrdiff_t element) {
    return verify_with(problem, scalar_with([element](const MatrixView&, const OutputView& y) {
                         static_cast<float*>(y.data)[element] = 1.0F;
                       }));
  };
  const auto stride = static_cast<std::ptrdiff_t>(rows + 3);
  for (const std::ptrdiff_t element : {std::ptrdiff_t{-1}, std::ptrdiff_t{-900}, static_cast<std::ptrdiff_t>(rows),
                                       2 * stride - 1, 2 * stride, 2 * stride + 900}) {
    const Verdict verdict = stray(element);
    EXPECT_EQ(verdict.kind(), VerdictKind::failed) << element;
    EXPECT_EQ(verdict.red_zone_bytes, 4U) << element;
    EXPECT_EQ(verdict.outputs.differing, 0U) << element;
    EXPECT_NE(verdict.failure().find("outside the outputs"), std::string::npos);
  }
}

TEST(Comparator, ChangedWeightsAreCaught) {
  const Case problem = gauss_case(Format::Q4_0);
  const Verdict verdict = verify_with(problem, scalar_with([](const MatrixView& w, const OutputView&) {
                                        const_cast<std::uint8_t*>(w.data)[w.bytes() - 1] ^= 1U;
                                      }));
  EXPECT_EQ(verdict.kind(), VerdictKind::failed);
  EXPECT_TRUE(verdict.inputs_changed);
  const Verdict before = verify_with(problem, scalar_with([](const MatrixView& w, const OutputView&) {
                                       const_cast<std::uint8_t*>(w.data)[-1] ^= 1U;
                                     }));
  EXPECT_EQ(before.kind(), VerdictKind::failed);
  EXPECT_EQ(before.red_zone_bytes, 1U);
}

TEST(Comparator, ReadingPastTheWeightsStopsTheProcess) {
  const Case problem = gauss_case(Format::Q4_0);
  EXPECT_DEATH(verify_with(problem, scalar_with([](const MatrixView& w, const OutputView& y) {
                             static_cast<float*>(y.data)[0] = static_cast<float>(*(w.data + w.bytes()));
                           })),
               "");
}

TEST(Comparator, AWrongDecodingOrActivationFails) {
  Verdict verdict;
  verdict.outputs.compared = 1;
  EXPECT_TRUE(verdict.passed());
  verdict.weights = {5, 1, 1, Difference{1, 0, 3, 1, 2, false}};
  EXPECT_EQ(verdict.kind(), VerdictKind::failed);
  EXPECT_NE(verdict.failure().find("row 1, element 3"), std::string::npos);
  verdict.weights = {};
  verdict.activation = {5, 1, 1, Difference{0, 2, 3, 1, 2, false}};
  EXPECT_EQ(verdict.kind(), VerdictKind::failed);
  EXPECT_NE(verdict.failure().find("token 2, element 3"), std::string::npos);
  verdict.activation = {};
  verdict.sums_fit = false;
  EXPECT_EQ(verdict.kind(), VerdictKind::failed);
  verdict.sums_fit = true;
  verdict.errors.not_exact = 1;
  EXPECT_EQ(verdict.kind(), VerdictKind::failed);
  verdict.errors = {};
  verdict.mistrusted = "why";
  EXPECT_EQ(verdict.kind(), VerdictKind::mistrusted);
}

TEST(Fences, KeepExactSizesAndNoticeEveryByteAround) {
  for (const Fence fence : {Fence::page, Fence::canary}) {
    for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{17}, std::uint64_t{4096}, std::uint64_t{10001}}) {
      auto made = Fenced::create(bytes, fence);
      ASSERT_TRUE(made);
      EXPECT_EQ(made->size(), bytes);
      std::memset(made->data(), 0xAB, bytes);
      EXPECT_EQ(made->damaged(), 0U);
      made->data()[-1] ^= 1U;
      EXPECT_EQ(made->damaged(), 1U);
      if (fence == Fence::canary) {
        made->data()[bytes] ^= 0x80U;
        EXPECT_EQ(made->damaged(), 2U);
      }
    }
  }
  EXPECT_FALSE(Fenced::create(UINT64_MAX, Fence::page));
}

}  // namespace
}  // namespace lanewise
