// A block of sixteen rows in vectors: where its fields lie in the rows16 layout, and the layout made from GGUF's rows.
// Included by rows16_kernel.h, after a target's types.
#pragma once

#include <cstdint>

#include "layout/rows16.h"

namespace lanewise::LW_TARGET {

/// Where a field of a block lies in the tile: which vector of words, or which vector of the bytes beside them.
struct Place {
  bool beside;
  std::uint32_t index, shift, mask;
  bool shifted_out;  // the shift leaves just the field: no mask is needed
};

template <class F>
constexpr Place place_of(LwPart part) {
  const std::uint32_t beside = F::bytes % 4;
  const std::uint32_t lead = F::lead;
  const std::uint32_t width = part.mask == 0 ? 1 : 32 - static_cast<std::uint32_t>(__builtin_clz(part.mask));
  const std::uint32_t bit = part.byte * 8 + part.shift;
  const std::uint32_t first = lead * 8;
  const std::uint32_t last = (F::bytes - (beside - lead)) * 8;
  if (beside != 0 && (bit < first || bit >= last)) {
    const std::uint32_t shift = bit < first ? bit : bit - last;
    return {true, 0, shift, part.mask, shift + width == beside * 8 && part.mask == (1u << (beside * 8)) - 1};
  }
  const std::uint32_t index = (bit - first) / 32;
  const std::uint32_t shift = bit - first - index * 32;
  // A mask of all the bits that are left, or one whose bits the shift alone leaves, needs no instruction.
  return {false, index, shift, part.mask, width + shift == 32 && part.mask == 0xFFFFFFFFu >> shift};
}

template <class F>
constexpr bool inside_one_word(LwPart part) {
  const Place place = place_of<F>(part);
  const std::uint32_t width = part.mask == 0 ? 1 : 32 - static_cast<std::uint32_t>(__builtin_clz(part.mask));
  return place.shift + width <= (place.beside ? (F::bytes % 4) * 8 : 32);
}

/// The vectors of one block of sixteen rows.
template <class F>
struct BlockVectors {
  static constexpr int word_bytes = F::bytes / 4 * 64;
  static constexpr int beside_bytes = F::bytes % 4 * 16;

  const std::uint8_t* words;   ///< [bytes / 4][16 rows] words
  const std::uint8_t* beside;  ///< [16 rows][bytes % 4]

  /// Block i of a super-block whose bytes beside the words start at `behind`.
  static LW_AI BlockVectors at(const std::uint8_t* tile, const std::uint8_t* behind, int i) {
    return {tile + std::ptrdiff_t{i} * word_bytes, behind + std::ptrdiff_t{i} * beside_bytes};
  }

  template <std::uint32_t Byte, std::uint32_t Shift, std::uint32_t Mask>
  [[nodiscard]] LW_AI Word part() const {
    constexpr LwPart where{Byte, Shift, Mask};
    static_assert(inside_one_word<F>(where), "a field must lie inside one word of the layout");
    constexpr Place place = place_of<F>(where);
    Word word;
    if constexpr (place.beside) {
      word = F::bytes % 4 == 2 ? load_halves(beside) : load_bytes(beside);
    } else {
      word = load_words(words + std::size_t{64} * place.index);
    }
    if constexpr (place.shift != 0) word = word >> place.shift;
    if constexpr (!place.shifted_out) word = word & place.mask;
    return word;
  }
  // A field of up to four parts, lowest bits first. `Where` has at(i).
  template <class Where, std::uint32_t Parts>
  [[nodiscard]] LW_AI Word field() const {
    Word raw = one<Where, 0>();
    if constexpr (Parts > 1) raw = join<Where, 1>(raw);
    if constexpr (Parts > 2) raw = join<Where, 2>(raw);
    if constexpr (Parts > 3) raw = join<Where, 3>(raw);
    return raw;
  }

 private:
  template <class Where, int I>
  [[nodiscard]] LW_AI Word one() const {
    constexpr LwPart where = Where::at(I);
    return part<where.byte, where.shift, where.mask>();
  }
  template <class Where, int I>
  [[nodiscard]] LW_AI Word join(Word raw) const {
    constexpr LwPart where = Where::at(I);
    if constexpr (where.mask == 0) {
      return raw;
    } else {
      return raw | (one<Where, I>() << width_before<Where, I>());
    }
  }
  template <class Where, int I>
  static constexpr std::uint32_t width_before() {
    std::uint32_t width = 0;
    for (int i = 0; i < I; ++i) width += static_cast<std::uint32_t>(__builtin_popcount(Where::at(i).mask));
    return width;
  }
};

#define LW_FIELD_AT(role)                                                   \
  template <class F, int Index_>                                            \
  struct role##_at {                                                        \
    static constexpr LwPart at(int i) { return F::role##_part(Index_, i); } \
  };
LW_FIELD_AT(quad)
LW_FIELD_AT(sc)
LW_FIELD_AT(mn)
LW_FIELD_AT(d)
LW_FIELD_AT(m)
#undef LW_FIELD_AT

/// GGUF's rows to the rows16 layout: a transposition of words, whatever the format.
template <class F>
struct Packing {
  // Of a super-block: all of it, its words, and the bytes beside them.
  static constexpr std::uint64_t step_bytes = 256 / F::elements * F::bytes * 16;
  static constexpr std::uint64_t word_step = 256 / F::elements * (F::bytes / 4) * 64;
  static constexpr std::uint64_t beside_step = step_bytes - word_step;
  static constexpr std::uint32_t words = F::bytes / 4;
  static constexpr std::uint32_t beside = F::bytes % 4;
  static constexpr std::uint32_t beside_at = F::lead != 0 ? 0 : F::bytes - beside;
  static_assert(words >= 4, "four words are moved at once");

  // Super-blocks of a run, 1 or 2.
  static constexpr std::uint64_t run = rows16_run(F::elements, F::bytes);
  static constexpr std::uint64_t run_steps = run * F::elements / 256;

  /// Where super-block b of a tile lies: its words, and the bytes beside them.
  struct At {
    std::uint64_t words, behind;
  };
  static LW_AI At at(std::uint64_t cols, std::uint64_t b) {
    const std::uint64_t first = b / run_steps;
    const std::uint64_t begin = first * run_steps * step_bytes;
    // The last run may have fewer blocks.
    const std::uint64_t left = cols / F::elements - first * run;
    const std::uint64_t run_words = (left < run ? left : run) * words * 64;
    return {begin + b % run_steps * word_step, begin + run_words + b % run_steps * beside_step};
  }
  /// Super-block b of sixteen rows, `blocks` blocks of it.
  static __attribute__((noinline)) void step(const std::uint8_t* const* rows, std::uint64_t b, int blocks,
                                             std::uint8_t* out, std::uint8_t* behind) {
    for (int i = 0; i < blocks; ++i, out += std::size_t{words} * 64) {
      const std::uint64_t block = (b * (256 / F::elements) + static_cast<std::uint64_t>(i)) * F::bytes;
      for (std::uint32_t w = 0; w < words; w += 4) {
        // The last four words of a block rather than bytes beyond it.
        const std::uint32_t first = w + 4 <= words ? w : words - 4;
        Word four[4];
        load_rows(rows, block + F::lead + 4 * first, four);
        unroll<0, 4>([&](auto j) __attribute__((always_inline)) { store_words(out + 64 * (first + j), four[j]); });
      }
      for (std::uint32_t r = 0; r < 16 && beside != 0; ++r) {
        __builtin_memcpy(behind, rows[r] + block + beside_at, beside);
        behind += beside;
      }
    }
  }
  /// Blocks of super-block b: all, but at the end of a row.
  static constexpr int blocks_of(std::uint64_t cols, std::uint64_t b) {
    const std::uint64_t left = cols - b * 256;
    return static_cast<int>((left >= 256 ? 256 : left) / F::elements);
  }
  static void tile(const std::uint8_t* const* rows, std::uint64_t cols, std::uint8_t* out) {
    for (std::uint64_t b = 0; b * 256 < cols; ++b) {
      const At place = at(cols, b);
      step(rows, b, blocks_of(cols, b), out + place.words, out + place.behind);
    }
  }
};

}  // namespace lanewise::LW_TARGET
