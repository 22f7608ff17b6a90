#include "kernels/data.h"

#include <algorithm>
#include <array>

#include "formats/block.h"
#include "harness/fill.h"
#include "kernels/support.h"

namespace lanewise::test {
namespace {

Fill fill_of(Content content) {
  switch (content) {
    case Content::tame:
      return Fill::gauss;
    case Content::wide:
      return Fill::wide;
    case Content::raw:
      return Fill::raw;
    case Content::extreme:
    case Content::saturated:
      break;
  }
  return Fill::extreme;
}

// All codes and sub-scales of a row from one byte; d and m are 1.0586 as halves, or what the byte 0x3C spells.
void saturate(const FormatInfo& info, std::uint64_t rows, std::uint64_t cols, Random& random, std::uint8_t* data) {
  constexpr std::array<std::uint8_t, 8> patterns = {0x00, 0xFF, 0x80, 0x7F, 0x55, 0xAA, 0x0F, 0xF0};
  const std::uint64_t stride = row_bytes(info, cols);
  for (std::uint64_t r = 0; r < rows; ++r) {
    std::uint8_t* row = data + r * stride;
    const std::uint8_t pattern = patterns[(r + random.below(2)) % patterns.size()];
    std::fill_n(row, stride, pattern);
    with_quantised(info, [&]<class T>(T) {
      for (std::uint64_t b = 0; b < stride; b += T::info.block_bytes) {
        for (lw_u32 i = 0; i < T::info.block_elements / T::info.dgroup; ++i) {
          write_field(
              row + b, T::d_parts, [i](lw_u32 part) { return T::d_part(i, part); }, 0x3C3Cu);
          write_field(
              row + b, T::m_parts, [i](lw_u32 part) { return T::m_part(i, part); }, 0x3C3Cu);
        }
      }
    });
  }
}

}  // namespace

std::string_view content_name(Content content) {
  constexpr std::array<std::string_view, contents> names = {"tame", "wide", "raw", "extreme", "saturated"};
  return names[static_cast<std::size_t>(content)];
}

void make_weights(const FormatInfo& info, std::uint64_t rows, std::uint64_t cols, Content content, std::uint64_t seed,
                  std::uint8_t* data) {
  if (content == Content::saturated) {
    Random random(seed);
    saturate(info, rows, cols, random, data);
  } else {
    fill_weights(info.format, cols, fill_of(content), seed, 0, rows, data);
  }
}

std::vector<float> make_x(const FormatInfo& info, std::uint64_t tokens, std::uint64_t cols, Planes planes,
                          Content content, std::uint64_t seed) {
  std::vector<float> x(tokens * cols);
  if (content != Content::saturated) {
    fill_x(info.format, tokens, cols, fill_of(content), seed, Dtype::f32, x.data());
    return x;
  }
  // Integers at the limit have the exponent 0, so q is x itself.
  const auto limit = static_cast<float>(q_limit(planes));
  for (std::uint64_t t = 0; t < tokens; ++t) {
    for (std::uint64_t k = 0; k < cols; ++k) {
      const bool negative = t % 3 == 1 || (t % 3 == 2 && k / 16 % 2 == 1);
      x[t * cols + k] = negative ? -limit : limit;
    }
  }
  return x;
}

}  // namespace lanewise::test
