#include "harness/stages.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "harness/digest.h"
#include "harness/fill.h"

namespace lanewise {
namespace {

struct Traced {
  Trace ours;
  oracle::Trace theirs;
};

Traced traced(Format format, Planes planes, Fill fill, std::uint64_t token = 0) {
  constexpr std::uint64_t cols = 5 * super_block;
  constexpr std::uint64_t tokens = 4;
  std::vector<std::uint8_t> bytes(MatrixView{format, 2, cols, nullptr}.bytes());
  std::vector<float> x(tokens * cols);
  fill_weights(format, cols, fill, 21, 0, 2, bytes.data());
  fill_x(format, tokens, cols, fill, 21, Dtype::f32, x.data());
  auto activation = Activation::create(planes, tokens, cols);
  EXPECT_TRUE(activation);
  EXPECT_TRUE((*activation)->set({x.data(), Dtype::f32, tokens, cols, cols}));
  const MatrixView w{format, 2, cols, bytes.data()};
  const auto reference =
      oracle::activate(x.data(), oracle::Input::fp32, tokens, cols, static_cast<int>(plane_count(planes)));
  return {trace_scalar(w, **activation, 1, token), oracle::trace(static_cast<int>(format_info(format).id), w.row(1),
                                                                 cols, reference, static_cast<std::int64_t>(token))};
}

TEST(Stages, TheScalarKernelAndTheOracleAgreeInEveryStage) {
  for (const FormatInfo& info : formats()) {
    for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
      for (const Fill fill : all_fills) {
        for (const std::uint64_t token : {0U, 3U}) {
          const Traced t = traced(info.format, planes, fill, token);
          const StageDifference found = compare_traces(t.ours, t.theirs, info.format);
          EXPECT_FALSE(found.found()) << info.name << " " << fill_name(fill) << ": " << to_string(found);
          EXPECT_FALSE(compare_traces(t.ours, t.ours).found());
          EXPECT_TRUE(t.ours.poisoned || !t.ours.steps.empty());
        }
      }
    }
  }
  EXPECT_EQ(to_string(StageDifference{}), "the traces agree");
}

TEST(Stages, NamesTheStageThatWasTamperedWith) {
  const Traced t = traced(Format::Q4_K, Planes::x16, Fill::gauss);
  const auto stage = [&](const std::function<void(Trace&)>& tamper) {
    Trace other = t.ours;
    tamper(other);
    const StageDifference against_oracle = compare_traces(other, t.theirs, Format::Q4_K);
    const StageDifference against_itself = compare_traces(other, t.ours);
    EXPECT_EQ(against_oracle.stage, against_itself.stage);
    EXPECT_EQ(against_oracle.k, against_itself.k);
    EXPECT_NE(to_string(against_oracle).find(stage_name(against_oracle.stage)), std::string::npos);
    return std::pair(against_oracle.stage, against_oracle.k);
  };
  using Found = std::pair<Stage, std::uint64_t>;
  // Step 2n is the d term of super-block n, step 2n+1 its m term.
  EXPECT_EQ(stage([](Trace& o) { o.poisoned = true; }), Found(Stage::poisoned, 0));
  EXPECT_EQ(stage([](Trace& o) { ++o.exponents[2]; }), Found(Stage::e, 512));
  EXPECT_EQ(stage([](Trace& o) { --o.q[700]; }), Found(Stage::q, 700));
  EXPECT_EQ(stage([](Trace& o) { ++o.steps[4].sums[1]; }), Found(Stage::J, 512));
  EXPECT_EQ(stage([](Trace& o) { ++o.steps[5].sums[0]; }), Found(Stage::M, 512));
  EXPECT_EQ(stage([](Trace& o) { o.steps[4].value += 256; }), Found(Stage::F, 512));
  EXPECT_EQ(stage([](Trace& o) { o.steps[5].scale *= 2; }), Found(Stage::d, 512));
  EXPECT_EQ(stage([](Trace& o) { o.steps[4].term = -o.steps[4].term; }), Found(Stage::term, 512));
  EXPECT_EQ(stage([](Trace& o) { o.steps[4].accumulator += 1; }), Found(Stage::accumulator, 512));
  EXPECT_EQ(stage([](Trace& o) { o.steps[6].v = 1; }), Found(Stage::place, 768));
  EXPECT_EQ(stage([](Trace& o) { o.steps.pop_back(); }), Found(Stage::steps, 0));
  EXPECT_EQ(stage([](Trace& o) { o.eighth_sums[3] += 1; }), Found(Stage::r, 0));
  EXPECT_EQ(stage([](Trace& o) { o.y += 1; }), Found(Stage::y, 0));
  // The first of two.
  EXPECT_EQ(stage([](Trace& o) { o.y += 1, ++o.q[9], ++o.steps[0].sums[0]; }), Found(Stage::q, 9));
}

TEST(Stages, FloatWeights) {
  const Traced t = traced(Format::F16, Planes::x16, Fill::gauss);
  const auto stage = [&](const std::function<void(Trace&)>& tamper) {
    Trace other = t.ours;
    tamper(other);
    return compare_traces(other, t.theirs, Format::F16).stage;
  };
  EXPECT_EQ(stage([](Trace& o) { o.xq[5] *= 2; }), Stage::q);
  EXPECT_EQ(stage([](Trace& o) { o.steps[5].term *= 2; }), Stage::term);
}

TEST(Digest, IsTheSameEverywhereAndTellsTensorsApart) {
  const std::vector<float> x = digest_x(2, 3);
  EXPECT_EQ(x, digest_x(2, 3));
  // SplitMix64's first number for seed 0, as published; its parts sum to 185125.
  EXPECT_EQ(Random(0).next(), 0xE220A8397B1DCDAFU);
  EXPECT_EQ(x[0], 54055.0F / 32768);
  std::vector<std::uint8_t> bytes(MatrixView{Format::Q4_K, 16, 512, nullptr}.bytes());
  fill_weights(Format::Q4_K, 512, Fill::gauss, 1, 0, 16, bytes.data());
  const MatrixView w{Format::Q4_K, 16, 512, bytes.data()};
  const auto first = digest_matrix(w, 2, Planes::x16);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(to_string(*first), "5d6f8c91b9a8e1caf3c2e4605750f1e4");
  EXPECT_EQ(*digest_matrix(w, 2, Planes::x16, "scalar"), *first);
  VerifyOptions three;
  three.threads = 3;
  EXPECT_EQ(*digest_matrix(w, 2, Planes::x16, {}, three), *first);
  EXPECT_FALSE(*digest_matrix(w, 1, Planes::x16) == *first);
  EXPECT_FALSE(*digest_matrix(w, 2, Planes::x24) == *first);
  bytes[20] ^= 1U;
  EXPECT_FALSE(*digest_matrix(w, 2, Planes::x16) == *first);
  EXPECT_FALSE(digest_matrix(w, 2, Planes::x16, "none such"));

  ModelDigest model;
  model.add("a", {1, 2});
  const Fingerprint one = model.result();
  model.add("b", {3, 4});
  EXPECT_FALSE(model.result() == one);
  std::vector<std::uint8_t> hashed(18, 0);  // "a", 0, then 2 and 1 as big-endian halves
  hashed[0] = 'a';
  hashed[9] = 2;
  hashed[17] = 1;
  EXPECT_EQ(one, fingerprint(hashed));
  EXPECT_EQ(to_string(Fingerprint{0x1, 0xABC}), "0000000000000abc0000000000000001");
}

}  // namespace
}  // namespace lanewise
