// GEMV over the rows16 layout (layout/rows16.h): sixteen rows a step, one a lane, for any format of codes. Compiled
// once for each target (simd/*.h) and format; the text knows formats by their traits only.
//
// A tile is walked eighth by eighth, super-block by super-block, in memory order. A quad of sixteen rows is decoded by
// the format's own decode file, made unsigned by adding `bias`, and multiplied with every token and plane (a column) by
// the target's dot_chunk(). What the bias adds is in what the sums start from.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arithmetic/columns.h"
#include "backends/cpu/prefetch.h"
#include "backends/cpu/rows16.h"
#include "backends/cpu/rows16_decode.h"

namespace lanewise::LW_TARGET {

/// What is prefetched while a super-block is multiplied: into the second cache, and into the first.
struct Fetch {
  const std::uint8_t* far;
  const std::uint8_t* near;
  LW_AI Fetch operator+(std::ptrdiff_t bytes) const { return {far + bytes, near + bytes}; }
};

/// The super-blocks of one tile, in either layout. `Near`: how far ahead lines are fetched into the first cache; 0:
/// not.
template <class F, std::uint64_t Near>
class TileSteps {
 public:
  struct Step {
    const std::uint8_t* words;
    const std::uint8_t* behind;  ///< the bytes beside the words
    Fetch fetch;                 ///< what to prefetch meanwhile
  };
  LW_AI explicit TileSteps(const Rows16Call& call) : call_(call) {}

  /// Super-block b; GGUF's rows are transposed into `scratch`, of Packing<F>::step_bytes.
  LW_AI Step at(std::uint64_t b, std::uint8_t* scratch) const {
    constexpr std::uint64_t word_step = Packing<F>::word_step;
    if (call_.packed == nullptr) {
      Packing<F>::step(call_.rows, b, Packing<F>::blocks_of(call_.cols, b), scratch, scratch + word_step);
      const std::uint8_t* next = call_.next + b * Packing<F>::step_bytes;
      fetch_beside<Packing<F>::beside_step>({next + word_step, scratch});
      return {scratch, scratch + word_step, {next, scratch}};
    }
    const auto place = Packing<F>::at(call_.cols, b);
    const std::uint8_t* words = call_.packed + place.words;
    const std::uint8_t* behind = call_.packed + place.behind;
    const Fetch fetch{words + call_.ahead, words + Near};
    // Those beside a run's words with its last super-block, where they lie next in the stream.
    constexpr std::uint64_t steps = Packing<F>::run_steps;
    if (steps == 1 || b % steps == steps - 1) {
      fetch_beside<steps * Packing<F>::beside_step>(fetch + static_cast<std::ptrdiff_t>(word_step));
    }
    return {words, behind, fetch};
  }

 private:
  /// What the kernels' own prefetches, as many as a super-block has words, leave.
  template <std::uint64_t Bytes>
  static LW_AI void fetch_beside(Fetch fetch) {
    for (std::uint64_t line = 0; line < Bytes; line += 64) {
      prefetch(fetch.far + line);
      if constexpr (Near != 0) prefetch_near(fetch.near + line);
    }
  }

  const Rows16Call& call_;
};

/// The accumulators of an eighth, added up.
template <int Chains>
LW_AI Float fold_chains(const Float* a) {
  if constexpr (Chains == 1) return a[0];
  if constexpr (Chains == 2) return a[0] + a[1];
  if constexpr (Chains == 4) return (a[0] + a[1]) + (a[2] + a[3]);
}
/// y of sixteen rows from their eighths.
LW_AI void store_eighths(const Float* r, float* y) {
  const Float low = (r[0] + r[1]) + (r[2] + r[3]);
  const Float high = (r[4] + r[5]) + (r[6] + r[7]);
  store(y, canonical(low + high + Float(0.0F)));
}

/// P planes; tokens in batches of T, each with a record of its own (arithmetic/columns.h); at most `Batches` of them.
template <class F, int P, int T, int Batches>
struct Rows16 {
  using Decode = Decoder<F>;
  using SuperBlock = typename Decode::SuperBlock;
  using Scale = typename Decode::Scale;

  static constexpr ColumnOffsets at{T, P};
  static constexpr int columns = P * T;
  static constexpr int chains = 256 / F::dgroup < 4 ? 256 / F::dgroup : 4;
  // Elements whose dot products share one sub-scale, or d where there is none: a chunk.
  static constexpr int chunk = F::group < 32 ? F::group : 32;
  static constexpr int quads = chunk / 4;
  static constexpr int chunks = F::dgroup / chunk;  // of a d-group
  static constexpr int chunks_a_group = F::group / chunk;
  static constexpr int groups = F::dgroup / F::group;      // of a d-group
  static constexpr int dgroups = F::elements / F::dgroup;  // of a block
  static constexpr bool scaled = Decode::scaled;
  static constexpr bool short_scales = Decode::short_scales;
  // How many float sums share a d-group, so that each stays exact; 0: integer sums.
  static constexpr int parts = Decode::float_scales ? F::float_parts : 0;
  static constexpr int part_chunks = parts == 3 ? 6 : parts == 2 ? chunks / 2 : chunks;
  // Planes may be joined where the whole stays below 2^31 and F is the whole, rounded once: before the sub-scale, but
  // for sums of 16 bits.
  static constexpr bool joinable = P == 2 && F::joinable && parts == 0;
  static constexpr bool joined = joinable && !short_scales;
  static constexpr int sums = joined ? T : columns;
  // Chunks whose sums run side by side: a dot product's result is ready after some seven cycles, in which fourteen can
  // start, so that eight sums alone would leave half of the machine idle.
  static constexpr int sides = 2 * columns <= most_sums && 256 / chunk >= 2 && columns > 2 ? 2 : 1;
  // Whether codes go from W through registers to their products. Such text is long: in three planes, which are rare, it
  // isn't compiled, nor for look-ups in grids one by one, which would hide whatever it saves.
  static constexpr bool in_registers = T <= register_tokens && P < 3 && (!F::has_grid || F::run != 0);
  // How far ahead lines come into the first cache. A super-block that is decoded at once finds all of it there: while
  // the one before is multiplied, and had been decoded by then.
  static constexpr std::uint64_t next_ahead = near_ahead < Packing<F>::step_bytes ? Packing<F>::step_bytes : near_ahead;
  static constexpr std::uint64_t near = in_registers ? near_ahead : next_ahead;
  // The order in which this format's codes come.
  static constexpr std::uint32_t elements_at = F::run == 16 ? at.quads : F::run == 32 ? at.eights : at.codes;
  // Lines of W's words that are prefetched while a chunk is multiplied: those of its block that fall to it, each once,
  // or (where the chunk is known at run time only) as many as its own codes may reach into.
  static constexpr int block_lines = int(F::bytes) / 4;
  static constexpr int block_chunks = int(F::elements) / chunk;
  static constexpr int chunk_bytes = block_lines * 64 / block_chunks;
  static constexpr int lines = (chunk_bytes + 63) / 64;
  static constexpr int first_line(int c) { return c * block_lines / block_chunks; }

  struct State {
    Float a[Batches][T][chains];
  };
  /// Sums of a d-group: floats in `parts`, or integers.
  struct Sums {
    Float f[parts != 0 ? parts : 1][sums];
    Int j[sums];
  };

  static LW_AI const std::int32_t* minus_of(const std::uint8_t* x, int column, int k) {
    return chunk == 16 ? reinterpret_cast<const std::int32_t*>(x + at.minus16) + std::ptrdiff_t{column} * 16 + k / 16
                       : reinterpret_cast<const std::int32_t*>(x + at.minus32) + std::ptrdiff_t{column} * 8 + k / 32;
  }
  static LW_AI const std::int32_t* joined_of(const std::uint8_t* x, int token, int k) {
    return chunk == 16 ? reinterpret_cast<const std::int32_t*>(x + at.joined16) + std::ptrdiff_t{token} * 16 + k / 16
                       : reinterpret_cast<const std::int32_t*>(x + at.joined32) + std::ptrdiff_t{token} * 8 + k / 32;
  }
  static LW_AI const std::int32_t* runs_of(const std::uint8_t* x, int column, int k) {
    return chunk == 16 ? reinterpret_cast<const std::int32_t*>(x + at.runs16) + std::ptrdiff_t{column} * 16 + k / 16
                       : reinterpret_cast<const std::int32_t*>(x + at.runs32) + std::ptrdiff_t{column} * 8 + k / 32;
  }
  // Sums of a plane over two neighbouring groups, 16 bits each.
  static LW_AI const std::int32_t* pairs_of(const std::uint8_t* x, int column, int pair) {
    return F::group == 16 ? reinterpret_cast<const std::int32_t*>(x + at.sums16) + std::ptrdiff_t{column} * 8 + pair
                          : reinterpret_cast<const std::int32_t*>(x + at.sums32) + std::ptrdiff_t{column} * 4 + pair;
  }

  /// What the bias adds to the chunk at element k, taken off beforehand.
  template <bool First, int Left = 0>
  static LW_AI void start(const std::uint8_t* x, int k, Int* s) {
    unroll<0, columns>([&](auto c) __attribute__((always_inline)) {
      if constexpr (F::run != 0) {
        static_assert(!joined && First);
        s[c] = broadcast(runs_of(x, c, k));
      } else if constexpr (F::bias != 0 && (!joined || c % 2 == 0)) {
        const Int minus = broadcast(joined ? joined_of(x, c / 2, k) : minus_of(x, c, k)) << (F::bias_log + Left);
        s[c] = First ? minus : s[c] + minus;
      } else if constexpr (First) {
        s[c] = zero_int();
      }
    });
  }
  struct Nothing {
    LW_AI void operator()(int) const {}
  };
  /// Adds the dot products of `Sides` chunks from element k on; also(q) after the products of the q-th quads. Of the
  /// lines from `fetch` on, those of the block's chunk `Chunk`; any_chunk: those of the chunks, which begin at `fetch`.
  static constexpr int any_chunk = -1;
  template <int Sides, int Chunk = any_chunk, unsigned Left = 0, class Codes, class Also = Nothing>
  static LW_AI void dots(const Codes& codes, const std::uint8_t* x, int k, Fetch fetch, Int (*s)[columns],
                         Also also = {}) {
    constexpr int first = Chunk == any_chunk ? 0 : first_line(Chunk);
    constexpr int count = Chunk == any_chunk ? lines * Sides : first_line(Chunk + 1) - first;
    const std::int8_t* row = reinterpret_cast<const std::int8_t*>(x + elements_at) + k;
    dot_chunk<quads, columns, Sides, (F::max_code + F::bias) << Left, joined>(
        codes, row, s[0], [&](auto q) __attribute__((always_inline)) {
          // Prefetches in step with the products: a burst of them fills the line-fill buffers and stalls.
          unroll<0, count>([&](auto line) __attribute__((always_inline)) {
            if constexpr (line * quads / count == q) {
              constexpr int at_line =
                  Chunk == any_chunk ? line / lines * chunk_bytes + line % lines * 64 : (first + line) * 64;
              prefetch(fetch.far + at_line);
              prefetch_near(fetch.near + at_line);
            }
          });
          also(q);
        });
  }
  // Float sub-scales only; here for the compiler's sake, which checks the other kinds' text too.
  static LW_AI Float times(Float scale, float factor) { return scale * Float(factor); }
  template <class Other>
  static LW_AI Other times(Other scale, float) {
    return scale;
  }
  static LW_AI void join(const Int* s, Int* out) {
    unroll<0, sums>([&](auto c) __attribute__((always_inline)) {
      if constexpr (joined) {
        out[c] = s[2 * c] + (s[2 * c + 1] << 8);
      } else {
        out[c] = s[c];
      }
    });
  }
  /// Adds a chunk's sums times its sub-scale. `First` starts them.
  template <bool First, int Part>
  static LW_AI void add(const Int* s, Scale scale, Sums& total) {
    if constexpr (short_scales) {
      unroll<0, columns>([&](auto c) __attribute__((always_inline)) {
        total.j[c] = dot_pairs(First ? zero_int() : total.j[c], scale, to_word(s[c]));
      });
    } else if constexpr (parts != 0) {
      unroll<0, columns>([&](auto c) __attribute__((always_inline)) {
        const Float value = to_float(s[c]);
        total.f[Part][c] = First ? value * scale : fused(value, scale, total.f[Part][c]);
      });
    } else {
      Int joint[sums];
      join(s, joint);
      unroll<0, sums>([&](auto c) __attribute__((always_inline)) {
        const Int term = joint[c] * scale;
        total.j[c] = First ? term : total.j[c] + term;
        // Otherwise the compiler puts the sums off to the end, and every term into memory.
        if constexpr (F::run != 0) total.j[c] = pin(total.j[c]);
      });
    }
  }

  static LW_AI Float planes_value(const Float* f) {
    if constexpr (P == 1) return f[0];
    const Float low = fused(f[1], Float(256.0F), f[0]);
    if constexpr (P == 3) return fused(f[2], Float(65536.0F), low);
    return low;
  }
  /// F of a token.
  static LW_AI Float value(const Sums& total, int t) {
    if constexpr (joined) return to_float(total.j[t]);
    if constexpr (joinable && !joined) return to_float(total.j[2 * t] + (total.j[2 * t + 1] << 8));
    Float f[P];
    unroll<0, P>([&](auto p) __attribute__((always_inline)) {
      const int c = t * P + p;
      if constexpr (parts == 0) f[p] = to_float(total.j[c]);
      if constexpr (parts == 1) f[p] = total.f[0][c];
      // Exact halves: their sum is the whole, rounded once.
      if constexpr (parts == 2) f[p] = total.f[0][c] + total.f[1][c];
      if constexpr (parts == 3) f[p] = to_float(whole(total.f[0][c]) + whole(total.f[1][c]) + whole(total.f[2][c]));
    });
    return planes_value(f);
  }
  /// F of the sums that a min multiplies: of x, or of x times the sub-mins.
  static LW_AI Float min_value(const std::uint8_t* x, int t, int k, const Word* pairs) {
    Int m[P];
    unroll<0, P>([&](auto p) __attribute__((always_inline)) {
      m[p] = zero_int();
      if constexpr (Decode::has_sub_mins) {
        unroll<0, groups / 2>([&](auto i) __attribute__((always_inline)) {
          m[p] = dot_pairs(m[p], pairs[i], pairs_of(x, t * P + p, i));
        });
      } else {
        unroll<0, chunks>([&](auto i) __attribute__((always_inline)) {
          m[p] = m[p] - broadcast(minus_of(x, t * P + p, k + i * chunk));
        });
      }
    });
    if constexpr (P == 2) return to_float(m[0] + (m[1] << 8));
    Float f[P];
    unroll<0, P>([&](auto p) __attribute__((always_inline)) { f[p] = to_float(m[p]); });
    return planes_value(f);
  }
  /// What a d-group at element k, of which F is f, adds to token t's accumulator.
  static LW_AI void add_term(const std::uint8_t* x, int t, int k, Float f, Float d, Int exponent, Float min,
                             const Word* pairs, Float& a) {
    if constexpr (F::exponent_scale) {
      const Int e = broadcast(reinterpret_cast<const std::int32_t*>(x + at.exponents) + t);
      a = fused(f, biased_power(exponent + e), a);
    } else {
      const Float power = broadcast(reinterpret_cast<const float*>(x + at.powers) + t);
      a = fused(d * f, power, a);
      if constexpr (F::has_min) a = fused(min * min_value(x, t, k, pairs), power, a);
    }
  }
  /// What the d-group at element k adds to the accumulators.
  static LW_AI void finish(const std::uint8_t* x, int k, const Sums& total, Float d, Int exponent, Float min,
                           const Word* pairs, Float (*a)[chains]) {
    const int v = k / F::dgroup % 4;
    unroll<0, T>([&](auto t) __attribute__((always_inline)) {
      add_term(x, t, k, value(total, t), d, exponent, min, pairs, a[t][v]);
    });
  }

  /// The quads from `First` on, made as they are asked for, `Left` bits left of their value.
  template <int First, unsigned Left>
  struct Quads {
    const BlockVectors<F>& block;
    template <int Q>
    LW_AI Word operator[](Index<Q> /*quad*/) const {
      return Decode::template quad_in_place<First + Q, Left>(block);
    }
  };
  /// One or two tokens, every code in registers: the block whose elements start at k.
  static LW_AI void block_in_registers(const BlockVectors<F>& block, const std::uint8_t* x, int k, Fetch fetch,
                                       Float (*a)[chains]) {
    Word codes[F::elements / 4];
    typename Decode::Held held;
    if constexpr (F::run != 0) Decode::template run<0>(block, codes, held);
    unroll<0, dgroups>([&](auto dgroup) __attribute__((always_inline)) {
      Sums total;
      Int s[1][columns];
      // Every chunk starts its own sums: one that ran on over 128 elements would wait for the products' latency alone.
      Int run[columns];
      unroll<0, chunks>([&](auto i) __attribute__((always_inline)) {
        constexpr int c = dgroup * chunks + i;
        // Codes that stay where they are spare a shift a quad; their sums are that much greater.
        constexpr auto left = Decode::template left_shift<c * quads, quads>();
        if constexpr (F::run == 0 && !streams_codes) {
          unroll<0, quads>([&](auto q) __attribute__((always_inline)) {
            codes[c * quads + q] = Decode::template quad_in_place<c * quads + q, left>(block);
          });
        }
        start<true, left>(x, k + c * chunk, s[0]);
        // The next run is made beside the products of this one, so that in the order of the program nothing waits long.
        const auto make_next = [&]([[maybe_unused]] auto q) __attribute__((always_inline)) {
          if constexpr (F::run != 0) {
            constexpr int words = F::run / 4;
            constexpr int next = (c * quads + q) / words + 1;
            if constexpr (q % words == 0 && next * words < int(F::elements) / 4) {
              Decode::template run<next>(block, codes + next * words, held);
            }
          }
        };
        if constexpr (streams_codes) {
          dots<1, c, left>(Quads<c * quads, left>{block}, x, k + c * chunk, fetch, s);
        } else {
          dots<1, c, left>(codes + c * quads, x, k + c * chunk, fetch, s, make_next);
        }
        if constexpr (left != 0 && parts == 0) {
          unroll<0, columns>([&](auto n) __attribute__((always_inline)) { s[0][n] = s[0][n] >> left; });
        }
        if constexpr (scaled) {
          Scale scale = Decode::template scale<c / chunks_a_group>(block);
          if constexpr (left != 0 && parts != 0) scale = times(scale, 1.0F / (1u << left));
          add<i % part_chunks == 0, i / part_chunks>(s[0], scale, total);
        } else {
          unroll<0, columns>([&](auto n)
                                 __attribute__((always_inline)) { run[n] = i == 0 ? s[0][n] : run[n] + s[0][n]; });
        }
      });
      if constexpr (!scaled) join(run, total.j);
      Float d = 0.0F;
      Int exponent = 0;
      if constexpr (F::exponent_scale) {
        exponent = Decode::template exponent<dgroup>(block);
      } else {
        d = F::d(Decode::template scale_bits<dgroup>(block));
      }
      Float min = 0.0F;
      if constexpr (F::has_min) min = Decode::template min<dgroup>(block);
      Word pairs[Decode::has_sub_mins ? groups / 2 : 1];
      if constexpr (Decode::has_sub_mins) {
        unroll<0, groups / 2>([&](auto i) __attribute__((always_inline)) {
          pairs[i] = Decode::template min_pair<dgroup * groups / 2 + i>(block);
        });
      }
      finish(x, k + dgroup * F::dgroup, total, d, exponent, min, pairs, a);
    });
  }

  static LW_AI void finish_from_memory(const SuperBlock& w, const std::uint8_t* x, int dgroup, const Sums& total,
                                       Float (*a)[chains]) {
    finish(x, dgroup * F::dgroup, total, w.d[dgroup], w.exponent[F::exponent_scale ? dgroup : 0],
           w.m[F::has_min ? dgroup : 0], w.min_pairs + (Decode::has_sub_mins ? dgroup * groups / 2 : 0), a);
  }
  /// Chunks c to c + Sides - 1, each a d-group.
  template <int Sides>
  static LW_AI void whole_dgroups(const SuperBlock& w, const std::uint8_t* x, int c, Fetch fetch, Float (*a)[chains]) {
    Int s[Sides][columns];
    unroll<0, Sides>([&](auto i) __attribute__((always_inline)) { start<true>(x, (c + i) * chunk, s[i]); });
    dots<Sides>(w.codes + c * quads, x, c * chunk, fetch + std::ptrdiff_t{c} * chunk_bytes, s);
    unroll<0, Sides>([&](auto i) __attribute__((always_inline)) {
      Sums total;
      if constexpr (scaled) {
        add<true, 0>(s[i], w.scales[c + i], total);
      } else {
        join(s[i], total.j);
      }
      finish_from_memory(w, x, c + i, total, a);
    });
  }
  /// A d-group of several chunks with sub-scales.
  static LW_AI void scaled_dgroup(const SuperBlock& w, const std::uint8_t* x, int dgroup, Fetch fetch,
                                  Float (*a)[chains]) {
    Sums total;
    unroll<0, sums>([&](auto c) __attribute__((always_inline)) {
      total.j[c] = zero_int();
      unroll<0, parts>([&](auto part) __attribute__((always_inline)) { total.f[part][c] = zero_float(); });
    });
    unroll<0, parts == 0 ? 1 : parts>([&](auto part) __attribute__((always_inline)) {
      constexpr int left = chunks - part * part_chunks;
      constexpr int count = left < part_chunks ? left : part_chunks;
      const int first = dgroup * chunks + part * part_chunks;
#pragma GCC unroll 1
      for (int c = first; c < first + count; c += sides) {
        Int s[sides][columns];
        unroll<0, sides>([&](auto i) __attribute__((always_inline)) { start<true>(x, (c + i) * chunk, s[i]); });
        dots<sides>(w.codes + c * quads, x, c * chunk, fetch + std::ptrdiff_t{c} * chunk_bytes, s);
        unroll<0, sides>([&](auto i) __attribute__((always_inline)) {
          add<false, part>(s[i], w.scales[(c + i) / chunks_a_group], total);
        });
      }
    });
    finish_from_memory(w, x, dgroup, total, a);
  }
  /// A d-group of several chunks without sub-scales: the dot products run on from chunk to chunk.
  static LW_AI void plain_dgroup(const SuperBlock& w, const std::uint8_t* x, int dgroup, Fetch fetch,
                                 Float (*a)[chains]) {
    Int s[sides][columns];
    unroll<0, sides>([&](auto i) __attribute__((always_inline)) {
      unroll<0, columns>([&](auto c) __attribute__((always_inline)) { s[i][c] = zero_int(); });
    });
#pragma GCC unroll 1
    for (int c = dgroup * chunks; c < (dgroup + 1) * chunks; c += sides) {
      unroll<0, sides>([&](auto i) __attribute__((always_inline)) { start<false>(x, (c + i) * chunk, s[i]); });
      dots<sides>(w.codes + c * quads, x, c * chunk, fetch + std::ptrdiff_t{c} * chunk_bytes, s);
    }
    unroll<1, sides>([&](auto i) __attribute__((always_inline)) {
      unroll<0, columns>([&](auto c) __attribute__((always_inline)) { s[0][c] = s[0][c] + s[i][c]; });
    });
    Sums total;
    join(s[0], total.j);
    finish_from_memory(w, x, dgroup, total, a);
  }
  /// `blocks` blocks, decoded into the first cache, times one batch.
  static LW_AI void batch_from_memory(const SuperBlock& w, int blocks, const std::uint8_t* x, Fetch fetch,
                                      Float (*a)[chains]) {
    const int count = blocks * dgroups;
    int g = 0;
    if constexpr (chunks == 1) {
#pragma GCC unroll 1
      for (; g + sides <= count; g += sides) whole_dgroups<sides>(w, x, g, fetch, a);
    }
#pragma GCC unroll 1
    for (; g < count; ++g) {
      if constexpr (chunks == 1) {
        whole_dgroups<1>(w, x, g, fetch, a);
      } else if constexpr (scaled) {
        scaled_dgroup(w, x, g, fetch, a);
      } else {
        plain_dgroup(w, x, g, fetch, a);
      }
    }
  }

  /// One super-block of `blocks` blocks, fewer than all only at the end of a row.
  static LW_AI void super_block(const std::uint8_t* tile, const std::uint8_t* behind, int blocks, const std::uint8_t* x,
                                int batches, Fetch fetch, State& state) {
    if constexpr (in_registers) {
#pragma GCC unroll 1
      for (int i = 0; i < blocks; ++i) {
        block_in_registers(BlockVectors<F>::at(tile, behind, i), x, i * static_cast<int>(F::elements),
                           fetch + std::ptrdiff_t{i} * block_lines * 64, state.a[0]);
      }
    } else {
      SuperBlock decoded;
      Decode::decode(tile, behind, blocks, decoded);
#pragma GCC unroll 1
      for (int n = 0; n < (Batches == 1 ? 1 : batches); ++n) {
        batch_from_memory(decoded, blocks, x + std::size_t{at.bytes} * static_cast<std::size_t>(n), fetch, state.a[n]);
      }
    }
  }

  static void tile(const Rows16Call& call) {
    alignas(64) std::uint8_t scratch[Packing<F>::step_bytes];
    const TileSteps<F, near> steps(call);
    const std::uint64_t count = (call.cols + 255) / 256;
    const std::uint64_t record = static_cast<std::uint64_t>(call.batches) * at.bytes;
    Float r[Batches * T][8];
    std::uint64_t b = 0;
    for (std::uint64_t g = 0; g < 8; ++g) {
      State state;
      for (int t = 0; t < Batches * T; ++t) {
        for (int v = 0; v < chains; ++v) state.a[t / T][t % T][v] = zero_float();
      }
      for (const std::uint64_t end = ((g + 1) * count + 7) / 8; b < end; ++b) {
        const auto step = steps.at(b, scratch);
        super_block(step.words, step.behind, Packing<F>::blocks_of(call.cols, b), call.x + b * record, call.batches,
                    step.fetch, state);
      }
      for (int t = 0; t < Batches * T; ++t) r[t][g] = fold_chains<chains>(state.a[t / T][t % T]);
    }
    for (int t = 0; t < call.batches * T; ++t) store_eighths(r[t], call.y + std::ptrdiff_t{16} * t);
  }
};

template <class F>
constexpr Rows16Kernels rows16_kernels() {
  return {{{Rows16<F, 1, 1, 1>::tile, nullptr, Rows16<F, 1, 4, 1>::tile, Rows16<F, 1, 8, 1>::tile},
           {Rows16<F, 2, 1, 1>::tile, Rows16<F, 2, 2, 1>::tile, Rows16<F, 2, 4, 1>::tile, Rows16<F, 2, 8, 1>::tile},
           {Rows16<F, 3, 1, 1>::tile, nullptr, Rows16<F, 3, 4, 2>::tile, nullptr}},
          Packing<F>::tile};
}

}  // namespace lanewise::LW_TARGET
