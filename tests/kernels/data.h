// Weights and activations that a kernel which is almost right gets wrong.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "arithmetic/activation.h"
#include "formats/formats.h"

namespace lanewise::test {

enum class Content : std::uint8_t {
  tame,       ///< as in a model
  wide,       ///< magnitudes over eleven decades
  raw,        ///< W of random bytes wholly, so NaN and infinite scales; one token in four poisoned
  extreme,    ///< codes and sub-scales at their limits, amax at the edges of an exponent
  saturated,  ///< every bit of a row's codes alike, every |q| at its limit, x of one sign: the largest sums there are
};
inline constexpr int contents = 5;
std::string_view content_name(Content content);

void make_weights(const FormatInfo& info, std::uint64_t rows, std::uint64_t cols, Content content, std::uint64_t seed,
                  std::uint8_t* data);
/// [tokens][cols]
std::vector<float> make_x(const FormatInfo& info, std::uint64_t tokens, std::uint64_t cols, Planes planes,
                          Content content, std::uint64_t seed);

}  // namespace lanewise::test
