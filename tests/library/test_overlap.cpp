// overlap() against counting bytes one by one.
#include "library/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lanewise::edge {
namespace {

bool share_a_byte(const ByteVectors& a, const ByteVectors& b) {
  std::vector<bool> taken(256, false);
  for (std::uint64_t i = 0; i < a.count; ++i) {
    for (std::uint64_t k = 0; k < a.length; ++k) taken[a.start + i * a.stride + k] = true;
  }
  for (std::uint64_t i = 0; i < b.count; ++i) {
    for (std::uint64_t k = 0; k < b.length; ++k) {
      if (taken[b.start + i * b.stride + k]) return true;
    }
  }
  return false;
}

TEST(Overlap, IsExact) {
  std::uint64_t met = 0;
  std::uint64_t apart_inside = 0;
  constexpr std::uint64_t start = 40;
  for (std::uint64_t stride_a = 1; stride_a < 8; ++stride_a) {
    for (std::uint64_t length_a = 1; length_a <= stride_a; ++length_a) {
      for (std::uint64_t stride_b = 1; stride_b < 8; ++stride_b) {
        for (std::uint64_t length_b = 1; length_b <= stride_b; ++length_b) {
          for (std::uint64_t count_a = 1; count_a < 5; ++count_a) {
            for (std::uint64_t count_b = 1; count_b < 5; ++count_b) {
              for (std::uint64_t at = 0; at < 2 * start; ++at) {
                const ByteVectors a{start, length_a, stride_a, count_a};
                const ByteVectors b{at, length_b, stride_b, count_b};
                const bool expected = share_a_byte(a, b);
                ASSERT_EQ(overlap(a, b), expected) << stride_a << ' ' << length_a << ' ' << count_a << ", " << at << ' '
                                                   << stride_b << ' ' << length_b << ' ' << count_b;
                met += expected ? 1u : 0u;
                apart_inside += !expected && at > start && at < start + a.extent() ? 1u : 0u;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(met, 10000u);
  EXPECT_GT(apart_inside, 1000u) << "vectors woven into each other";
}

TEST(Overlap, NothingMeetsNothing) {
  EXPECT_FALSE(overlap({}, {0, 100, 100, 1}));
  EXPECT_FALSE(overlap({10, 5, 5, 1}, {12, 0, 0, 1}));
  EXPECT_FALSE(overlap({10, 5, 5, 0}, {10, 5, 5, 1}));
}

TEST(Overlap, WhatCanNotBeIsRefused) {
  float value = 0;
  const auto code = [](const Result<ByteVectors>& result) { return result ? LW_OK : result.error().code; };
  EXPECT_EQ(code(bytes_of({&value, 1, 1, 1, Dtype::f32, "y"})), LW_OK);
  EXPECT_EQ(code(bytes_of({nullptr, 1, 1, 1, Dtype::f32, "y"})), LW_ERROR_ARGUMENT);
  EXPECT_EQ(code(bytes_of({reinterpret_cast<char*>(&value) + 2, 1, 1, 1, Dtype::f32, "y"})), LW_ERROR_ARGUMENT);
  EXPECT_EQ(code(bytes_of({reinterpret_cast<char*>(&value) + 2, 1, 1, 1, Dtype::f16, "y"})), LW_OK);
  EXPECT_EQ(code(bytes_of({reinterpret_cast<char*>(&value) + 1, 1, 1, 1, Dtype::bf16, "y"})), LW_ERROR_ARGUMENT);
  EXPECT_EQ(code(bytes_of({&value, 5, 4, 1, Dtype::f32, "y"})), LW_ERROR_ARGUMENT);
  EXPECT_EQ(code(bytes_of({&value, 1, UINT64_MAX, 3, Dtype::f32, "y"})), LW_ERROR_ARGUMENT);
  EXPECT_EQ(code(bytes_of({&value, UINT64_MAX, UINT64_MAX, 1, Dtype::f32, "y"})), LW_ERROR_ARGUMENT);
  EXPECT_EQ(code(bytes_of({&value, 1, std::uint64_t{1} << 61, 2, Dtype::f32, "y"})), LW_ERROR_ARGUMENT);
}

}  // namespace
}  // namespace lanewise::edge
