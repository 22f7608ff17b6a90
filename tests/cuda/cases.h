// Weights and x for the CUDA kernels' tests.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arithmetic/activation.h"
#include "formats/block.h"

namespace lanewise::test {

// A generator whose words have 32 bits wherever it is compiled.
struct Random {
  using result_type = std::uint32_t;
  std::mt19937 engine;
  explicit Random(std::uint32_t seed) : engine(seed) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()() { return static_cast<result_type>(engine()); }
};

/// Bytes of a tensor in a vector that ends with it, at an address that is a multiple of 256 as device memory is.
struct Aligned {
  std::vector<std::uint8_t> storage;
  std::uint64_t size;
  explicit Aligned(std::uint64_t bytes) : storage(bytes + 255), size(bytes) {}
  [[nodiscard]] std::uint8_t* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
    return storage.data() + (256 - address % 256) % 256;
  }
};

/// Random codes under scales that are mostly numbers.
inline Aligned random_weights(Format format, std::uint64_t rows, std::uint64_t cols, std::uint32_t seed) {
  const FormatInfo& info = format_info(format);
  Aligned w(rows * row_bytes(info, cols));
  Random random(seed);
  for (std::uint64_t i = 0; i < w.size; ++i) w.data()[i] = static_cast<std::uint8_t>(random());
  with_format(format, [&]<class T>(T) {
    if constexpr (T::info.is_float()) {
      // Exponents near that of one, but for some; those of F16 lie in the byte's bits 2 to 6.
      constexpr std::uint32_t bytes = T::info.block_bytes;
      for (std::uint64_t i = 0; i < w.size; i += bytes) {
        if (random() % 128 == 0) continue;
        std::uint8_t& top = w.data()[i + bytes - 1];
        top = static_cast<std::uint8_t>((top & 0x80u) |
                                        (T::info.format == Format::F16 ? 0x30u + random() % 8 : 0x3Du + random() % 3));
      }
    } else {
      for (std::uint64_t at = 0; at < w.size; at += T::info.block_bytes) {
        std::uint8_t* const block = w.data() + at;
        for (lw_u32 dgroup = 0; dgroup < T::info.block_elements / T::info.dgroup; ++dgroup) {
          if (random() % 512 == 0) continue;
          const std::uint32_t half = (random() & 0x83FFu) | (random() % 24) << 10;
          const std::uint32_t byte = T::info.kind == FormatKind::EXP ? 100 + random() % 56 : random() & 127;
          const std::uint32_t bits = T::d_parts == 1 && T::d_part(dgroup, 0).mask == 255 ? byte : half;
          write_field(
              block, T::d_parts, [dgroup](lw_u32 i) { return T::d_part(dgroup, i); }, bits);
          if constexpr (T::info.has_min) {
            write_field(
                block, T::m_parts, [dgroup](lw_u32 i) { return T::m_part(dgroup, i); },
                (random() & 0x83FFu) | (random() % 24) << 10);
          }
        }
      }
    }
  });
  return w;
}

inline std::vector<float> random_x(std::uint64_t tokens, std::uint64_t cols, std::uint32_t seed) {
  Random random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(tokens * cols);
  for (float& value : x) value = normal(random) * (random() % 64 == 0 ? 100.0F : 1.0F);
  for (std::uint64_t i = 0; i < tokens; ++i) x[i * cols + random() % cols] = i % 2 == 0 ? 0.99607F : 0.99221F;
  return x;
}

inline std::unique_ptr<Activation> activation_of(const std::vector<float>& x, Planes planes, std::uint64_t tokens,
                                                 std::uint64_t cols) {
  auto made = Activation::create(planes, tokens, cols);
  if (!made) throw std::runtime_error("no activation of this shape");
  const auto set = (*made)->set({x.data(), Dtype::f32, tokens, cols, cols});
  if (!set) throw std::runtime_error("x was not taken");
  return std::move(*made);
}

}  // namespace lanewise::test
