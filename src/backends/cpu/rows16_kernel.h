// GEMV over the rows16 layout (layout/rows16.h): sixteen rows a step, one a lane, for any format of codes. Compiled
// once for each target (simd/*.h) and format; the text knows formats by their traits only.
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
  static constexpr std::uint64_t step_bytes = 256 / F::elements * F::bytes * 16;
  static constexpr std::uint32_t words = F::bytes / 4;
  static constexpr std::uint32_t beside = F::bytes % 4;
  static constexpr std::uint32_t beside_at = F::lead != 0 ? 0 : F::bytes - beside;
  static_assert(words >= 4, "four words are moved at once");

  /// Super-block b of sixteen rows, `blocks` blocks of it.
  static __attribute__((noinline)) void step(const std::uint8_t* const* rows, std::uint64_t b, int blocks,
                                             std::uint8_t* out) {
    std::uint8_t* behind = out + static_cast<std::uint64_t>(blocks) * words * 64;
    for (int i = 0; i < blocks; ++i, out += words * 64) {
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
  static void tile(const std::uint8_t* const* rows, std::uint64_t cols, std::uint8_t* out) {
    for (std::uint64_t b = 0; b * 256 < cols; ++b) {
      const std::uint64_t left = cols - b * 256;
      step(rows, b, left >= 256 ? 256 / F::elements : static_cast<int>(left / F::elements), out + b * step_bytes);
    }
  }
};

/// A block of sixteen rows, decoded.
template <class F>
struct Decoder {
  static constexpr int dgroups = F::elements / F::dgroup;
  static constexpr int groups = F::elements / F::group;

  struct Block {
    Word codes[F::elements / 4];  ///< unsigned: the format's codes plus its bias
    Int sub_scales[F::sc_parts != 0 ? groups : 1];
    Int sub_mins[F::mn_parts != 0 ? groups : 1];
    Float d[dgroups];
    Int exponent[dgroups];  ///< of a format with an exponent for d
    Float m[dgroups];
  };

  template <int Quad>
  static LW_AI Word quad(const BlockVectors<F>& block, std::uint64_t ahead) {
    constexpr Place place = place_of<F>(F::quad_part(Quad, 0));
    // One prefetch for each line of codes, where it is first read.
    if constexpr (!place.beside && place.shift == 0) prefetch(block.words + 64 * place.index + ahead);
    Word p[3] = {0u, 0u, 0u};
    unroll<0, int(F::quad_parts)>([&](auto i) __attribute__((always_inline)) {
      constexpr LwPart where = F::quad_part(Quad, i);
      p[i] = block.template part<where.byte, where.shift, where.mask>();
    });
    const Word codes = F::quad(Quad, p[0], p[1], p[2]);
    if constexpr (F::bias == 0) return codes;
    return lw_bytes_add(codes, F::bias * 0x01010101u);
  }
  template <int Group>
  static LW_AI Int sub_scale(const BlockVectors<F>& block) {
    return F::sc(block.template field<sc_at<F, Group>, F::sc_parts>());
  }
  template <int Group>
  static LW_AI Int sub_min(const BlockVectors<F>& block) {
    return F::mn(block.template field<mn_at<F, Group>, F::mn_parts>());
  }
  template <int Dgroup>
  static LW_AI Word scale_bits(const BlockVectors<F>& block) {
    return block.template field<d_at<F, Dgroup>, F::d_parts>();
  }
  template <int Dgroup>
  static LW_AI Float min(const BlockVectors<F>& block) {
    return F::m(block.template field<m_at<F, Dgroup>, F::m_parts>());
  }

  /// The whole block to memory, which stays in the first cache: one copy of the decoding text serves every kernel.
  static __attribute__((noinline)) void decode(const BlockVectors<F>& block, std::uint64_t ahead, Block& out) {
    unroll<0, int(F::elements) / 4>([&](auto q)
                                        __attribute__((always_inline)) { out.codes[q] = quad<q>(block, ahead); });
    unroll<0, groups>([&](auto g) __attribute__((always_inline)) {
      if constexpr (F::sc_parts != 0) out.sub_scales[g] = sub_scale<g>(block);
      if constexpr (F::mn_parts != 0) out.sub_mins[g] = sub_min<g>(block);
    });
    unroll<0, dgroups>([&](auto i) __attribute__((always_inline)) {
      if constexpr (F::exponent_scale) {
        out.exponent[i] = F::exponent(scale_bits<i>(block));
      } else {
        out.d[i] = F::d(scale_bits<i>(block));
      }
      if constexpr (F::has_min) out.m[i] = min<i>(block);
    });
  }
};

/// P planes; tokens in batches of T, each with a record of its own (arithmetic/columns.h); at most `Batches` of them.
template <class F, int P, int T, int Batches>
struct Rows16 {
  static constexpr int columns = P * T;
  static constexpr int blocks_a_step = 256 / F::elements;
  static constexpr int dgroups = F::elements / F::dgroup;  // of a block
  static constexpr int groups = F::dgroup / F::group;      // of a d-group
  static constexpr int chunk =
      F::group < 32 ? F::group : 32;               // elements decoded at once: their quads stay in registers
  static constexpr int chunks = F::group / chunk;  // of a group
  static constexpr int chains = 256 / F::dgroup < 4 ? 256 / F::dgroup : 4;
  static constexpr bool scaled = F::sc_parts != 0;
  // Planes may be joined before the scale where the whole stays below 2^31 and F is the whole, rounded once.
  static constexpr bool joined = P == 2 && F::joinable;
  static constexpr int sums = joined ? T : columns;
  static constexpr int mins = P == 3 ? columns : T;
  static constexpr ColumnOffsets at{T, P};

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
  static LW_AI void batch_sums(const Word* codes, const std::uint8_t* record, int k, Int scale, Int min, Int* j,
                               Int* m) {
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
  /// What a d-group adds to a batch's accumulators, its integer sums taken.
  static LW_AI void finish(const std::uint8_t* record, int v, const Int* j, const Int* m, Float d, Int exponent,
                           Float min, Float (*a)[chains]) {
    unroll<0, T>([&](auto t) __attribute__((always_inline)) {
      const Float value = value_of(j + (joined ? int(t) : t * P));
      if constexpr (F::exponent_scale) {
        const Int e = broadcast(reinterpret_cast<const std::int32_t*>(record + at.exponents) + t);
        a[t][v] = fused(value, capped_power(exponent + e), a[t][v]);
      } else {
        const Float power = broadcast(reinterpret_cast<const float*>(record + at.powers) + t);
        a[t][v] = fused(d * value, power, a[t][v]);
        if constexpr (F::has_min) {
          const Int* mt = m + (P == 3 ? t * P : int(t));
          a[t][v] = fused(min * (P == 3 ? planes_value(mt) : to_float(mt[0])), power, a[t][v]);
        }
      }
    });
  }

  /// A block whose elements start at k of the super-block, from memory: for batches of four, and for targets with too
  /// few registers to hold a chunk of codes beside its sums.
  static LW_AI void block_from_memory(const BlockVectors<F>& block, const std::uint8_t* x, int k, int batches,
                                      std::uint64_t ahead, State& state) {
    typename Decoder<F>::Block decoded;
    Decoder<F>::decode(block, ahead, decoded);
#pragma GCC unroll 1
    for (int dgroup = 0; dgroup < dgroups; ++dgroup) {
      const int first = k + dgroup * F::dgroup;
#pragma GCC unroll 1
      for (int n = 0; n < (Batches == 1 ? 1 : batches); ++n) {
        const std::uint8_t* record = x + n * at.bytes;
        Int j[sums];
        Int m[mins];
        unroll<0, sums>([&](auto c) __attribute__((always_inline)) { j[c] = zero_int(); });
        unroll<0, mins>([&](auto c) __attribute__((always_inline)) { m[c] = zero_int(); });
#pragma GCC unroll 1
        for (int i = 0; i < groups * chunks; ++i) {
          const int group = dgroup * groups + i / chunks;
          batch_sums<false>(decoded.codes + (dgroup * F::dgroup + i * chunk) / 4, record, first + i * chunk,
                            decoded.sub_scales[scaled ? group : 0], decoded.sub_mins[F::mn_parts != 0 ? group : 0], j,
                            m);
        }
        finish(record, first / F::dgroup % 4, j, m, decoded.d[dgroup], decoded.exponent[dgroup], decoded.m[dgroup],
               state.a[n]);
      }
    }
  }

  /// The same with every code in registers: one or two tokens.
  static LW_AI void block_in_registers(const BlockVectors<F>& block, const std::uint8_t* x, int k, std::uint64_t ahead,
                                       State& state) {
    unroll<0, dgroups>([&](auto dgroup) __attribute__((always_inline)) {
      const int first_k = k + dgroup * F::dgroup;
      Int j[sums];
      Int m[mins];
      unroll<0, groups * chunks>([&](auto i) __attribute__((always_inline)) {
        constexpr int group = dgroup * groups + i / chunks;
        constexpr int first = (dgroup * F::dgroup + i * chunk) / 4;
        Word codes[chunk / 4];
        unroll<0, chunk / 4>([&](auto q) __attribute__((always_inline)) {
          codes[q] = Decoder<F>::template quad<first + q>(block, ahead);
        });
        Int scale = 1;
        if constexpr (scaled) scale = Decoder<F>::template sub_scale<group>(block);
        Int min = 1;
        if constexpr (F::mn_parts != 0) min = Decoder<F>::template sub_min<group>(block);
        batch_sums<i == 0>(codes, x, first_k + i * chunk, scale, min, j, m);
      });
      Float d = 0.0F;
      Int exponent = 0;
      if constexpr (F::exponent_scale) {
        exponent = F::exponent(Decoder<F>::template scale_bits<dgroup>(block));
      } else {
        d = F::d(Decoder<F>::template scale_bits<dgroup>(block));
      }
      Float min = 0.0F;
      if constexpr (F::has_min) min = Decoder<F>::template min<dgroup>(block);
      finish(x, first_k / F::dgroup % 4, j, m, d, exponent, min, state.a[0]);
    });
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
      const int k = i * static_cast<int>(F::elements);
      if constexpr (T < 4 && many_registers) {
        block_in_registers(block, x, k, ahead, state);
      } else {
        block_from_memory(block, x, k, batches, ahead, state);
      }
    }
  }

  static void tile(const Rows16Call& call) {
    alignas(64) std::uint8_t scratch[Packing<F>::step_bytes];
    const std::uint64_t steps = (call.cols + 255) / 256;
    const std::uint64_t record = static_cast<std::uint64_t>(call.batches) * at.bytes;
    Float r[Batches * T][8];
    std::uint64_t b = 0;
    for (std::uint64_t g = 0; g < 8; ++g) {
      State state;
      for (int t = 0; t < Batches * T; ++t) {
        for (int v = 0; v < chains; ++v) state.a[t / T][t % T][v] = zero_float();
      }
      for (const std::uint64_t end = ((g + 1) * steps + 7) / 8; b < end; ++b) {
        const std::uint64_t left = call.cols - b * 256;
        const int blocks = left >= 256 ? blocks_a_step : static_cast<int>(left / F::elements);
        const std::uint8_t* step = call.packed + b * Packing<F>::step_bytes;
        if (call.packed == nullptr) {
          Packing<F>::step(call.rows, b, blocks, scratch);
          for (std::uint64_t line = 0; line < Packing<F>::step_bytes; line += 64) {
            prefetch(call.next + b * Packing<F>::step_bytes + line);
          }
          step = scratch;
        }
        super_block(step, blocks, call.x + b * record, call.batches, call.packed == nullptr ? 0 : call.ahead, state);
      }
      for (int t = 0; t < Batches * T; ++t) {
        const Float* a = state.a[t / T][t % T];
        if constexpr (chains == 1) r[t][g] = a[0];
        if constexpr (chains == 2) r[t][g] = a[0] + a[1];
        if constexpr (chains == 4) r[t][g] = (a[0] + a[1]) + (a[2] + a[3]);
      }
    }
    for (int t = 0; t < call.batches * T; ++t) {
      const Float low = (r[t][0] + r[t][1]) + (r[t][2] + r[t][3]);
      const Float high = (r[t][4] + r[t][5]) + (r[t][6] + r[t][7]);
      store(call.y + 16 * t, canonical(low + high + Float(0.0F)));
    }
  }
};

template <class F>
constexpr Rows16Kernels rows16_kernels() {
  return {{{Rows16<F, 1, 1, 1>::tile, Rows16<F, 1, 4, 2>::tile, Rows16<F, 1, 4, 2>::tile},
           {Rows16<F, 2, 1, 1>::tile, Rows16<F, 2, 2, 1>::tile, Rows16<F, 2, 4, 2>::tile},
           {Rows16<F, 3, 1, 1>::tile, Rows16<F, 3, 4, 2>::tile, Rows16<F, 3, 4, 2>::tile}},
          Packing<F>::tile};
}

}  // namespace lanewise::LW_TARGET
