// The activation: its integers against the oracle, where e changes, its images for float weights, its errors.
#include "arithmetic/activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "arithmetic/fills.h"
#include "arithmetic/stages.h"

namespace lanewise::trial {
namespace {

constexpr std::array every_planes = {Planes::x8, Planes::x16, Planes::x24};

TEST(Activation, EqualsTheOracle) {
  std::uint64_t seed = 31000;
  for (const std::uint64_t cols : {1U, 31U, 32U, 255U, 256U, 257U, 640U, 2304U}) {
    for (const Planes planes : every_planes) {
      for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
        for (const DataKind& data : data_kinds) {
          Random random(++seed);
          const Input input = make_input(data.input, planes, dtype, 5, cols, cols + seed % 4, random);
          auto x = Activation::create(planes, 7, cols);  // room for more than are set
          ASSERT_TRUE(x.ok() && (*x)->set(input.view()).ok());
          ASSERT_EQ(first_difference(**x, oracle_activation(input, planes)), "")
              << planes_name(planes) << " K " << cols << " type " << static_cast<int>(dtype) << ": " << data.name;
        }
      }
    }
  }
}

TEST(Activation, SettingAgainLeavesNothingBehind) {
  Random random(1);
  auto x = Activation::create(Planes::x16, 3, 300);
  ASSERT_TRUE(x.ok());
  const std::array fills = {InputFill::poisoned, InputFill::huge, InputFill::zeros, InputFill::gauss, InputFill::tiny};
  for (std::uint64_t round = 0; round < 20; ++round) {
    const Input input =
        make_input(fills[round % fills.size()], Planes::x16, Dtype::f32, 1 + round % 3, 300, 300, random);
    ASSERT_TRUE((*x)->set(input.view()).ok());
    const oracle::Activation ox = oracle_activation(input, Planes::x16);
    ASSERT_EQ(first_difference(**x, ox), "") << "round " << round;
    // The images that are made at the first request follow too.
    const std::uint64_t token = (*x)->tokens() - 1;
    const FloatToken image = (*x)->floats(Image::xq_bf16, token);
    ASSERT_EQ(image.poisoned, ox.poisoned[token] != 0);
    for (std::uint64_t k = 0; k < 300 && !image.poisoned; ++k) {
      const double power = std::ldexp(1.0, std::max(ox.e16[token * 2 + k / 256], -40));
      ASSERT_EQ(image.values[k], std::rint(ox.x[token * 300 + k] / power) * power) << "round " << round << " k " << k;
    }
    for (std::uint64_t k = 300; k < 512; ++k) ASSERT_EQ(image.values[k], 0.0F);
  }
}

// e is the smallest integer whose q fits: at both edges of every power of two, and within 1 % of it.
TEST(BlockExponent, IsTheSmallestThatFits) {
  for (const Planes planes : every_planes) {
    const std::int32_t limit = oracle::activation_limit(static_cast<int>(plane_count(planes)));
    ASSERT_EQ(q_limit(planes), limit);
    std::vector<float> magnitudes = {0.0F, 0x1p-149F, 0x1p-126F, 0x1p-81F, 0x1.000002p-81F, 0x1.fffffep63F};
    for (int power = -100; power < 40; ++power) {
      for (const float base : {static_cast<float>(limit), static_cast<float>(limit) + 0.5F, 1.0F, 1.01F, 0.99F}) {
        const float at = std::ldexp(base, power);
        if (at >= 0x1p64F) continue;
        for (const float next : {0.0F, at, 0x1.fffffep63F}) magnitudes.push_back(std::nextafter(at, next));
      }
    }
    for (const float amax : magnitudes) {
      const std::int32_t e = block_exponent(amax, planes);
      ASSERT_EQ(e, oracle::activation_exponent(static_cast<double>(amax), limit)) << std::hexfloat << amax;
      ASSERT_GE(e, -80);
      ASSERT_LE(std::rint(std::ldexp(static_cast<double>(amax), -e)), limit);
      if (e > -80) {
        ASSERT_GT(std::rint(std::ldexp(static_cast<double>(amax), 1 - e)), limit);
      }
    }
  }
}

// Products with weights of the format must be exact: that many bits of xq, no more.
TEST(FloatImages, HoldTheBitsThatKeepProductsExact) {
  Random random(9);
  for (const InputFill fill : {InputFill::gauss, InputFill::wide, InputFill::random_bits, InputFill::huge}) {
    const Input input = make_input(fill, Planes::x8, Dtype::f32, 2, 768, 768, random);
    auto x = Activation::create(Planes::x8, 2, 768);
    ASSERT_TRUE(x.ok() && (*x)->set(input.view()).ok());
    struct Rule {
      Image image;
      int bits;
    };
    for (const Rule rule : {Rule{Image::xq_f16, 13}, Rule{Image::xq_bf16, 15}, Rule{Image::xq_f32, 23}}) {
      for (std::uint64_t t = 0; t < 2; ++t) {
        const float* values = (*x)->floats(rule.image, t).values;
        for (std::uint64_t b = 0; b < 3; ++b) {
          float amax = 0;
          for (std::uint64_t i = 0; i < 256; ++i) amax = std::max(amax, std::fabs(values[b * 256 + i]));
          const int unit = amax > 0 ? std::max(std::ilogb(amax) - rule.bits, -40) : -40;
          for (std::uint64_t i = 0; i < 256; ++i) {
            const double q = std::ldexp(static_cast<double>(values[b * 256 + i]), -unit);
            ASSERT_EQ(q, std::rint(q)) << image_name(rule.image) << " k " << b * 256 + i;
          }
        }
      }
    }
  }
}

TEST(Activation, RefusesWhatDoesNotFit) {
  std::vector<float> x(600);
  auto made = Activation::create(Planes::x16, 2, 256);
  ASSERT_TRUE(made.ok());
  Activation& a = **made;
  const auto code = [&](const InputView& view) {
    const Outcome outcome = a.set(view);
    return outcome.ok() ? LW_OK : outcome.error().code;
  };
  EXPECT_EQ(code({x.data(), Dtype::f32, 2, 256, 300}), LW_OK);
  EXPECT_EQ(code({x.data(), Dtype::f32, 2, 256, 0}), LW_OK);
  EXPECT_EQ(code({x.data(), Dtype::f32, 2, 255, 300}), LW_ERROR_ARGUMENT);
  EXPECT_EQ(code({x.data(), Dtype::f32, 3, 256, 0}), LW_ERROR_ARGUMENT);
  EXPECT_EQ(code({x.data(), Dtype::f32, 2, 256, 255}), LW_ERROR_ARGUMENT);
  EXPECT_EQ(code({nullptr, Dtype::f32, 2, 256, 0}), LW_ERROR_ARGUMENT);
  EXPECT_EQ(code({nullptr, Dtype::f32, 0, 256, 0}), LW_OK);
  EXPECT_EQ(a.tokens(), 0U);

  EXPECT_FALSE(Activation::create(Planes::x16, 1, 0).ok());
  EXPECT_FALSE(Activation::workspace_bytes(Planes::x24, UINT64_MAX / 256, 4096).ok());
  EXPECT_FALSE(Activation::workspace_bytes(Planes::x8, 1, UINT64_MAX).ok());
  const auto bytes = Activation::workspace_bytes(Planes::x16, 2, 256);
  ASSERT_TRUE(bytes.ok());
  std::vector<std::uint8_t> memory(*bytes + 2 * Activation::alignment);
  auto* aligned =
      memory.data() + (Activation::alignment - reinterpret_cast<std::uintptr_t>(memory.data()) % Activation::alignment);
  EXPECT_TRUE(Activation::create_in(Planes::x16, 2, 256, aligned, *bytes).ok());
  EXPECT_FALSE(Activation::create_in(Planes::x16, 2, 256, aligned, *bytes - 1).ok());
  EXPECT_FALSE(Activation::create_in(Planes::x16, 2, 256, aligned + 1, *bytes).ok());
  EXPECT_FALSE(Activation::create_in(Planes::x16, 2, 256, nullptr, *bytes).ok());
}

// The caller's memory is used up to its last announced byte, and no further.
TEST(Activation, StaysInsideItsWorkspace) {
  Random random(3);
  for (const Planes planes : every_planes) {
    const auto bytes = Activation::workspace_bytes(planes, 3, 300);
    ASSERT_TRUE(bytes.ok());
    const std::uint64_t zone = 256;
    auto* memory =
        static_cast<std::uint8_t*>(::operator new[](*bytes + 2 * zone, std::align_val_t{Activation::alignment}));
    std::memset(memory, 0x5A, *bytes + 2 * zone);
    {
      auto x = Activation::create_in(planes, 3, 300, memory + zone, *bytes);
      ASSERT_TRUE(x.ok());
      const Input input = make_input(InputFill::gauss, planes, Dtype::f32, 3, 300, 300, random);
      ASSERT_TRUE((*x)->set(input.view()).ok());
      for (const Image image : {Image::xq_f16, Image::xq_bf16, Image::xq_f32}) (void)(*x)->floats(image, 2);
      EXPECT_EQ(first_difference(**x, oracle_activation(input, planes)), "");
    }
    for (std::uint64_t i = 0; i < zone; ++i) {
      ASSERT_EQ(memory[i], 0x5A);
      ASSERT_EQ(memory[zone + *bytes + i], 0x5A);
    }
    ::operator delete[](memory, std::align_val_t{Activation::alignment});
  }
}

TEST(Planes, NamesAreReadBack) {
  for (const Planes planes : every_planes) {
    const auto parsed = parse_planes(planes_name(planes));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, planes);
  }
  for (const char* wrong : {"", "x", "x12", "x160", "X16", "16"}) EXPECT_FALSE(parse_planes(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace lanewise::trial
