// One super-block of a tile times a slice of x: what a warp adds to the accumulators of one eighth of K. A mode says
// how tokens and planes lie in the eight columns of the matrix unit. All sums up to a d-group's are integers, exact in
// any order; the steps after that are those of docs/arithmetic.md, one rounded fp32 operation each.
#pragma once

#include "backends/cuda/frag_tile.cuh"

namespace lanewise::cuda {

/// The slice of x that a block meets, in shared memory or as the image has it.
struct FragX {
  static constexpr std::uint32_t zero_bytes = 512;

  const std::uint8_t* codes;   ///< image.h's codes
  const std::int32_t* joined;  ///< [blocks][groups][slots]: sums of q of groups, for sub-mins, in shared memory
  const std::int32_t* sums;    ///< [blocks][groups][columns]: the same plane by plane
  /// [blocks][planes][2][slots][16]: the sums' digits to the base 64, -32..31 and the rest; for sums by matrix units
  const std::uint8_t* digits;
  const std::int32_t* starts;   ///< [blocks][groups][columns], in shared memory: the sums times what codes lack
  const std::uint8_t* zeros;    ///< zero_bytes of them, in shared memory
  const std::uint32_t* powers;  ///< [blocks][slots]: 2^e, or e where d is an exponent
  std::uint32_t slots;
  std::uint32_t columns;
};

/// value * 2^exponent + sum as formats with an exponent for d take it: 2^exponent is +0 below 2^-126 and +infinity
/// above 2^90. The bound above comes of a multiplication that overflows: fewer of the operations that these kernels are
/// short of than a choice. Each product is exact.
LW_DEVICE float frag_add_power(float sum, float value, std::int32_t exponent) {
  const std::int32_t least = exponent < -127 ? -127 : exponent;
  const std::int32_t bound = least > 91 ? 91 : least;
  const float power = float_of(static_cast<std::uint32_t>(bound) * 0x00800000U + 0x3F800000U);
  constexpr float up = 0x1p37F;  // 2^91 * 2^37 is infinite, 2^90 * 2^37 isn't
  return add_exact_product(multiply(value, 1.0F / up), multiply(power, up), sum);
}

template <class F>
struct FragScale {
  float d;
  std::int32_t exponent;
  LW_DEVICE_MEMBER FragScale of(std::uint32_t raw) {
    FragScale s;
    s.d = F::d(raw);
    s.exponent = F::exponent(raw);
    return s;
  }
  // sum + (d * F) * 2^e: the product with the power is exact, so that the addition may be fused with it. Where F has a
  // factor, `down` is one over it, exact too.
  template <bool Down>
  LW_DEVICE_CONST float add_term(float sum, float value, std::uint32_t power, float down) const {
    if constexpr (F::exponent_scale) {
      return frag_add_power(sum, value, exponent + static_cast<std::int32_t>(power));
    } else {
      return add_exact_product(multiply(d, value), Down ? multiply(float_of(power), down) : float_of(power), sum);
    }
  }
};

/// F of two planes, of which each may be `Factor` (a power of two) times the sum, and so is F then.
template <class F, std::uint32_t Factor>
LW_DEVICE float frag_value(std::int32_t low, std::int32_t high) {
  // |low + 256 * high| is at most 128 * 257 times the most.
  if constexpr (F::joinable && F::most * Factor * 128 * 257 < (std::int64_t{1} << 31))
    return to_float(low + 256 * high);
  return add_exact_product(256.0F, to_float(high), to_float(low));
}

template <class F>
struct FragFacts {
  using P = FragPlan<F>;
  static constexpr bool narrow = F::group < 32;   // two sub-scales within 32 elements
  static constexpr bool wide = F::dgroup == 256;  // one accumulator an eighth
  static constexpr bool scaled = P::sc_bits != 0;
  static constexpr std::uint32_t chains = wide ? 1 : F::dgroup == 128 ? 2 : 4;
  // What groups' own numbers add, sub-mins or sub-scales of an offset, over all tokens: a matrix product with the sums.
  static constexpr bool mins_by_product = P::has_mn && P::sc_in_header;
  static constexpr bool offset_by_product = F::offset != 0 && P::sc_in_header;
  static constexpr std::uint32_t groups = narrow ? 16 : 8;  // of 16 or 32 elements, as sums of x come
  // Codes stay where they are in their bytes where no sum runs over groups that have different factors.
  static constexpr bool in_place_one = P::in_place && (wide || F::dgroup <= 32);
  static constexpr bool in_place_many = P::in_place && (scaled || F::dgroup <= 32);
};

// One over 2^exponent.
LW_DEVICE float frag_down(std::uint32_t exponent) { return float_of((127U - exponent) << 23); }

// ---- One token in two planes ----
//
// Columns 2p and 2p + 1 are the planes of the groups whose number is p modulo four (of d-groups of 64 and 128: of
// d-group p): B is zero elsewhere, so that one accumulator holds four groups, group 4x + t in lane t.
template <class F>
struct FragOne {
  using P = FragPlan<F>;
  using Facts = FragFacts<F>;
  static constexpr std::uint32_t window = 1;
  static constexpr std::uint32_t planes = 2;
  static constexpr std::uint32_t outputs = frag_rows;
  static constexpr std::uint32_t most_groups = 3;
  static constexpr bool x_shared = true;
  static constexpr bool all_nibbles = Facts::scaled && P::has_lane_nibbles && P::sc_bits == 3;
  static constexpr bool joins = true;
  static constexpr bool mins_by_product = false;
  static constexpr bool offset_by_product = false;
  static constexpr std::uint32_t sets = Facts::narrow ? 4 : Facts::wide || F::dgroup <= 32 ? 2 : 1;

  // Wide: of row g + 8 (t % 2); else of chain t of both rows.
  float a[2] = {0.0F, 0.0F};

  static constexpr bool in_place = Facts::in_place_one;
  // The factor of group 4i + t's codes (of 16 or 32 elements), this lane's, as a power of two.
  LW_DEVICE_MEMBER std::uint32_t place_of(std::uint32_t i) {
    const std::uint32_t t = thread_index() % 4;
    const std::uint32_t s = Facts::narrow ? 2 * i + t / 2 : 4 * i + t;
    return in_place ? s % P::slots * P::code_bits : 0;
  }
  LW_BOTH static std::uint32_t pair_of(std::uint32_t s) {
    return F::dgroup == 64 ? s / 2 : F::dgroup == 128 ? s / 4 : s % 4;
  }

  LW_DEVICE_INSIDE void add_block(const FragTile<F>& w, const FragX& x, std::uint32_t b) {
    const std::uint32_t lane = thread_index() % 32;
    const std::uint32_t t = lane % 4;
    const std::uint32_t pair = lane / 8;
    std::int32_t c[sets][4];
    LW_UNROLL
    for (std::uint32_t i = 0; i < sets; ++i) start(x, b, i, c[i]);
    // What this lane multiplies in the groups that are its columns', and zeros for the others, from where they lie: an
    // address chosen for a few groups costs less than two words chosen for each.
    const std::uint8_t* const mine = x.codes + b * 512 + lane / 4 % 2 * 32 + 8 * t;
    constexpr std::uint32_t kinds = sets == 1 ? 8 : Facts::narrow ? 2 : 4;
    const std::uint8_t* from[kinds];
    LW_UNROLL
    for (std::uint32_t i = 0; i < kinds; ++i) {
      const bool own = sets == 1       ? pair == pair_of(i)
                       : P::halves     ? pair == 2 * i
                       : Facts::narrow ? pair / 2 == i && t / 2 == pair % 2
                                       : pair == i;
      from[i] = own ? mine : x.zeros;
    }
    const std::uint8_t* second[2];  // of groups of 16, the second of a pair has columns of its own
    if constexpr (P::halves) {
      second[0] = pair == 1 ? mine : x.zeros;
      second[1] = pair == 3 ? mine : x.zeros;
    }
    LW_UNROLL
    for (std::uint32_t s = 0; s < 8; ++s) {
      static_assert(FragX::zero_bytes == 8 * 64, "as many as x has a super-block");
      uint2 v;
      if constexpr (P::halves) {
        v.x = *reinterpret_cast<const std::uint32_t*>(from[s % kinds] + s * 64);
        v.y = *reinterpret_cast<const std::uint32_t*>(second[s % kinds] + s * 64 + 4);
      } else {
        v = *reinterpret_cast<const uint2*>(from[s % kinds] + s * 64);
      }
      std::int32_t(&sums)[4] = c[Facts::narrow ? s / 2 : sets > 1 ? s / 4 : 0];
      if constexpr (in_place) {
        mma_u8(sums, w.quad_in_place(s, 0, 0), w.quad_in_place(s, 0, 1), w.quad_in_place(s, 1, 0),
               w.quad_in_place(s, 1, 1), v.x, v.y);
      } else {
        mma_s8(sums, w.quad(s, 0, 0), w.quad(s, 0, 1), w.quad(s, 1, 0), w.quad(s, 1, 1), v.x, v.y);
      }
    }
    const std::uint32_t power = x.powers[b];
    if constexpr (Facts::wide) {
      add_wide(w, x, b, c, power);
    } else {
      LW_UNROLL
      for (std::uint32_t i = 0; i < sets; ++i) {
        add_narrow(w, x, b, c[i], 4 * i + t, power, in_place ? frag_down(place_of(i)) : 1.0F);
      }
    }
  }

  // Where the sums of set i start: columns 2t and 2t + 1 are group 4i + t's, or d-group t's.
  LW_DEVICE_MEMBER void start(const FragX& x, std::uint32_t b, std::uint32_t i, std::int32_t (&c)[4]) {
    const std::uint32_t t = thread_index() % 4;
    c[0] = c[1] = 0;
    if constexpr (F::offset != 0) {
      constexpr std::uint32_t n = sets > 1 ? 1 : F::dgroup / 32;
      if (sets > 1 || P::dgroups >= 4 || t < P::dgroups) {
        LW_UNROLL
        for (std::uint32_t k = 0; k < n; ++k) {
          const std::int32_t* at = x.starts + (b * Facts::groups + 4 * i + t * n + k) * 2;
          c[0] += at[0];
          c[1] += at[1];
        }
        if constexpr (in_place) {
          c[0] *= 1 << place_of(i);
          c[1] *= 1 << place_of(i);
        }
      }
    }
    c[2] = c[0];
    c[3] = c[1];
  }

  LW_DEVICE_INSIDE void add_wide(const FragTile<F>& w, const FragX& x, std::uint32_t b,
                                 const std::int32_t (&c)[sets][4], std::uint32_t power) {
    const std::uint32_t t = thread_index() % 4;
    std::int32_t j[2][2] = {{0, 0}, {0, 0}};
    std::int32_t m[2] = {0, 0};
    LW_UNROLL
    for (std::uint32_t i = 0; i < sets; ++i) {
      LW_UNROLL
      for (std::uint32_t h = 0; h < 2; ++h) {
        std::int32_t sc = Facts::scaled ? w.lane_sc(h, i) : 1;
        if constexpr (in_place) sc *= 1 << (P::place_bits - place_of(i));  // all groups then have the largest factor
        j[h][0] += sc * c[i][2 * h];
        j[h][1] += sc * c[i][2 * h + 1];
        if constexpr (F::has_min) m[h] += w.lane_mn(h, i) * x.joined[b * Facts::groups + 4 * i + t];
      }
    }
    // Lanes of even t keep row g, the others row g + 8.
    const bool second = t % 2 != 0;
    float value;
    constexpr std::uint32_t factor = in_place ? 1U << P::place_bits : 1;
    if constexpr (F::joinable && F::most * factor * 128 * 257 < (std::int64_t{1} << 31)) {
      const std::int32_t whole[2] = {j[0][0] + 256 * j[0][1], j[1][0] + 256 * j[1][1]};
      std::int32_t sum = second ? whole[1] : whole[0];
      sum += shuffle_xor(second ? whole[0] : whole[1], 1);
      sum += shuffle_xor(sum, 2);
      value = to_float(sum);
    } else {
      std::int32_t low = second ? j[1][0] : j[0][0];
      std::int32_t high = second ? j[1][1] : j[0][1];
      low += shuffle_xor(second ? j[0][0] : j[1][0], 1);
      high += shuffle_xor(second ? j[0][1] : j[1][1], 1);
      low += shuffle_xor(low, 2);
      high += shuffle_xor(high, 2);
      value = frag_value<F, factor>(low, high);
    }
    const auto scale = FragScale<F>::of(second ? w.d_raw(1, 0) : w.d_raw(0, 0));
    a[0] = scale.template add_term<in_place>(a[0], value, power, 1.0F / factor);
    if constexpr (F::has_min) {
      std::int32_t min = second ? m[1] : m[0];
      min += shuffle_xor(second ? m[0] : m[1], 1);
      min += shuffle_xor(min, 2);
      const float scale_m = F::m(second ? w.m_raw(1, 0) : w.m_raw(0, 0));
      a[0] = add_exact_product(multiply(scale_m, to_float(min)), float_of(power), a[0]);
    }
  }

  LW_DEVICE_INSIDE void add_narrow(const FragTile<F>& w, const FragX& x, std::uint32_t b, const std::int32_t (&c)[4],
                                   std::uint32_t i, std::uint32_t power, float down) {
    const bool exists = 4 * sets <= P::dgroups || i < P::dgroups;
    LW_UNROLL
    for (std::uint32_t h = 0; h < 2; ++h) {
      const auto scale = FragScale<F>::of(exists ? w.d_at(h, i) : 0U);
      constexpr std::uint32_t factor = in_place ? 1U << P::place_bits : 1;
      const float sum =
          scale.template add_term<in_place>(a[h], frag_value<F, factor>(c[2 * h], c[2 * h + 1]), power, down);
      a[h] = exists ? sum : a[h];
      if constexpr (F::has_min) {
        const float m = F::m(w.m_at(h, i));
        a[h] = add_exact_product(multiply(m, to_float(x.joined[b * Facts::groups + i])), float_of(power), a[h]);
      }
    }
  }

  // r of this eighth, output by output: row g + 8h at [g + 8h].
  LW_DEVICE_INSIDE void fold(float* out) {
    const std::uint32_t lane = thread_index() % 32;
    const std::uint32_t t = lane % 4;
    if constexpr (Facts::wide) {
      if (t < 2) out[lane / 4 + 8 * t] = a[0];
    } else {
      LW_UNROLL
      for (std::uint32_t h = 0; h < 2; ++h) {
        a[h] = add(a[h], shuffle_xor(a[h], 1));
        a[h] = add(a[h], shuffle_xor(a[h], 2));
      }
      if (t < 2) out[lane / 4 + 8 * t] = t == 0 ? a[0] : a[1];
    }
    a[0] = a[1] = 0.0F;
  }
};

// ---- Several tokens ----
//
// Up to four: column 2 * token + plane. Up to eight: a column a token, a matrix product a plane. Where x is in shared
// memory its slots are the window, known when compiled; where it comes there a super-block at a time (`RawSums`) its
// sums are the image's, plane by plane and not yet times what codes lack.
template <class F, std::uint32_t Window, std::uint32_t Planes, bool XShared, bool RawSums = false>
struct FragMany {
  using P = FragPlan<F>;
  using Facts = FragFacts<F>;
  static constexpr std::uint32_t window = Window;
  static constexpr std::uint32_t planes = Planes;
  static constexpr std::uint32_t most_groups = 2;
  static constexpr bool x_shared = XShared;
  static constexpr bool paired = Window == 4;
  static_assert(!paired || Planes == 2);
  static constexpr std::uint32_t products = paired ? 1 : Planes;
  static constexpr std::uint32_t tokens = paired ? 1 : 2;  // a lane's: t, or 2t and 2t + 1
  static constexpr std::uint32_t outputs = frag_rows * Window;
  static constexpr bool all_nibbles = P::has_lane_nibbles;
  static constexpr bool joins = Planes == 2;
  static constexpr std::uint32_t min_sums = joins ? 1 : Planes;
  static constexpr bool mins_by_product = XShared && joins && Facts::mins_by_product;
  static constexpr bool offset_by_product = XShared && joins && Facts::offset_by_product;
  // Sums that start where the offset puts them.
  static constexpr bool offset_by_start = F::offset != 0 && !offset_by_product;
  static constexpr bool in_place = Facts::in_place_many;
  // The factor of codes of group of 32 s, and that of a d-group's sums, as powers of two.
  LW_BOTH static std::uint32_t place_of(std::uint32_t s) { return in_place ? s % P::slots * P::code_bits : 0; }
  LW_BOTH static std::uint32_t place_of_dgroup(std::uint32_t i) {
    return in_place ? (Facts::scaled ? P::place_bits : place_of(i)) : 0;
  }

  float a[Facts::chains][2][tokens];

  LW_DEVICE_INSIDE FragMany() { clear(); }
  LW_DEVICE_INSIDE void clear() {
    LW_UNROLL
    for (std::uint32_t v = 0; v < Facts::chains; ++v) {
      LW_UNROLL
      for (std::uint32_t h = 0; h < 2; ++h) {
        LW_UNROLL
        for (std::uint32_t i = 0; i < tokens; ++i) a[v][h][i] = 0.0F;
      }
    }
  }

  struct Sums {
    std::int32_t c[products][4];
    LW_DEVICE_INSIDE void clear() {
      LW_UNROLL
      for (std::uint32_t p = 0; p < products; ++p) c[p][0] = c[p][1] = c[p][2] = c[p][3] = 0;
    }
    // Where the sums of groups i .. i + n - 1 start.
    LW_DEVICE_INSIDE void start(const FragX& x, std::uint32_t b, std::uint32_t i, std::uint32_t n,
                                const std::uint32_t (&slot)[tokens]) {
      clear();
      if constexpr (offset_by_start) {
        LW_UNROLL
        for (std::uint32_t p = 0; p < products; ++p) {
          LW_UNROLL
          for (std::uint32_t k = 0; k < n; ++k) {
            LW_UNROLL
            for (std::uint32_t column = 0; column < 2; ++column) {
              const std::uint32_t at = paired ? 2 * slot[0] + column : image_column(x.slots, Planes, slot[column], p);
              const std::uint32_t index = (b * Facts::groups + i + k) * x.columns + at;
              if constexpr (XShared && !RawSums) {
                c[p][column] += x.starts[index];
              } else {
                c[p][column] += F::offset * x.sums[index];
              }
            }
          }
          if constexpr (in_place) {
            c[p][0] *= 1 << place_of(i);
            c[p][1] *= 1 << place_of(i);
          }
          c[p][2] = c[p][0];
          c[p][3] = c[p][1];
        }
      }
    }
    LW_DEVICE_INSIDE void multiply_half(std::uint32_t p, std::uint32_t a0, std::uint32_t a1, std::uint32_t b) {
      static_assert(!(offset_by_start && in_place));
      if constexpr (offset_by_start) {
        mma16_s8(c[p], a0, a1, b);
      } else if constexpr (in_place) {
        mma16_u8_first(c[p], a0, a1, b);
      } else {
        mma16_s8_first(c[p], a0, a1, b);
      }
    }
    template <bool First>
    LW_DEVICE_INSIDE void multiply_add(std::uint32_t p, const std::uint32_t (&a)[4], std::uint32_t b0,
                                       std::uint32_t b1) {
      if constexpr (First && !offset_by_start && in_place) {
        mma_u8_first(c[p], a[0], a[1], a[2], a[3], b0, b1);
      } else if constexpr (First && !offset_by_start) {
        mma_s8_first(c[p], a[0], a[1], a[2], a[3], b0, b1);
      } else if constexpr (in_place) {
        mma_u8(c[p], a[0], a[1], a[2], a[3], b0, b1);
      } else {
        mma_s8(c[p], a[0], a[1], a[2], a[3], b0, b1);
      }
    }
  };

  LW_DEVICE_INSIDE void add_block(const FragTile<F>& w, const FragX& x, std::uint32_t b) {
    const std::uint32_t lane = thread_index() % 32;
    const std::uint32_t t = lane % 4;
    const std::uint32_t g = lane / 4;
    const std::uint32_t group_bytes = x.columns * 32;
    const std::uint8_t* at = x.codes + b * 8U * group_bytes + 8 * t;
    const bool present = paired || g < x.slots;
    std::uint32_t column[products];
    LW_UNROLL
    for (std::uint32_t p = 0; p < products; ++p) column[p] = (paired ? g : image_column(x.slots, Planes, g, p)) * 32;
    std::uint32_t power[tokens];
    std::uint32_t slot[tokens];
    LW_UNROLL
    for (std::uint32_t i = 0; i < tokens; ++i) {
      slot[i] = paired ? t : 2 * t + i < x.slots ? 2 * t + i : 0U;
      power[i] = x.powers[b * x.slots + slot[i]];
    }
    Sums j;
    j.clear();
    std::int32_t m[min_sums][2][tokens];
    if constexpr (F::has_min) clear_mins(m);
    if constexpr (mins_by_product || offset_by_product) {
      const Sums sums = group_product(w, x, b);
      LW_UNROLL
      for (std::uint32_t h = 0; h < 2; ++h) {
        if constexpr (offset_by_product) {
          LW_UNROLL
          for (std::uint32_t p = 0; p < products; ++p) {
            j.c[p][2 * h] = F::offset * sums.c[p][2 * h];
            j.c[p][2 * h + 1] = F::offset * sums.c[p][2 * h + 1];
          }
        } else if constexpr (paired) {
          m[0][h][0] = sums.c[0][2 * h] + 256 * sums.c[0][2 * h + 1];
        } else {
          LW_UNROLL
          for (std::uint32_t n = 0; n < tokens; ++n) m[0][h][n] = sums.c[0][2 * h + n] + 256 * sums.c[1][2 * h + n];
        }
      }
    }
    LW_UNROLL
    for (std::uint32_t s = 0; s < 8; ++s) {
      std::uint32_t codes[4];
      LW_UNROLL
      for (std::uint32_t q = 0; q < 4; ++q) {
        codes[q] = in_place ? w.quad_in_place(s, q / 2, q % 2) : w.quad(s, q / 2, q % 2);
      }
      uint2 v[products];
      LW_UNROLL
      for (std::uint32_t p = 0; p < products; ++p) {
        v[p].x = v[p].y = 0;
        if (present) v[p] = *reinterpret_cast<const uint2*>(at + s * group_bytes + column[p]);
      }
      if constexpr (Facts::narrow) {
        LW_UNROLL
        for (std::uint32_t half = 0; half < 2; ++half) {
          Sums c;
          if constexpr (offset_by_start) c.start(x, b, 2 * s + half, 1, slot);
          LW_UNROLL
          for (std::uint32_t p = 0; p < products; ++p) {
            if constexpr (P::halves) {
              c.multiply_half(p, codes[2 * half], codes[2 * half + 1], half == 0 ? v[p].x : v[p].y);
            } else {
              const bool own = t / 2 == half;
              c.template multiply_add<true>(p, codes, own ? v[p].x : 0U, own ? v[p].y : 0U);
            }
          }
          take(w, x, b, 2 * s + half, c, j, m, power, slot);
        }
      } else if constexpr (Facts::scaled) {
        Sums c;
        if constexpr (offset_by_start) c.start(x, b, s, 1, slot);
        LW_UNROLL
        for (std::uint32_t p = 0; p < products; ++p) c.template multiply_add<true>(p, codes, v[p].x, v[p].y);
        take(w, x, b, s, c, j, m, power, slot);
      } else {
        if (offset_by_start && s * 32 % F::dgroup == 0) j.start(x, b, s, F::dgroup / 32, slot);
        LW_UNROLL
        for (std::uint32_t p = 0; p < products; ++p) j.template multiply_add<false>(p, codes, v[p].x, v[p].y);
        if constexpr (F::has_min) add_min(w, x, b, s, m, slot);
        if ((s + 1) * 32 % F::dgroup == 0) finish(w, (s + 1) * 32 / F::dgroup - 1, j, m, power);
      }
    }
  }

  // Sub-mins or sub-scales times the sums of x, over the groups of a super-block.
  LW_DEVICE_MEMBER Sums group_product(const FragTile<F>& w, const FragX& x, std::uint32_t b) {
    const std::uint32_t lane = thread_index() % 32;
    const std::uint32_t t = lane % 4;
    const std::uint32_t g = lane / 4;
    const std::uint32_t first = w.template groups_at<mins_by_product>(0);
    const std::uint32_t second = w.template groups_at<mins_by_product>(1);
    Sums sums;
    LW_UNROLL
    for (std::uint32_t p = 0; p < products; ++p) {
      const std::uint32_t plane = paired ? g % 2 : p;
      const std::uint32_t token = paired ? g / 2 : g;
      const std::uint8_t* at = x.digits + ((b * Planes + plane) * 2 * x.slots + token) * 16 + 4 * t;
      std::int32_t high[4];
      mma_s8_first(sums.c[p], first, second, 0, 0, *reinterpret_cast<const std::uint32_t*>(at), 0);
      mma_s8_first(high, first, second, 0, 0, *reinterpret_cast<const std::uint32_t*>(at + x.slots * 16), 0);
      LW_UNROLL
      for (std::uint32_t i = 0; i < 4; ++i) sums.c[p][i] += 64 * high[i];
    }
    return sums;
  }

  // The sums of group i join those of its d-group.
  LW_DEVICE_INSIDE void take(const FragTile<F>& w, const FragX& x, std::uint32_t b, std::uint32_t i, const Sums& c,
                             Sums& j, std::int32_t (&m)[min_sums][2][tokens], const std::uint32_t (&power)[tokens],
                             const std::uint32_t (&slot)[tokens]) {
    LW_UNROLL
    for (std::uint32_t h = 0; h < 2; ++h) {
      std::int32_t sc = Facts::scaled ? w.sc(h, i) : 1;
      if constexpr (in_place && Facts::scaled) sc *= 1 << (P::place_bits - place_of(i * F::group / 32));
      LW_UNROLL
      for (std::uint32_t p = 0; p < products; ++p) {
        j.c[p][2 * h] += sc * c.c[p][2 * h];
        j.c[p][2 * h + 1] += sc * c.c[p][2 * h + 1];
      }
    }
    if constexpr (F::has_min && !mins_by_product) add_min(w, x, b, i, m, slot);
    if ((i + 1) * F::group % F::dgroup == 0) finish(w, (i + 1) * F::group / F::dgroup - 1, j, m, power);
  }
  LW_DEVICE_INSIDE void add_min(const FragTile<F>& w, const FragX& x, std::uint32_t b, std::uint32_t i,
                                std::int32_t (&m)[min_sums][2][tokens], const std::uint32_t (&slot)[tokens]) {
    LW_UNROLL
    for (std::uint32_t n = 0; n < tokens; ++n) {
      LW_UNROLL
      for (std::uint32_t p = 0; p < min_sums; ++p) {
        std::int32_t sum;
        if constexpr (joins && XShared && !RawSums) {
          sum = x.joined[(b * Facts::groups + i) * x.slots + slot[n]];
        } else {
          const std::int32_t* sums = x.sums + (b * Facts::groups + i) * x.columns;
          sum = sums[image_column(x.slots, Planes, slot[n], p)];
          if (joins) sum += 256 * sums[image_column(x.slots, Planes, slot[n], 1)];
        }
        LW_UNROLL
        for (std::uint32_t h = 0; h < 2; ++h) {
          m[p][h][n] += (FragPlan<F>::has_mn && Facts::scaled ? w.mn(h, i) : 1) * sum;
        }
      }
    }
  }
  LW_DEVICE_INSIDE static void clear_mins(std::int32_t (&m)[min_sums][2][tokens]) {
    LW_UNROLL
    for (std::uint32_t p = 0; p < min_sums; ++p) {
      LW_UNROLL
      for (std::uint32_t h = 0; h < 2; ++h) {
        LW_UNROLL
        for (std::uint32_t n = 0; n < tokens; ++n) m[p][h][n] = 0;
      }
    }
  }
  LW_DEVICE_MEMBER float three_planes(std::int32_t low, std::int32_t middle, std::int32_t high) {
    const float two = add_exact_product(256.0F, to_float(middle), to_float(low));
    return add_exact_product(65536.0F, to_float(high), two);
  }
  static constexpr std::uint32_t factor = in_place ? 1U << P::place_bits : 1;  // at most
  LW_DEVICE_CONST float value_of(const Sums& j, std::uint32_t h, std::uint32_t n) const {
    if constexpr (paired) {
      return frag_value<F, factor>(j.c[0][2 * h], j.c[0][2 * h + 1]);
    } else if constexpr (Planes == 1) {
      return to_float(j.c[0][2 * h + n]);
    } else if constexpr (Planes == 2) {
      return frag_value<F, factor>(j.c[0][2 * h + n], j.c[1][2 * h + n]);
    } else {
      return three_planes(j.c[0][2 * h + n], j.c[1][2 * h + n], j.c[2][2 * h + n]);
    }
  }
  // D-group i is complete.
  LW_DEVICE_INSIDE void finish(const FragTile<F>& w, std::uint32_t i, Sums& j, std::int32_t (&m)[min_sums][2][tokens],
                               const std::uint32_t (&power)[tokens]) {
    LW_UNROLL
    for (std::uint32_t h = 0; h < 2; ++h) {
      const auto scale = FragScale<F>::of(w.d_raw(h, i));
      const float scale_m = F::has_min ? F::m(w.m_raw(h, i)) : 0.0F;
      LW_UNROLL
      for (std::uint32_t n = 0; n < tokens; ++n) {
        float& sum = a[i % 4 % Facts::chains][h][n];
        sum = scale.template add_term<in_place>(sum, value_of(j, h, n), power[n], frag_down(place_of_dgroup(i)));
        if constexpr (F::has_min) {
          float value = to_float(m[0][h][n]);
          if constexpr (min_sums == 3) {
            value = three_planes(m[0][h][n], m[1][h][n], m[2][h][n]);
          }
          sum = add_exact_product(multiply(scale_m, value), float_of(power[n]), sum);
        }
      }
    }
    j.clear();
    if constexpr (F::has_min) clear_mins(m);
  }

  // r of this eighth: row g + 8h, token n at [(g + 8h) * window + n].
  LW_DEVICE_INSIDE void fold(float* out) {
    const std::uint32_t lane = thread_index() % 32;
    LW_UNROLL
    for (std::uint32_t h = 0; h < 2; ++h) {
      LW_UNROLL
      for (std::uint32_t n = 0; n < tokens; ++n) {
        float r = a[0][h][n];
        if constexpr (Facts::chains == 2) r = add(r, a[1][h][n]);
        if constexpr (Facts::chains == 4) r = add(add(r, a[1][h][n]), add(a[2][h][n], a[3][h][n]));
        out[h * 8 * window + lane * tokens + n] = r;
      }
    }
    clear();
  }
};

}  // namespace lanewise::cuda
