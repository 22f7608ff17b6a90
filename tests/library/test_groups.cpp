// Groups and experts: the bits of single calls, for every format.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>

#include "library/experts.h"
#include "library/support.h"

namespace lanewise::test {
namespace {

Floats single(const lw::Device& device, const lw::Matrix& w, const Floats& x) {
  Floats y(w.rows());
  lw::gemv(device, w, lw::Activation(device, x, w.cols()), y);
  return y;
}

Floats token_of(const Floats& x, std::uint64_t token, std::uint64_t cols) {
  const auto first = x.begin() + static_cast<std::ptrdiff_t>(token * cols);
  return {first, first + static_cast<std::ptrdiff_t>(cols)};
}

class Groups : public testing::TestWithParam<FormatInfo> {};

// q|k|v woven into one array, as engines lay them out.
TEST_P(Groups, AGroupIsBitEqualToSingleCalls) {
  const FormatInfo& info = GetParam();
  const std::uint64_t cols = odd_cols(info);
  constexpr std::uint64_t tokens = 3;
  constexpr std::array<std::uint64_t, 4> rows = {40, 0, 17, 33};
  constexpr std::uint64_t all_rows = 40 + 17 + 33;
  const Floats x = make_x(tokens * cols, 1);
  for (const std::uint32_t threads : {1u, 3u}) {
    const lw::Device device({.threads = threads});
    cut_small_products(device);
    const lw::Activation activation(device, x, cols);
    std::vector<Weights> weights;
    weights.reserve(rows.size());
    std::vector<const lw_matrix*> matrices;
    std::vector<lw_output> ys;
    Floats y(tokens * all_rows, untouched());
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      weights.emplace_back(device, info, rows[i], cols, i + 2);
      matrices.push_back(weights.back().matrix.get());
      ys.push_back({y.data() + first, LW_DTYPE_F32, all_rows});
      first += rows[i];
    }
    lw::gemv_group(device, matrices, activation, ys);
    EXPECT_EQ(count_untouched(y), 0u);
    for (std::uint64_t t = 0; t < tokens; ++t) {
      std::uint64_t at = t * all_rows;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const Floats alone = single(device, weights[i].matrix, token_of(x, t, cols));
        EXPECT_TRUE(is_telling(alone));
        EXPECT_TRUE(same_bits({y.data() + at, rows[i]}, alone)) << info.name << " matrix " << i << " token " << t;
        at += rows[i];
      }
    }
  }
}

TEST_P(Groups, ExpertsAreBitEqualToSingleCalls) {
  const FormatInfo& info = GetParam();
  const std::uint64_t cols = odd_cols(info);
  constexpr std::uint64_t tokens = 5;
  constexpr std::uint64_t used = 3;
  constexpr std::uint64_t rows = 21;
  constexpr std::uint64_t stride = rows + 2;
  // One expert of all tokens, one of none, and one twice in the same token.
  const std::array<std::int32_t, tokens* used> ids = {4, 0, 1, 1, 4, 4, 5, 4, 0, 0, 1, 4, 4, 5, 0};
  const Floats x = make_x(tokens * cols, 7);
  for (const std::uint32_t threads : {1u, 3u}) {
    const lw::Device device({.threads = threads});
    cut_small_products(device);
    const lw::Activation activation(device, x, cols);
    std::vector<Weights> weights;
    std::vector<const lw_matrix*> matrices;
    for (std::uint64_t i = 0; i < 6; ++i) {
      weights.emplace_back(device, info, rows, cols, i + 10);
      matrices.push_back(weights.back().matrix.get());
    }
    Floats y(ids.size() * stride, untouched());
    lw::gemv_experts(device, matrices, activation, ids, lw::Output(y, stride));
    EXPECT_EQ(count_untouched(y), ids.size() * 2);
    for (std::size_t p = 0; p < ids.size(); ++p) {
      const Floats alone =
          single(device, weights[static_cast<std::size_t>(ids[p])].matrix, token_of(x, p / used, cols));
      EXPECT_TRUE(same_bits({y.data() + p * stride, rows}, alone)) << info.name << " place " << p;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Groups, testing::ValuesIn(formats().begin(), formats().end()),
                         [](const auto& format) { return std::string(format.param.name); });

TEST(GroupsShape, AGroupMayMixFormatsAndTypesOfY) {
  const lw::Device device({.threads = 2});
  cut_small_products(device);
  const Floats x = make_x(512, 1);
  const lw::Activation activation(device, x, 512);
  const Weights q(device, *find_format("q4_K"), 20, 512, 1);
  const Weights k(device, *find_format("f16"), 30, 512, 2);
  Floats y(20);
  std::vector<std::uint16_t> narrow(30), alone(30);
  const std::array<const lw_matrix*, 2> matrices = {q.matrix.get(), k.matrix.get()};
  const std::array<lw_output, 2> ys = {lw_output{y.data(), LW_DTYPE_F32, 0},
                                       lw_output{narrow.data(), LW_DTYPE_BF16, 0}};
  lw::gemv_group(device, matrices, activation, ys);
  EXPECT_TRUE(same_bits(y, single(device, q.matrix, x)));
  lw::gemv(device, k.matrix, activation, {alone, LW_DTYPE_BF16});
  EXPECT_EQ(narrow, alone);
}

TEST(GroupsShape, EmptyGroupsAndNoExpertsSucceed) {
  const lw::Device device({.threads = 2});
  cut_small_products(device);
  const lw::Activation activation(device, make_x(512, 1), 512);
  const Weights w(device, *find_format("q4_K"), 4, 512, 1);
  EXPECT_EQ(lw_gemv_group(device.get(), 0, nullptr, activation.get(), nullptr, nullptr), LW_OK);
  const lw_matrix* const matrices[] = {w.matrix.get()};
  const lw_output nothing = {nullptr, LW_DTYPE_F32, 0};
  EXPECT_EQ(lw_gemv_experts(device.get(), 1, matrices, activation.get(), nullptr, 0, nothing, nullptr), LW_OK);
  EXPECT_EQ(lw_gemv_experts(device.get(), 0, nullptr, activation.get(), nullptr, 0, nothing, nullptr), LW_OK);
}

// More tokens an expert than one launch takes, and more experts than one walk looks at.
TEST(GroupsShape, ManyTokensAndManyExperts) {
  constexpr std::uint64_t tokens = 300;
  constexpr std::uint64_t rows = 19;
  constexpr std::uint64_t cols = 32;
  constexpr std::uint64_t count = 2 * edge::ExpertIds::window + 7;
  const FormatInfo& info = *find_format("q8_0");
  const Floats x = make_x(tokens * cols, 1);
  const lw::Device device({.threads = 3});
  cut_small_products(device);
  const lw::Activation activation(device, x, cols);
  const Bytes bytes = make_weights(info, count * rows, cols, 2);
  const std::uint64_t each = rows * row_bytes(info, cols);
  std::vector<lw::Matrix> matrices;
  std::vector<const lw_matrix*> raw;
  for (std::uint64_t i = 0; i < count; ++i) {
    matrices.emplace_back(device, LW_Q8_0, rows, cols, std::span(bytes).subspan(i * each, each));
    raw.push_back(matrices.back().get());
  }
  std::vector<std::int32_t> ids;
  for (std::uint64_t t = 0; t < tokens; ++t) {
    ids.push_back(1030);  // all 300 tokens: three batches
    ids.push_back(static_cast<std::int32_t>(t * 977 % count));
  }
  Floats y(ids.size() * rows, untouched());
  lw::gemv_experts(device, raw, activation, ids, y);
  for (std::size_t p = 0; p < ids.size(); ++p) {
    const Floats alone = single(device, matrices[static_cast<std::size_t>(ids[p])], token_of(x, p / 2, cols));
    ASSERT_TRUE(same_bits({y.data() + p * rows, rows}, alone)) << "place " << p;
  }
}

// Each row of each distinct expert goes to the kernel once for all its tokens: not once a token.
TEST(GroupsShape, AnExpertIsWalkedOnceForAllItsTokens) {
  std::vector<std::int32_t> ids;
  for (int t = 0; t < 8; ++t) {
    ids.push_back(3);
    ids.push_back(t % 2);
  }
  const edge::ExpertIds list{ids, 2, 5};
  std::vector<std::int32_t> seen;
  list.for_each_distinct([&](std::uint64_t index, std::int32_t expert) {
    EXPECT_EQ(index, seen.size());
    seen.push_back(expert);
    return true;
  });
  EXPECT_EQ(seen, (std::vector<std::int32_t>{0, 1, 3}));
  EXPECT_EQ(list.count_distinct(), 3u);
  int launches = 0;
  list.for_each_batch(3, 10, 90, 1 << 20, [&](std::span<const OutputSlot> slots, std::uint64_t from, std::uint64_t to) {
    ++launches;
    EXPECT_EQ(from, 10u);
    EXPECT_EQ(to, 90u);
    ASSERT_EQ(slots.size(), 8u);
    for (std::uint64_t t = 0; t < 8; ++t) {
      EXPECT_EQ(slots[t].token, t);
      EXPECT_EQ(slots[t].vector, 2 * t);
    }
  });
  EXPECT_EQ(launches, 1);
}

}  // namespace
}  // namespace lanewise::test
