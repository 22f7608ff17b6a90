// Sound kernels pass: every format, fill, plane count and type of x and y.
#include "harness/verify.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>

#include "arithmetic/scalar.h"
#include "harness/compare.h"

namespace lanewise {
namespace {

TEST(Verify, EveryFormatFillAndPlaneCountPasses) {
  std::uint64_t outputs = 0;
  std::uint64_t weights = 0;
  std::uint64_t mistrusted = 0;
  for (const Case& problem : standard_cases({}, {1, 3}, {Planes::x8, Planes::x16, Planes::x24})) {
    const Verdict verdict = verify_case(problem);
    EXPECT_TRUE(verdict.passed() || verdict.kind() == VerdictKind::mistrusted) << to_string(verdict);
    EXPECT_EQ(verdict.outputs.compared, problem.rows * problem.tokens);
    EXPECT_EQ(verdict.weights.compared, problem.rows * problem.cols);
    EXPECT_EQ(verdict.errors.rows, problem.rows);
    mistrusted += verdict.kind() == VerdictKind::mistrusted ? 1U : 0U;
    outputs += verdict.outputs.compared;
    weights += verdict.weights.compared;
  }
  EXPECT_LE(mistrusted, 5U) << "of 1344: the cases no longer test what they are for";
  EXPECT_GT(outputs, 10000U);
  EXPECT_GT(weights, 10000000U);
}

TEST(Verify, OrdinaryFillsAreTrusted) {
  for (const FormatInfo& info : formats()) {
    for (const Fill fill : {Fill::gauss, Fill::random, Fill::exact, Fill::cancel, Fill::wide}) {
      Case problem{info.format, 9, 3 * super_block, 2, Planes::x16, Layout::raw, {}, fill, 5, {}};
      const Verdict verdict = verify_case(problem);
      EXPECT_TRUE(verdict.passed()) << to_string(verdict);
    }
  }
}

TEST(Verify, ExactFillIsJudgedAsIntegersOnEveryFormat) {
  for (const FormatInfo& info : formats()) {
    for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
      Case problem{info.format, 9, 3 * super_block, 2, planes, Layout::raw, {}, Fill::exact, 5, {}};
      const Verdict verdict = verify_case(problem);
      EXPECT_TRUE(verdict.passed()) << to_string(verdict);
      EXPECT_EQ(verdict.errors.integers, 18U) << info.name;
    }
  }
}

TEST(Verify, EveryTypeOfXAndY) {
  for (const FormatInfo& info : formats()) {
    for (const Dtype input : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      for (const Dtype output : {Dtype::f16, Dtype::bf16}) {
        Case problem{info.format, 7,  2 * super_block, 4,     Planes::x16, Layout::raw, "scalar", Fill::gauss,
                     3,           {}, input,           output};
        const Verdict verdict = verify_case(problem);
        EXPECT_TRUE(verdict.passed()) << to_string(verdict);
        problem.fill = Fill::raw;
        EXPECT_NE(verify_case(problem).kind(), VerdictKind::failed) << to_string(verify_case(problem));
      }
    }
  }
}

TEST(Verify, AWindowIsAPrefixOfEveryLargerOne) {
  Case problem{Format::Q5_0, 40, 640, 1, Planes::x16, Layout::raw, {}, Fill::gauss, 3, {}};
  std::vector<std::uint8_t> bytes(MatrixView{problem.format, problem.rows, problem.cols, nullptr}.bytes());
  fill_weights(problem.format, problem.cols, problem.fill, problem.seed, 0, problem.rows, bytes.data());
  const std::uint64_t windows[] = {1, 8, 3};
  const auto verdicts = verify_windows({problem.format, problem.rows, problem.cols, bytes.data()}, problem, windows);
  ASSERT_EQ(verdicts.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(verdicts[i].passed()) << to_string(verdicts[i]);
    EXPECT_EQ(verdicts[i].outputs.compared, 40 * windows[i]);
    EXPECT_NE(verdicts[i].problem.find("tokens=" + std::to_string(windows[i])), std::string::npos);
  }
}

TEST(Verify, TheProblemStringOfAVerdictReproducesIt) {
  const Verdict first = verify_case({Format::IQ3_S, 9, 768, 2, Planes::x24, Layout::raw, {}, Fill::spikes, 77, {}});
  const auto problem = parse_case(first.problem);
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->kernel, first.kernel);
  EXPECT_TRUE(problem->kernel.starts_with("cpu.gemv.iq3_s.raw.x24.")) << problem->kernel;
  EXPECT_EQ(to_string(verify_case(*problem)), to_string(first));
}

TEST(Verify, ALargeMatrixSamplesFloat64AndSaysSo) {
  Case problem{Format::Q8_0, 4000, 64, 1, Planes::x16, Layout::raw, {}, Fill::gauss, 3, {}};
  VerifyOptions options;
  options.float64_terms = 64 * 100;
  const Verdict verdict = verify_case(problem, options);
  EXPECT_TRUE(verdict.passed()) << to_string(verdict);
  EXPECT_EQ(verdict.errors.rows, 100U);
  EXPECT_EQ(verdict.errors.rows_of, 4000U);
  EXPECT_NE(to_string(verdict).find("float64 on 100 of 4000 rows"), std::string::npos);
  EXPECT_EQ(verdict.outputs.compared, 4000U);
  EXPECT_EQ(verdict.weights.compared, 4000U * 64);
}

// Making the weights of a large case takes longer than anybody waits after an interrupt: it is stopped too.
TEST(Verify, StopsWhileWeightsAreMade) {
  const Case problem{Format::Q4_K, 65536, 65536, 1, Planes::x16, Layout::raw, {}, Fill::gauss, 3, {}};
  const std::atomic<bool> cancel{true};
  VerifyOptions options;
  options.cancel = &cancel;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(verify_case(problem, options).kind(), VerdictKind::cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Verify, WhatCannotRunIsAnErrorNotAPass) {
  Case problem{Format::Q4_K, 4, 256, 1, Planes::x16, Layout::raw, "fastest", Fill::gauss, 3, {}};
  Verdict verdict = verify_case(problem);
  EXPECT_EQ(verdict.kind(), VerdictKind::error);
  EXPECT_NE(to_string(verdict).find("fastest"), std::string::npos);
  problem.kernel.clear();
  problem.cols = 255;
  EXPECT_EQ(verify_case(problem).kind(), VerdictKind::error);
  problem.cols = 256;
  problem.tensor = "blk.0.weight";
  EXPECT_EQ(verify_case(problem).kind(), VerdictKind::error);
  EXPECT_EQ(Verdict{}.kind(), VerdictKind::error) << "a verdict that compared nothing";
}

TEST(Mistrust, AllZeroWeightsAndConstantReferences) {
  const std::uint64_t tokens[] = {2};
  Case problem{Format::F32, 8, 256, 2, Planes::x16, Layout::raw, {}, Fill::gauss, 3, "zeros"};
  std::vector<float> w(8 * 256, 0.0F);
  const MatrixView view{Format::F32, 8, 256, reinterpret_cast<const std::uint8_t*>(w.data())};
  Verdict verdict = verify_windows(view, problem, tokens).front();
  EXPECT_EQ(verdict.kind(), VerdictKind::mistrusted);
  EXPECT_NE(verdict.mistrusted.find("16 of 16 outputs are zero"), std::string::npos) << verdict.mistrusted;

  for (std::size_t k = 0; k < w.size(); ++k) w[k] = static_cast<float>(k % 256);
  verdict = verify_windows(view, problem, tokens).front();
  EXPECT_EQ(verdict.kind(), VerdictKind::mistrusted);
  EXPECT_EQ(verdict.mistrusted, "the reference is constant");

  w[0] = 5;  // one row differs: no longer constant
  EXPECT_TRUE(verify_windows(view, problem, tokens).front().passed());

  for (std::size_t k = 0; k < 5 * 256; ++k) w[k] = __builtin_nanf("");
  verdict = verify_windows(view, problem, tokens).front();
  EXPECT_EQ(verdict.mistrusted, "10 of 16 outputs are NaN or infinite");
}

TEST(Mistrust, ABoundAsLargeAsTheTerms) {
  // x8, one element 1000 times the others, and the weights at that element zero: q of the others is 0.
  std::vector<float> w(4 * 256, 1.0F);
  Case problem{Format::Q8_0, 4, 256, 1, Planes::x8, Layout::raw, {}, Fill::wide, 3, "loose"};
  std::vector<std::uint8_t> bytes(4 * 8 * 34, 0);
  std::vector<float> x(256);
  fill_x(Format::Q8_0, 1, 256, Fill::wide, 3, Dtype::f32, x.data());
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t k = 0; k < 256; ++k) {
      std::uint8_t* block = bytes.data() + (row * 8 + k / 32) * 34;
      block[1] = 0x3C;  // d = 1
      if (std::fabs(x[k]) < 10.0F) block[2 + k % 32] = static_cast<std::uint8_t>(1 + (k + row) % 3);
    }
  }
  const std::uint64_t tokens[] = {1};
  const Verdict verdict = verify_windows({Format::Q8_0, 4, 256, bytes.data()}, problem, tokens).front();
  EXPECT_EQ(verdict.kind(), VerdictKind::mistrusted) << to_string(verdict);
}

// Deterministic to the bit on every machine: these bytes are part of what a problem string means.
TEST(Fill, IsTheSameEverywhere) {
  std::vector<std::uint8_t> all;
  for (const FormatInfo& info : formats()) {
    for (const Fill fill : all_fills) {
      std::vector<std::uint8_t> bytes(MatrixView{info.format, 4, 512, nullptr}.bytes());
      fill_weights(info.format, 512, fill, 9, 0, 4, bytes.data());
      all.insert(all.end(), bytes.begin(), bytes.end());
      std::vector<float> x(2 * 512);
      fill_x(info.format, 2, 512, fill, 9, Dtype::f32, x.data());
      const auto* raw = reinterpret_cast<const std::uint8_t*>(x.data());
      all.insert(all.end(), raw, raw + x.size() * sizeof(float));
    }
  }
  const Fingerprint hash = fingerprint(all);
  EXPECT_EQ(hash.high, 1071231378268174264U);
  EXPECT_EQ(hash.low, 11284368290770791323U);
}

TEST(Fill, RowsAndTokensAreIndependentOfHowManyAreMade) {
  for (const FormatInfo& info : formats()) {
    for (const Fill fill : all_fills) {
      const MatrixView shape{info.format, 6, 512, nullptr};
      std::vector<std::uint8_t> whole(shape.bytes());
      std::vector<std::uint8_t> parts(shape.bytes());
      fill_weights(info.format, 512, fill, 9, 0, 6, whole.data());
      fill_weights(info.format, 512, fill, 9, 4, 6, parts.data());
      fill_weights(info.format, 512, fill, 9, 0, 4, parts.data());
      EXPECT_EQ(whole, parts) << info.name << " " << fill_name(fill);
      std::vector<std::uint32_t> three(3 * 512);
      std::vector<std::uint32_t> two(2 * 512);
      fill_x(info.format, 3, 512, fill, 9, Dtype::f32, three.data());
      fill_x(info.format, 2, 512, fill, 9, Dtype::f32, two.data());
      three.resize(two.size());
      EXPECT_EQ(three, two);
    }
  }
}

}  // namespace
}  // namespace lanewise
