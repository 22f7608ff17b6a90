// GEMV over the rows16 layout (layout/rows16.h): sixteen rows a step, one a lane, for any format of codes. Compiled once
// for each target (simd/*.h) and format; the text knows formats by their traits only.
//
// A tile is walked eighth by eighth, super-block by super-block, in memory order. A quad of sixteen rows is decoded by
// the format's own decode file, made unsigned by adding `bias`, and multiplied with every token and plane (a column) by
// the target's dot(). What the bias adds is taken off by the sums of x.
#pragma once

#include <cstdint>

#include "arithmetic/columns.h"
#include "backends/cpu/rows16.h"

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
  const std::uint8_t* words;   ///< [bytes / 4][16 rows] words
  const std::uint8_t* beside;  ///< [16 rows][bytes % 4]

  template <std::uint32_t Byte, std::uint32_t Shift, std::uint32_t Mask>
  [[nodiscard]] LW_AI Word part() const {
    constexpr LwPart where{Byte, Shift, Mask};
    static_assert(inside_one_word<F>(where), "a field must lie inside one word of the layout");
    constexpr Place place = place_of<F>(where);
    Word word;
    if constexpr (place.beside) {
      word = F::bytes % 4 == 2 ? load_halves(beside) : load_bytes(beside);
    } else {
      word = load_words(words + 64 * place.index);
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
  template <class Where, std::uint32_t I>
  [[nodiscard]] LW_AI Word one() const {
    constexpr LwPart where = Where::at(I);
    return part<where.byte, where.shift, where.mask>();
  }
  template <class Where, std::uint32_t I>
  [[nodiscard]] LW_AI Word join(Word raw) const {
    constexpr LwPart where = Where::at(I);
    if constexpr (where.mask == 0) {
      return raw;
    } else {
      return raw | (one<Where, I>() << width_before<Where, I>());
    }
  }
  template <class Where, std::uint32_t I>
  static constexpr std::uint32_t width_before() {
    std::uint32_t width = 0;
    for (std::uint32_t i = 0; i < I; ++i) width += static_cast<std::uint32_t>(__builtin_popcount(Where::at(i).mask));
    return width;
  }
};

#define LW_FIELD_AT(role)                                                                    \
  template <class F, std::uint32_t Index_>                                                   \
  struct role##_at {                                                                         \
    static constexpr LwPart at(std::uint32_t i) { return F::role##_part(Index_, i); }        \
  };
LW_FIELD_AT(quad)
LW_FIELD_AT(sc)
LW_FIELD_AT(mn)
LW_FIELD_AT(d)
LW_FIELD_AT(m)
#undef LW_FIELD_AT

/// P planes; tokens in batches of T, each with a record of its own (arithmetic/columns.h); at most `Batches` of them.
template <class F, int P, int T, int Batches>
struct Rows16 {
  static constexpr int columns = P * T;
  static constexpr int blocks_a_step = 256 / F::elements;
  static constexpr int dgroups = F::elements / F::dgroup;      // of a block
  static constexpr int groups = F::dgroup / F::group;          // of a d-group
  static constexpr int chunk = F::group < 32 ? F::group : 32;  // elements decoded at once: their quads stay in registers
  static constexpr int chunks = F::group / chunk;              // of a group
  static constexpr int chains = 256 / F::dgroup < 4 ? 256 / F::dgroup : 4;
  static constexpr bool scaled = F::sc_parts != 0;
  // Planes may be joined before the scale where the whole stays below 2^31 and F is the whole, rounded once.
  static constexpr bool joined = P == 2 && F::joinable;
  static constexpr int sums = joined ? T : columns;
  static constexpr int mins = P == 3 ? columns : T;
  static constexpr ColumnOffsets at{T, P};

  struct Sums {
    Int j[Batches][sums];
    Int m[Batches][F::has_min ? mins : 1];
  };
  struct State {
    Float a[Batches][T][chains];
  };

  static LW_AI Float value_of(const Int* j) {
    if constexpr (P == 1 || joined) return to_float(j[0]);
    return planes_value(j);
  }
  static LW_AI Float planes_value(const Int* j) {
    Float low = fused(to_float(j[1]), Float(256.0F), to_float(j[0]));
    if constexpr (P == 3) low = fused(to_float(j[2]), Float(65536.0F), low);
    return low;
  }
  static LW_AI const std::int32_t* sums_of(const std::uint8_t* x, int column, int k) {
    return chunk == 16 ? reinterpret_cast<const std::int32_t*>(x + at.sums16) + column * 16 + k / 16
                       : reinterpret_cast<const std::int32_t*>(x + at.sums32) + column * 8 + k / 32;
  }
  static LW_AI const std::int32_t* joined_of(const std::uint8_t* x, int token, int k) {
    return chunk == 16 ? reinterpret_cast<const std::int32_t*>(x + at.joined16) + token * 16 + k / 16
                       : reinterpret_cast<const std::int32_t*>(x + at.joined32) + token * 8 + k / 32;
  }

  /// The unsigned codes of `chunk` elements from quad `First` of the block on.
  template <int First>
  static LW_AI void decode(const BlockVectors<F>& block, std::uint64_t ahead, Word* codes) {
    unroll<0, chunk / 4>([&](auto q) __attribute__((always_inline)) {
      constexpr int quad = First + q;
      constexpr LwPart first = F::quad_part(quad, 0);
      constexpr Place place = place_of<F>(first);
      // One prefetch for each line of codes, where it is first read.
      if constexpr (!place.beside && place.shift == 0) prefetch(block.words + 64 * place.index + ahead);
      Word p[3] = {0u, 0u, 0u};
      unroll<0, int(F::quad_parts)>([&](auto i) __attribute__((always_inline)) {
        constexpr LwPart where = F::quad_part(quad, i);
        p[i] = block.template part<where.byte, where.shift, where.mask>();
      });
      codes[q] = F::quad(quad, p[0], p[1], p[2]);
      if constexpr (F::bias != 0) codes[q] = lw_bytes_add(codes[q], F::bias * 0x01010101u);
    });
  }

  /// Sums of codes * x over one chunk, which starts at element k of the super-block; the bias taken off.
  static LW_AI void chunk_sums(const Word* codes, const std::uint8_t* x, int k, Int* out) {
    Int s[columns];
    unroll<0, columns>([&](auto c) __attribute__((always_inline)) {
      s[c] = zero_int();
      if constexpr (F::bias != 0 && !joined) s[c] = s[c] - (broadcast(sums_of(x, c, k)) << F::bias_log);
    });
    const std::int8_t* row = reinterpret_cast<const std::int8_t*>(x) + k;
    dot_chunk<chunk / 4, columns, F::max_code + F::bias>(codes, row, s);
    if constexpr (joined) {
      unroll<0, T>([&](auto t) __attribute__((always_inline)) {
        out[t] = s[2 * t] + (s[2 * t + 1] << 8);
        if constexpr (F::bias != 0) out[t] = out[t] - (broadcast(joined_of(x, t, k)) << F::bias_log);
      });
    } else {
      unroll<0, columns>([&](auto c) __attribute__((always_inline)) { out[c] = s[c]; });
    }
  }

  /// Adds a chunk of group `k / F::group` to one batch's sums: `first` starts them.
  template <bool First>
  static LW_AI void batch_sums(const Word* codes, const std::uint8_t* record, int k, Int scale, Int min, Int* j, Int* m) {
    Int s[sums];
    chunk_sums(codes, record, k, s);
    unroll<0, sums>([&](auto c) __attribute__((always_inline)) {
      const Int term = scaled ? s[c] * scale : s[c];
      j[c] = First ? term : j[c] + term;
    });
    if constexpr (F::has_min) {
      unroll<0, mins>([&](auto c) __attribute__((always_inline)) {
        Int term = P == 3 ? broadcast(sums_of(record, c, k)) : broadcast(joined_of(record, c, k));
        if constexpr (F::mn_parts != 0) term = term * min;
        m[c] = First ? term : m[c] + term;
      });
    }
  }
  // For batches of four the same text is a function: a copy of its 32 P products for every group of a block would cost
  // more in instruction fetch and compile time than the call (Q4_K, eight tokens: no difference in time, a third of the
  // code).
  static __attribute__((noinline)) void batch_sums_first(const Word* codes, const std::uint8_t* record, int k,
                                                         const Int* scales, Int* j, Int* m) {
    batch_sums<true>(codes, record, k, scales[0], scales[1], j, m);
  }
  static __attribute__((noinline)) void batch_sums_next(const Word* codes, const std::uint8_t* record, int k,
                                                        const Int* scales, Int* j, Int* m) {
    batch_sums<false>(codes, record, k, scales[0], scales[1], j, m);
  }

  /// The integer sums of a d-group, every batch. `k` is its first element in the super-block.
  template <int Dgroup>
  static LW_AI void integer_sums(const BlockVectors<F>& block, const std::uint8_t* x, int k, int batches,
                                 std::uint64_t ahead, Sums& total) {
    unroll<0, groups * chunks>([&](auto i) __attribute__((always_inline)) {
      constexpr int group = Dgroup * groups + i / chunks;
      constexpr bool first = i == 0;
      Word codes[chunk / 4];
      decode<Dgroup*(F::dgroup / 4) + i * (chunk / 4)>(block, ahead, codes);
      Int scales[2] = {1, 1};
      if constexpr (scaled) scales[0] = F::sc(block.template field<sc_at<F, group>, F::sc_parts>());
      if constexpr (F::mn_parts != 0) scales[1] = F::mn(block.template field<mn_at<F, group>, F::mn_parts>());
      if constexpr (T < 4) {
        batch_sums<first>(codes, x, k + i * chunk, scales[0], scales[1], total.j[0], total.m[0]);
      } else {
        for (int n = 0; n < batches; ++n) {
          (first ? batch_sums_first : batch_sums_next)(codes, x + n * at.bytes, k + i * chunk, scales, total.j[n], total.m[n]);
        }
      }
    });
  }

  /// A d-group's part of the canonical sum.
  template <int Dgroup>
  static LW_AI void dgroup_step(const BlockVectors<F>& block, const std::uint8_t* x, int k, int batches,
                                std::uint64_t ahead, State& state) {
    const int v = k / F::dgroup % 4;
    Sums total;
    integer_sums<Dgroup>(block, x, k, batches, ahead, total);
    const Word scale_bits = block.template field<d_at<F, Dgroup>, F::d_parts>();
    Float d;
    if constexpr (!F::exponent_scale) d = F::d(scale_bits);
    Float min;
    if constexpr (F::has_min) min = F::m(block.template field<m_at<F, Dgroup>, F::m_parts>());
#pragma GCC unroll 1
    for (int n = 0; n < (Batches == 1 ? 1 : batches); ++n) {
      const std::uint8_t* record = x + n * at.bytes;
      unroll<0, T>([&](auto t) __attribute__((always_inline)) {
        const Float value = value_of(&total.j[n][joined ? int(t) : t * P]);
        Float& a = state.a[n][t][v];
        if constexpr (F::exponent_scale) {
          const Int e = broadcast(reinterpret_cast<const std::int32_t*>(record + at.exponents) + t);
          a = fused(value, capped_power(F::exponent(scale_bits) + e), a);
        } else {
          const Float power = broadcast(reinterpret_cast<const float*>(record + at.powers) + t);
          a = fused(d * value, power, a);
          if constexpr (F::has_min) {
            const Int* m = &total.m[n][P == 3 ? t * P : int(t)];
            a = fused(min * (P == 3 ? planes_value(m) : to_float(m[0])), power, a);
          }
        }
      });
    }
  }

  /// One super-block of `blocks` blocks (fewer than blocks_a_step only at the end of a row).
  static LW_AI void super_block(const std::uint8_t* tile, int blocks, const std::uint8_t* x, int batches,
                                std::uint64_t ahead, State& state) {
    constexpr int words = F::bytes / 4 * 64;
    constexpr int beside = F::bytes % 4 * 16;
    const std::uint8_t* behind = tile + blocks * words;
    if constexpr (beside != 0) prefetch(behind + ahead);
#pragma GCC unroll 1
    for (int i = 0; i < blocks; ++i) {
      const BlockVectors<F> block{tile + i * words, behind + i * beside};
      unroll<0, dgroups>([&](auto dgroup) __attribute__((always_inline)) {
        dgroup_step<dgroup>(block, x, i * static_cast<int>(F::elements) + dgroup * F::dgroup, batches, ahead, state);
      });
    }
  }

  /// See Rows16Tile.
  static void tile(const std::uint8_t* w, std::uint64_t cols, const std::uint8_t* x, int batches, float* y,
                   std::uint64_t stride, std::uint64_t ahead) {
    const std::uint64_t steps = (cols + 255) / 256;
    const std::uint64_t record = static_cast<std::uint64_t>(batches) * at.bytes;
    Float r[Batches * T][8];
    std::uint64_t b = 0;
    for (std::uint64_t g = 0; g < 8; ++g) {
      State state;
      for (int t = 0; t < Batches * T; ++t) {
        for (int v = 0; v < chains; ++v) state.a[t / T][t % T][v] = zero_float();
      }
      for (const std::uint64_t end = ((g + 1) * steps + 7) / 8; b < end; ++b) {
        const std::uint64_t left = cols - b * 256;
        const int blocks = left >= 256 ? blocks_a_step : static_cast<int>(left / F::elements);
        super_block(w + b * (256 / F::elements * F::bytes * 16), blocks, x + b * record, batches, ahead, state);
      }
      for (int t = 0; t < Batches * T; ++t) {
        const Float* a = state.a[t / T][t % T];
        if constexpr (chains == 1) r[t][g] = a[0];
        if constexpr (chains == 2) r[t][g] = a[0] + a[1];
        if constexpr (chains == 4) r[t][g] = (a[0] + a[1]) + (a[2] + a[3]);
      }
    }
    for (int t = 0; t < batches * T; ++t) {
      const Float low = (r[t][0] + r[t][1]) + (r[t][2] + r[t][3]);
      const Float high = (r[t][4] + r[t][5]) + (r[t][6] + r[t][7]);
      store(y + static_cast<std::uint64_t>(t) * stride, canonical(low + high + Float(0.0F)));
    }
  }
};

template <class F>
constexpr Rows16Kernels rows16_kernels() {
  return {{{Rows16<F, 1, 1, 1>::tile, Rows16<F, 1, 4, 2>::tile, Rows16<F, 1, 4, 2>::tile},
           {Rows16<F, 2, 1, 1>::tile, Rows16<F, 2, 2, 1>::tile, Rows16<F, 2, 4, 2>::tile},
           {Rows16<F, 3, 1, 1>::tile, Rows16<F, 3, 4, 2>::tile, Rows16<F, 3, 4, 2>::tile}}};
}

}  // namespace lanewise::LW_TARGET
