// Weights, activations and models for the library's tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <lanewise/lanewise.hpp>
#include <random>
#include <span>
#include <vector>

#include "formats/formats.h"
#include "gguf/writer.h"
#include "library/handles.h"

namespace lanewise::test {

using Floats = std::vector<float>;
using Bytes = std::vector<std::byte>;

/// Products as small as tests' are cut into parts for the device's threads too: otherwise one thread would do them.
inline void cut_small_products(const lw::Device& device) { device.get()->part_sizes = callers_parts; }

/// K that is no multiple of 8 super-blocks and ends in part of one where the block allows it.
inline std::uint64_t odd_cols(const FormatInfo& info) {
  return info.block_elements == 256 ? 768 : 768 + info.block_elements;
}

/// Blocks of any code; the two upper bits of every byte are 0, so that no scale is infinite or NaN.
inline Bytes make_weights(const FormatInfo& info, std::uint64_t rows, std::uint64_t cols, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(rows * row_bytes(info, cols));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0x3Fu);
  return bytes;
}

inline Floats make_x(std::uint64_t elements, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> gauss;
  Floats x(elements);
  for (float& value : x) value = gauss(random);
  return x;
}

/// A matrix of bare bytes with the bytes behind it.
struct Weights {
  Bytes bytes;
  lw::Matrix matrix;

  Weights(const lw::Device& device, const FormatInfo& info, std::uint64_t rows, std::uint64_t cols, std::uint64_t seed)
      : bytes(make_weights(info, rows, cols, seed)),
        matrix(device, static_cast<lw_format>(info.id), rows, cols, bytes) {}
};

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// What an untouched output holds: a NaN that no result can be.
inline constexpr std::uint32_t untouched_bits = 0x7FABCDEFu;
inline float untouched() {
  float value;
  std::memcpy(&value, &untouched_bits, sizeof value);
  return value;
}
inline bool is_untouched(float value) { return std::memcmp(&value, &untouched_bits, sizeof value) == 0; }
inline std::uint64_t count_untouched(std::span<const float> y) {
  std::uint64_t count = 0;
  for (const float value : y) count += is_untouched(value) ? 1u : 0u;
  return count;
}

/// True where a product says something: more than half of its outputs differ from the one before.
inline bool is_telling(std::span<const float> y) {
  std::size_t changes = 0;
  for (std::size_t i = 1; i < y.size(); ++i) changes += y[i] != y[i - 1] && y[i] == y[i] ? 1u : 0u;
  return y.size() < 2 || changes > y.size() / 2;
}

struct ModelTensor {
  const char* name;
  const char* format;
  std::vector<std::uint64_t> dims;
};

/// A GGUF file in memory. `format` is a weight format's name, or "i32".
std::vector<std::uint8_t> make_model(std::span<const ModelTensor> tensors);
/// The file that most tests open: two matrices, a stack of three, a norm, and a tensor that is no weight.
std::vector<std::uint8_t> usual_model();

}  // namespace lanewise::test
