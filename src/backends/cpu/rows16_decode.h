// A super-block of sixteen rows, decoded by the format's own decode file: into registers a chunk at a time, or whole
// into the first cache. Included by rows16_kernel.h.
#pragma once

#include <cstdint>

#include "backends/cpu/rows16_block.h"

namespace lanewise::LW_TARGET {

template <class F>
struct Decoder {
  static constexpr int dgroups = F::elements / F::dgroup;  // of a block
  static constexpr int groups = F::elements / F::group;    // of a block
  static constexpr int blocks = 256 / F::elements;         // of a super-block
  static constexpr bool scaled = F::sc_parts != 0;
  static constexpr bool has_sub_mins = F::mn_parts != 0;
  // Sums of sub-scales times dots in floats where that is exact (rows16_format.h).
  static constexpr bool short_scales = F::short_sums && pair_products;
  static constexpr bool float_scales = F::float_parts != 0 && !short_scales;
  using Scale = std::conditional_t<short_scales, Word, std::conditional_t<float_scales, Float, Int>>;

  struct SuperBlock {
    Word codes[64];  ///< unsigned: the format's codes plus its bias
    Scale scales[scaled ? groups * blocks : 1];
    Word min_pairs[has_sub_mins ? groups * blocks / 2 : 1];  ///< sub-mins of two groups, 16 bits each
    Float d[dgroups * blocks];
    Int exponent[F::exponent_scale ? dgroups * blocks : 1];  ///< of a format with an exponent for d; biased
    Float m[F::has_min ? dgroups * blocks : 1];
  };

  template <int Quad>
  static LW_AI Word quad(const BlockVectors<F>& block) {
    constexpr int last = int(F::quad_parts) - 1;
    constexpr Place place = place_of<F>(F::quad_part(Quad, last));
    constexpr bool whole_word = F::template has_quad_from<Word>() && !place.beside;
    Word p[3] = {0u, 0u, 0u};
    unroll<0, whole_word ? last : last + 1>([&](auto i) __attribute__((always_inline)) {
      constexpr LwPart where = F::quad_part(Quad, i);
      p[i] = block.template part<where.byte, where.shift, where.mask>();
    });
    if constexpr (whole_word) {
      return F::quad_from(p[0], load_words(block.words + 64 * place.index), place.shift);
    } else {
      return F::quad(Quad, p[0], p[1], p[2]);
    }
  }
  /// How far left of their places the codes of quads Quad .. Quad + Count - 1 can stay, as bytes: 0 where they can't.
  template <int Quad, int Count>
  static constexpr std::uint32_t left_shift() {
    if (!F::raw_codes || F::quad_parts != 1) return 0;
    const std::uint32_t shift = place_of<F>(F::quad_part(Quad, 0)).shift;
    for (int q = Quad; q < Quad + Count; ++q) {
      const LwPart part = F::quad_part(q, 0);
      const Place place = place_of<F>(part);
      const std::uint32_t byte = part.mask & 255;
      if (place.beside || place.shift != shift || part.mask != byte * 0x01010101u || byte << shift > most_code) {
        return 0;
      }
    }
    return shift;
  }
  /// The codes times 2^Shift, where they are.
  template <int Quad, std::uint32_t Shift>
  static LW_AI Word quad_in_place(const BlockVectors<F>& block) {
    if constexpr (Shift == 0) {
      return quad<Quad>(block);
    } else {
      constexpr LwPart part = F::quad_part(Quad, 0);
      return load_words(block.words + 64 * place_of<F>(part).index) & (part.mask << Shift);
    }
  }
  /// Words of a block that runs read, kept from one run to the next.
  struct Held {
    Word word[F::bytes / 4];
  };
  /// Run `Run`, of a format with runs; `held` has what the runs before it read.
  template <int Run>
  static LW_AI void run(const BlockVectors<F>& block, Word* codes, Held& held) {
    Word p[3] = {0u, 0u, 0u};
    unroll<0, F::run_parts>([&](auto i) __attribute__((always_inline)) {
      constexpr LwPart where = F::run_part(Run, i);
      constexpr std::uint32_t index = place_of<F>(where).index;
      if constexpr (is_first_use(Run, i)) {
        held.word[index] = hold(block.template part<where.byte, where.shift, where.mask>());
      }
      p[i] = held.word[index];
    });
    const auto decoded = F::run_codes(Run, p[0], p[1], p[2]);
    unroll<0, decoded.words>([&](auto w) __attribute__((always_inline)) { codes[w] = pin(decoded.word[w]); });
  }
  /// Whether part i of a run is a word that no part before it has read.
  static constexpr bool is_first_use(int run, int i) {
    for (int r = 0; r <= run; ++r) {
      for (int j = 0; j < (r < run ? F::run_parts : i); ++j) {
        if (F::run_part(r, j).byte == F::run_part(run, i).byte) return false;
      }
    }
    return true;
  }
  template <int Group>
  static LW_AI Scale scale(const BlockVectors<F>& block) {
    Int sub_scale;
    constexpr LwPart where = sc_at<F, Group>::at(0);
    constexpr Place place = place_of<F>(where);
    if constexpr (F::run != 0 && F::sc_parts == 1 && where.mask <= 15 && !place.beside) {
      const Word lanes = load_words(block.words + 64 * place.index);
      sub_scale = F::sc_of_lanes(place.shift == 0 ? lanes : lanes >> place.shift, where.mask);
    } else {
      sub_scale = F::sc(block.template field<sc_at<F, Group>, F::sc_parts>());
    }
    if constexpr (short_scales) {
      return to_word(sub_scale) & 0xFFFFu;
    } else if constexpr (float_scales) {
      return to_float(sub_scale);
    } else {
      return sub_scale;
    }
  }
  template <int Group>
  static LW_AI Int sub_min(const BlockVectors<F>& block) {
    return F::mn(block.template field<mn_at<F, Group>, F::mn_parts>());
  }
  template <int Pair>
  static LW_AI Word min_pair(const BlockVectors<F>& block) {
    return pair_of(sub_min<2 * Pair>(block), sub_min<2 * Pair + 1>(block));
  }
  template <int Dgroup>
  static LW_AI Word scale_bits(const BlockVectors<F>& block) {
    return block.template field<d_at<F, Dgroup>, F::d_parts>();
  }
  /// Biased as an fp32's, once for all tokens.
  template <int Dgroup>
  static LW_AI Int exponent(const BlockVectors<F>& block) {
    return F::exponent(scale_bits<Dgroup>(block)) + Int(127);
  }
  template <int Dgroup>
  static LW_AI Float min(const BlockVectors<F>& block) {
    return F::m(block.template field<m_at<F, Dgroup>, F::m_parts>());
  }

  /// `count` blocks to memory: one copy of the decoding text serves every kernel that reads codes from there.
  static __attribute__((noinline)) void decode(const std::uint8_t* tile, const std::uint8_t* behind, int count,
                                               SuperBlock& out) {
#pragma GCC unroll 1
    for (int i = 0; i < count; ++i) {
      const BlockVectors<F> block = BlockVectors<F>::at(tile, behind, i);
      Word* codes = out.codes + i * static_cast<int>(F::elements) / 4;
      if constexpr (F::run != 0) {
        Held held;
        unroll<0, int(F::elements) / F::run>([&](auto r) __attribute__((always_inline)) {
          run<r>(block, codes + r * (F::run / 4), held);
        });
      } else {
        unroll<0, int(F::elements) / 4>([&](auto q) __attribute__((always_inline)) { codes[q] = quad<q>(block); });
      }
      unroll<0, groups>([&](auto g) __attribute__((always_inline)) {
        if constexpr (scaled) out.scales[i * groups + g] = scale<g>(block);
        if constexpr (has_sub_mins && g % 2 == 0) out.min_pairs[(i * groups + g) / 2] = min_pair<g / 2>(block);
      });
      unroll<0, dgroups>([&](auto g) __attribute__((always_inline)) {
        if constexpr (F::exponent_scale) {
          out.exponent[i * dgroups + g] = exponent<g>(block);
        } else {
          out.d[i * dgroups + g] = F::d(scale_bits<g>(block));
        }
        if constexpr (F::has_min) out.m[i * dgroups + g] = min<g>(block);
      });
    }
  }
};

}  // namespace lanewise::LW_TARGET
