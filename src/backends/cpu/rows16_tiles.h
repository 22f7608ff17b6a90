// GEMV over the rows16 layout by tiles of AMX, for windows of three tokens and more: what rows16_kernel.h does, with
// the products of sixteen rows by up to sixteen columns (a token's plane) in one instruction. The codes of sixteen rows
// lie as a tile wants its B, a record's planes as it wants its A; the sums come out with a row a lane, a column a
// vector.
//
// A super-block goes through three stages, each a super-block behind the one before: decoding into the first cache,
// products, and what the accumulators get of the sums. They are interleaved by an eighth of a super-block, since they
// need different parts of the core, and because a tile's sums can be read only some sixty cycles after the product.
//
// Storing a tile of sums takes sixteen cycles, so a few are wanted a super-block. Sub-scales are therefore folded into
// the codes, in one layer of bytes or in two: the sums of all of a super-block then end in one or two tiles.
#pragma once

#include "backends/cpu/rows16_kernel.h"

namespace lanewise::LW_TARGET {

/// none: no sub-scales; whole: c * s is a byte; halves: c times the lower and the upper bits of s are; negated: -c * s
/// is a signed byte; bytes: the lower byte of c * s and the upper one.
enum class Fold { none, whole, halves, negated, bytes };

/// How a format's sub-scales can be folded into its codes.
template <class F>
constexpr Fold fold_of() {
  constexpr int greatest = static_cast<int>(F::max_code);
  constexpr int most = greatest > -F::min_code ? greatest : -F::min_code;
  if (F::sc_parts == 0) return Fold::none;
  // Sub-scales beside sub-mins are unsigned, as these are.
  if (F::mn_parts != 0 && F::min_code == 0) return most * F::most_scale <= 255 ? Fold::whole : Fold::halves;
  // The products' negatives are bytes, the one of -128 among them.
  if (most * F::most_scale <= 128 && (greatest - F::min_code) * F::most_scale <= 255) return Fold::negated;
  return Fold::bytes;
}

template <class F, int P, int T>
struct Rows16Tiles {
  using Decode = Decoder<F>;
  using Batch = Rows16<F, P, T, 1>;
  using One = Rows16<F, P, 1, 1>;  // of one token's sums

  static constexpr ColumnOffsets at{T, P};
  static constexpr int columns = T * P;
  static_assert(columns <= 16, "a tile has sixteen rows");
  static constexpr int chains = Batch::chains;
  static constexpr int dgroups = 256 / F::dgroup;  // of a super-block
  static constexpr bool scaled = Decode::scaled;   // and so folded
  static_assert(F::most_scale * 128 <= 32767, "products of two bytes each");
  static_assert(!scaled || F::dgroup == 256, "sub-scales are those of a super-block");
  static constexpr Fold fold = fold_of<F>();
  static constexpr int layers = fold == Fold::halves || fold == Fold::bytes ? 2 : 1;  // of folded codes
  // The lower bits of a sub-scale, times which a code fits a byte; or what the upper layer counts.
  static constexpr int low_bits =
      fold == Fold::bytes ? 8 : 31 - __builtin_clz(255 / static_cast<unsigned>(F::max_code) + 1);
  static_assert(fold != Fold::halves || (F::most_scale >> low_bits) * static_cast<int>(F::max_code) <= 255,
                "the upper bits of a sub-scale fit too");
  // Elements of a product, and those whose products one tile of sums takes.
  static constexpr int depth = F::dgroup < 64 ? F::dgroup : 64;
  static constexpr int span = F::dgroup;
  static constexpr int results = 256 / span * layers;
  // Codes that lie in the layout as they are multiplied.
  static constexpr bool direct = F::plain_bytes && place_of<F>(F::quad_part(0, 0)).index == 0;

  // A piece: 32 elements; pieces of a block and blocks of a super-block.
  static constexpr int block_pieces = int(F::elements) / 32;
  static constexpr int blocks = Decode::blocks;
  static constexpr int groups = 256 / F::group;
  static constexpr int piece_bytes = static_cast<int>(Packing<F>::step_bytes) / 8;
  static constexpr int piece_lines = (piece_bytes + 63) / 64;
  static constexpr int elements_at = Batch::elements_at;

  /// What a super-block takes from stage to stage beside codes and sums.
  struct Step {
    const std::uint8_t* x;
    const std::uint8_t* words;
    int blocks;  ///< 0: none is at this stage
    int eighth;
    bool ends;  ///< the eighth, that is
    Word min_pairs[Decode::has_sub_mins ? groups / 2 : 1];
    Float d[dgroups];
    Int exponent[F::exponent_scale ? dgroups : 1];
    Float m[F::has_min ? dgroups : 1];
  };
  struct alignas(4096) Work {
    Word codes[2][layers][64];
    Int sums[2][results][columns];
    Step steps[3];
    Float a[T][chains];
    Float r[T][8];
  };

  static constexpr TileShapes shapes() {
    TileShapes made;
    // Sums in 0 and 1, A in 2 and 3, B in 4 and 5, for a second layer in 6 and 7.
    for (const int tile : {0, 1}) made.set(tile, columns, 64);
    for (const int tile : {2, 3}) made.set(tile, columns, depth);
    for (const int tile : {4, 5, 6, 7}) made.set(tile, depth / 4, 64);
    return made;
  }

  /// The tile that takes the sums of the products of a pair's one and other.
  static constexpr int sum_of(int odd) { return span == depth ? odd : 0; }
  /// Product `Odd` of its pair: of codes[layer] at element k of the super-block's x.
  template <int Odd>
  static LW_AI void product(const Step& step, const Word* codes, int k) {
    tile_load<2 + Odd>(step.x + elements_at + k, 256);
    tile_load<4 + Odd>(codes, 64);
    if constexpr (layers == 2) {
      tile_products<0, 2 + Odd, 4 + Odd, true>();
      tile_load<6 + Odd>(codes + 64, 64);
      tile_products<1, 2 + Odd, 6 + Odd, fold == Fold::halves>();
    } else if constexpr (fold != Fold::none) {
      tile_products<0, 2 + Odd, 4 + Odd, fold == Fold::whole>();
    } else {
      tile_products<sum_of(Odd), 2 + Odd, 4 + Odd, false>();
    }
  }

  /// A sub-scale for both 16-bit halves of a word: what it multiplies of two codes each.
  static LW_AI Word twice(Word scale) { return scale | scale << 16u; }

  /// Codes of a group times its sub-scale.
  template <int Quads>
  static LW_AI void fold_group(const Word* quads, Word scale, Word* out) {
    // The sub-scale's sign and size.
    [[maybe_unused]] const Word negative = to_word(to_int(scale) >> 31u);
    [[maybe_unused]] const Word size = twice((scale ^ negative) - negative);
    unroll<0, Quads>([&](auto q) __attribute__((always_inline)) {
      if constexpr (fold == Fold::whole) {
        out[q] = halves_times(quads[q], twice(scale));
      } else if constexpr (fold == Fold::halves) {
        out[q] = halves_times(quads[q], twice(scale & ((1u << low_bits) - 1)));
        out[64 + q] = halves_times(quads[q], twice(scale >> low_bits));
      } else if constexpr (fold == Fold::negated) {
        // -c * s: of (c + 4) * |s| - 4 * |s|, a byte each, the negative where s is positive.
        constexpr unsigned least = static_cast<unsigned>(-F::min_code);
        const Word product = halves_times(lw_bytes_add(quads[q], least * 0x01010101u), size);
        const Word centred = bytes_less(product, halves_times(size, Word(least * 0x01010101u)));
        out[q] = bytes_less(centred ^ ~negative, ~negative);
      } else if constexpr (fold == Fold::bytes) {
        const Word code = negate_where(negative, quads[q]);
        const Word even = byte_products(size, code);
        const Word odd = byte_products(size << 8u, code);
        out[q] = (even & 0x00FF00FFu) | halves_left8(odd);
        out[64 + q] = halves_right8(even) | (odd & 0xFF00FF00u);
      }
    });
  }

  /// Piece `Piece` of a block to codes, with what belongs to it.
  template <int Piece>
  static LW_AI void decode_piece(const BlockVectors<F>& block, int i, Word* codes, Step& step,
                                 typename Decode::Held& held) {
    constexpr int first = Piece * 8;  // quad
    if constexpr (!direct) {
      Word piece[8];
      if constexpr (F::run != 0) {
        constexpr int words = F::run / 4;
        unroll<0, 8 / words>([&](auto r) __attribute__((always_inline)) {
          Decode::template run<Piece*(8 / words) + r>(block, piece + r * words, held);
        });
        unroll<0, 8>([&](auto q) __attribute__((always_inline)) {
          piece[q] = lw_bytes_add(piece[q], (256u - F::run_added) * 0x01010101u);
        });
      } else {
        unroll<0, 8>([&](auto q)
                         __attribute__((always_inline)) { piece[q] = Decode::template quad<first + q>(block); });
      }
      if constexpr (!scaled) {
        unroll<0, 8>([&](auto q) __attribute__((always_inline)) { codes[first + q] = piece[q]; });
      } else {
        constexpr int quads = F::group < 32 ? F::group / 4 : 8;  // of a group, in this piece
        unroll<0, 8 / quads>([&](auto g) __attribute__((always_inline)) {
          constexpr int group = Piece * 32 / F::group + g;
          fold_group<quads>(piece + g * quads, to_word(F::sc(block.template field<sc_at<F, group>, F::sc_parts>())),
                            codes + first + g * quads);
        });
      }
    }
    unroll<0, (F::group < 32 ? 2 : 1)>([&](auto g) __attribute__((always_inline)) {
      constexpr int group = Piece * 32 / F::group + g;
      if constexpr (Decode::has_sub_mins && group % 2 == 1) {
        step.min_pairs[group / 2] = Decode::template min_pair<group / 2>(block);
      }
    });
    unroll<0, (F::dgroup < 32 ? 2 : 1)>([&]([[maybe_unused]] auto g) __attribute__((always_inline)) {
      if constexpr (Piece * 32 % F::dgroup == 0) {
        constexpr int dgroup = Piece * 32 / F::dgroup + g;
        const int out = i * (int(F::elements) / F::dgroup) + dgroup;
        if constexpr (F::exponent_scale) {
          step.exponent[out] = Decode::template exponent<dgroup>(block);
        } else {
          step.d[out] = F::d(Decode::template scale_bits<dgroup>(block));
        }
        if constexpr (F::has_min) step.m[out] = Decode::template min<dgroup>(block);
      }
    });
  }

  /// F of token t in d-group g.
  static LW_AI Float value(const Int (*sums)[columns], [[maybe_unused]] int g, int t) {
    if constexpr (fold != Fold::none) {
      Int j[P];
      unroll<0, P>([&](auto p) __attribute__((always_inline)) {
        j[p] = sums[0][t * P + p];
        if constexpr (layers == 2) j[p] = j[p] + (sums[1][t * P + p] << low_bits);
      });
      Float f[P];
      if constexpr (P == 2 && F::joinable) {
        f[0] = to_float(j[0] + (j[1] << 8));
      } else {
        unroll<0, P>([&](auto p) __attribute__((always_inline)) { f[p] = to_float(j[p]); });
        f[0] = One::planes_value(f);
      }
      return fold == Fold::negated ? -f[0] : f[0];
    } else {
      typename One::Sums total;
      One::join(&sums[g][t * P], total.j);
      return One::value(total, 0);
    }
  }
  static LW_AI void finish(const Step& step, const Int (*sums)[columns], Float (*a)[chains], int g, int t) {
    Batch::add_term(step.x, t, g * F::dgroup, value(sums, g, t), step.d[F::exponent_scale ? 0 : g],
                    step.exponent[F::exponent_scale ? g : 0], step.m[F::has_min ? g : 0],
                    step.min_pairs + (Decode::has_sub_mins ? g * Batch::groups / 2 : 0), a[t][g % 4]);
  }
  /// The share of a super-block's last stage that goes with piece `Piece` of block i.
  template <int Piece>
  static LW_AI void finish_piece(const Step& step, const Int (*sums)[columns], Float (*a)[chains], int i) {
    if constexpr (F::dgroup <= 32) {
      unroll<0, 32 / F::dgroup>([&](auto n) __attribute__((always_inline)) {
        const int g = (i * block_pieces + Piece) * (32 / F::dgroup) + n;
        unroll<0, T>([&](auto t) __attribute__((always_inline)) { finish(step, sums, a, g, t); });
      });
    } else {
      constexpr int pieces = F::dgroup / 32;
      constexpr int nth = Piece % pieces;
      const int g = (i * block_pieces + Piece) / pieces;
      unroll<nth * T / pieces, (nth + 1) * T / pieces>([&](auto t) __attribute__((always_inline)) {
        finish(step, sums, a, g, t);
      });
    }
  }

  /// Block i of the three stages' super-blocks.
  template <int Odd>
  static LW_AI void block(Work& work, int i, std::uint64_t s, const std::uint8_t* behind, const std::uint8_t* fetch) {
    Step& decoded = work.steps[s % 3];
    const Step& multiplied = work.steps[(s + 2) % 3];
    const Step& finished = work.steps[(s + 1) % 3];
    const bool decodes = i < decoded.blocks;
    const bool multiplies = i < multiplied.blocks;
    const bool finishes = i < finished.blocks;
    Word* codes = work.codes[s % 2][0];
    const Word* ready = work.codes[(s + 1) % 2][0];
    Int(*stored)[columns] = work.sums[(s + 1) % 2];
    const Int(*summed)[columns] = work.sums[s % 2];
    const BlockVectors<F> from = BlockVectors<F>::at(decoded.words, behind, i);
    [[maybe_unused]] typename Decode::Held held;
    // Products of a piece, and the piece whose product they end: of 64 elements there is one to two pieces.
    constexpr int products = depth > 32 ? 1 : 32 / depth;
    unroll<0, block_pieces>([&](auto piece) __attribute__((always_inline)) {
      if (multiplies) {
        unroll<0, products>([&](auto n) __attribute__((always_inline)) {
          constexpr int first = piece * 32 + n * depth;
          constexpr int odd = (int(F::elements) * Odd + first) / depth % 2;
          if constexpr (first % depth == 0) {
            if constexpr (first % span == 0) tile_zero<sum_of(odd)>();
            if constexpr (first % span == 0 && layers == 2) tile_zero<1>();
            const Word* at_element = ready + (i * int(F::elements) + first) / 4;
            if constexpr (direct) {
              at_element =
                  reinterpret_cast<const Word*>(multiplied.words + std::ptrdiff_t{i} * from.word_bytes) + first / 4;
            }
            product<odd>(multiplied, at_element, i * int(F::elements) + first);
          }
        });
      }
      if (decodes) {
        unroll<0, piece_lines>([&](auto line) __attribute__((always_inline)) {
          prefetch(fetch + (std::ptrdiff_t{i} * block_pieces + piece) * piece_bytes + line * 64);
        });
        decode_piece<piece>(from, i, codes + std::ptrdiff_t{i} * (F::elements / 4), decoded, held);
      }
      if (finishes) finish_piece<piece>(finished, summed, work.a, i);
      // Last, since products take their time.
      if (multiplies) {
        unroll<0, products>([&](auto n) __attribute__((always_inline)) {
          constexpr int end = depth > 32 ? piece * 32 + 32 : piece * 32 + (n + 1) * depth;
          constexpr int odd = (int(F::elements) * Odd + end - 1) / depth % 2;
          if constexpr (end % span == 0) {
            Int(*to)[columns] = stored + ((i * int(F::elements) + end) / span - 1) * layers;
            tile_store<sum_of(odd)>(to[0], 64);
            if constexpr (layers == 2) tile_store<1>(to[1], 64);
          }
        });
      }
    });
  }

  static void tile(const Rows16Call& call) {
    static constexpr TileShapes shape = shapes();
    alignas(64) std::uint8_t scratch[2][Packing<F>::step_bytes];
    const TileSteps<F, 0> steps(call);
    const std::uint64_t count = (call.cols + 255) / 256;
    Work work;
    for (Step& step : work.steps) step.blocks = 0;
    for (int t = 0; t < T; ++t) {
      for (int v = 0; v < chains; ++v) work.a[t][v] = zero_float();
      for (int g = 0; g < 8; ++g) work.r[t][g] = zero_float();
    }
    tiles_begin(shape);
    std::uint64_t g = 0;
    for (std::uint64_t s = 0; s < count + 2; ++s) {
      Step& step = work.steps[s % 3];
      const std::uint8_t* behind = nullptr;
      const std::uint8_t* fetch = nullptr;
      step.blocks = 0;
      if (s < count) {
        step.blocks = Packing<F>::blocks_of(call.cols, s);
        while (s >= ((g + 1) * count + 7) / 8) ++g;
        step.eighth = static_cast<int>(g);
        step.ends = s + 1 == ((g + 1) * count + 7) / 8;
        step.x = call.x + s * at.bytes;
        const auto decoded = steps.at(s, scratch[s % 2]);
        step.words = decoded.words;
        behind = decoded.behind;
        fetch = decoded.fetch.far;
      }
      if constexpr (blocks == 1) {
        block<0>(work, 0, s, behind, fetch);
      } else {
#pragma GCC unroll 1
        for (int i = 0; i < blocks; i += 2) {
          block<0>(work, i, s, behind, fetch);
          block<1>(work, i + 1, s, behind, fetch);
        }
      }
      const Step& finished = work.steps[(s + 1) % 3];
      if (finished.blocks != 0 && finished.ends) {
        for (int t = 0; t < T; ++t) {
          Float* a = work.a[t];
          work.r[t][finished.eighth] = fold_chains<chains>(a);
          for (int v = 0; v < chains; ++v) a[v] = zero_float();
        }
      }
    }
    tiles_end();
    for (int t = 0; t < T; ++t) store_eighths(work.r[t], call.y + std::ptrdiff_t{16} * t);
  }
};

// Where tiles are the faster, by cycles of a super-block of sixteen rows on an Emerald Rapids (docs/cpu.md): not where
// a tile of sums is stored for each 16 elements, nor where a min makes each of many dearer; and folding on top of a
// grid's look-ups takes what the products save.
template <class F>
constexpr bool tiles_at_eight() {
  return F::sc_parts != 0 ? F::run == 0 : F::dgroup >= 32 && !(F::dgroup == 32 && F::has_min);
}
// And at four tokens, whose products take two thirds of eight's: where there is little else to do.
template <class F>
constexpr bool tiles_at_four() {
  return F::sc_parts != 0 ? fold_of<F>() == Fold::whole || fold_of<F>() == Fold::halves : F::dgroup >= 64;
}
template <class F, int P, int T, bool Pays>
constexpr Rows16Tile tile_kernel() {
  if constexpr (Pays) return Rows16Tiles<F, P, T>::tile;
  return nullptr;
}

/// Entries are empty where another target's are the faster, and in three planes.
template <class F>
constexpr Rows16Kernels rows16_tile_kernels() {
  constexpr bool four = tiles_at_four<F>();
  constexpr bool eight = tiles_at_eight<F>();
  return {{{nullptr, nullptr, tile_kernel<F, 1, 4, four>(), tile_kernel<F, 1, 8, eight>()},
           {nullptr, nullptr, tile_kernel<F, 2, 4, four>(), tile_kernel<F, 2, 8, eight>()},
           {}},
          Packing<F>::tile};
}

}  // namespace lanewise::LW_TARGET
