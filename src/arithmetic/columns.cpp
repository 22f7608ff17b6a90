#include "arithmetic/columns.h"

#include <cstddef>
#include <cstring>

#include "arithmetic/activation.h"

namespace lanewise {
namespace {

typedef std::int8_t Bytes __attribute__((vector_size(16)));

// The bytes of two halves in turn, and those of four.
Bytes in_turn(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Bytes in_turn_high(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
Bytes high_half(Bytes a) {
  return __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15);
}

// The orders `quads` and `eights` of 256 elements: 4 x 4 and 4 x 8 matrices transposed.
void reorder(const std::int8_t* in, std::int8_t* quads, std::int8_t* eights) {
  for (std::uint32_t i = 0; i < 256; i += 32) {
    Bytes a;
    Bytes b;
    std::memcpy(&a, in + i, 16);
    std::memcpy(&b, in + i + 16, 16);
    for (Bytes half : {a, b}) {
      half = in_turn(half, high_half(half));
      half = in_turn(half, high_half(half));
      std::memcpy(quads, &half, 16);
      quads += 16;
    }
    const Bytes even = in_turn(a, b);
    const Bytes odd = in_turn_high(a, b);
    const Bytes low = in_turn(even, odd);
    const Bytes high = in_turn_high(even, odd);
    std::memcpy(eights + i, &low, 16);
    std::memcpy(eights + i + 16, &high, 16);
  }
}

// One token's share of a record, whose arrays are indexed by token and plane.
struct Share {
  std::uint8_t* record;
  ColumnOffsets at;
  std::uint64_t token;
  std::uint32_t planes;

  template <class T>
  [[nodiscard]] T* array(std::uint32_t offset, std::uint64_t row, std::uint64_t length) const {
    return reinterpret_cast<T*>(record + offset) + row * length;
  }
  // Plane p's elements and the negative sums of each 16 of them.
  void set_plane(std::uint32_t p, const std::int8_t* codes, const std::int32_t* sums) const {
    const std::uint64_t row = token * planes + p;
    std::memcpy(record + at.codes + row * 256, codes, 256);
    reorder(codes, array<std::int8_t>(at.quads, row, 256), array<std::int8_t>(at.eights, row, 256));
    auto* minus16 = array<std::int32_t>(at.minus16, row, 16);
    auto* minus32 = array<std::int32_t>(at.minus32, row, 8);
    auto* sums16 = array<std::int16_t>(at.sums16, row, 16);
    auto* sums32 = array<std::int16_t>(at.sums32, row, 8);
    for (std::size_t s = 0; s < 16; ++s) minus16[s] = -sums[s];
    for (std::size_t s = 0; s < 8; ++s) minus32[s] = minus16[2 * s] + minus16[2 * s + 1];
    auto* runs16 = array<std::int32_t>(at.runs16, row, 16);
    auto* runs32 = array<std::int32_t>(at.runs32, row, 8);
    for (std::size_t s = 0; s < 16; ++s) runs16[s] = minus16[s] * run_bias;
    for (std::size_t s = 0; s < 8; ++s) runs32[s] = minus32[s] * run_bias;
    for (std::size_t s = 0; s < 16; ++s) sums16[s] = static_cast<std::int16_t>(sums[s]);
    for (std::size_t s = 0; s < 8; ++s) sums32[s] = static_cast<std::int16_t>(-minus32[s]);
  }
  void join() const {
    const std::int32_t* minus = array<std::int32_t>(at.minus16, token * planes, 16);
    auto* joined16 = array<std::int32_t>(at.joined16, token, 16);
    auto* joined32 = array<std::int32_t>(at.joined32, token, 8);
    for (std::size_t s = 0; s < 16; ++s) joined16[s] = minus[s] + (planes == 2 ? 256 * minus[16 + s] : 0);
    for (std::size_t s = 0; s < 8; ++s) joined32[s] = joined16[2 * s] + joined16[2 * s + 1];
  }
};

}  // namespace

void make_columns(const Activation& x, std::uint64_t first, std::uint32_t tokens, std::uint8_t* out) {
  const std::uint32_t planes = plane_count(x.planes());
  const std::uint32_t batch = batch_tokens(tokens, planes);
  const std::uint32_t batches = slice_batches(tokens, planes);
  const ColumnOffsets at(batch, planes);
  // Records with nothing to spare are written whole below, but for what x24 leaves empty.
  if (tokens != batch * batches || planes == 3) std::memset(out, 0, x.blocks() * batches * at.bytes);
  for (std::uint32_t i = 0; i < tokens; ++i) {
    const NaturalToken token = x.natural(first + i);
    for (std::uint64_t b = 0; b < x.blocks(); ++b) {
      const Share share{out + (b * batches + i / batch) * at.bytes, at, i % batch, planes};
      for (std::uint32_t p = 0; p < planes; ++p) {
        share.set_plane(p, token.plane(p) + b * 256, token.plane_sums(p) + b * 16);
      }
      if (planes < 3) share.join();
      share.array<std::int32_t>(at.exponents, i % batch, 1)[0] = token.exponents[b];
      share.array<float>(at.powers, i % batch, 1)[0] = token.powers[b];
    }
  }
}

}  // namespace lanewise
