// The device's image of a slice of x (backends/cuda/image.h), made on the host from the activation that defines it.
#pragma once

#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "arithmetic/activation.h"
#include "backends/cuda/image.h"

namespace lanewise::test {

/// Tokens first .. first + tokens - 1 (at most eight) of x.
inline std::vector<std::uint8_t> image_of(const Activation& x, std::uint64_t first, std::uint32_t tokens) {
  const std::uint32_t slots = cuda::image_slots(tokens);
  const std::uint32_t planes = plane_count(x.planes());
  const std::uint32_t columns = slots * planes;
  const cuda::ImageOffsets at(slots, planes, x.blocks());
  std::vector<std::uint8_t> image(at.bytes);  // tokens past the last are zero
  const auto put = [&](std::uint64_t offset, std::uint64_t index, auto value) {
    std::memcpy(image.data() + offset + index * sizeof value, &value, sizeof value);
  };
  for (std::uint32_t t = 0; t < tokens; ++t) {
    const NaturalToken token = x.natural(first + t);
    for (std::uint64_t b = 0; b < x.blocks(); ++b) {
      put(at.powers, b * slots + t, token.powers[b]);
      put(at.exponents, b * slots + t, token.exponents[b]);
      for (std::uint32_t p = 0; p < planes; ++p) {
        const std::uint32_t column = cuda::image_column(slots, planes, t, p);
        const auto put_digits = [&](std::uint64_t array, std::uint64_t i, std::int32_t sum) {
          const std::uint64_t low = ((b * planes + p) * 2 * slots + t) * 16 + i;
          const std::int32_t digit = ((sum + 32) & 63) - 32;
          put(array, low, static_cast<std::int8_t>(digit));
          put(array, low + std::uint64_t{slots} * 16, static_cast<std::int8_t>((sum - digit) / 64));
        };
        for (std::uint64_t i = 0; i < 8; ++i) {
          const std::int8_t* codes = token.plane(p) + b * super_block + i * 32;
          std::memcpy(image.data() + at.codes + ((b * 8 + i) * columns + column) * 32, codes, 32);
          for (std::uint64_t k = 0; k < 32; ++k) {
            put(at.halves, ((b * 8 + i) * columns + column) * 32 + k % 16 / 4 * 8 + k / 16 * 4 + k % 4, codes[k]);
          }
          put(at.sums32, (b * 8 + i) * columns + column, std::accumulate(codes, codes + 32, std::int32_t{0}));
          put_digits(at.digits32, i, std::accumulate(codes, codes + 32, std::int32_t{0}));
        }
        for (std::uint64_t i = 0; i < 16; ++i) {
          put(at.sums16, (b * 16 + i) * columns + column, token.plane_sums(p)[b * 16 + i]);
          put_digits(at.digits16, i, token.plane_sums(p)[b * 16 + i]);
        }
      }
    }
    put(at.poisoned, t, static_cast<std::uint32_t>(token.poisoned ? 1 : 0));
    const Image floats[3] = {Image::xq_f16, Image::xq_bf16, Image::xq_f32};
    for (std::uint32_t i = 0; i < 3; ++i) {
      const std::uint64_t bytes = x.blocks() * super_block * sizeof(float);
      std::memcpy(image.data() + at.xq + (i * slots + t) * bytes, x.floats(floats[i], first + t).values, bytes);
    }
  }
  return image;
}

}  // namespace lanewise::test
