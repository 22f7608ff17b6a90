// One block of weights for each fill, as templates over the format: fields are written through the parts that the
// decode file names, and scale bits are found by searching the format's own d(), so that no format is spelled out here.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>

#include "formats/block.h"
#include "harness/fill.h"

namespace lanewise::fill_block {

template <class Where>
lw_u32 field_bits(lw_u32 parts, Where where) {
  lw_u32 width = 0;
  for (lw_u32 i = 0; i < parts; ++i) width += static_cast<lw_u32>(std::popcount(where(i).mask));
  return width;
}

/// The largest number below 2^(bits-1) - 1 (every magnitude of a signed field, less a NaN at its top) whose value is at
/// most `wanted`; `value` doesn't fall over finite numbers and gives no finite one past them.
template <class Value>
lw_u32 search_magnitude(lw_u32 bits, double wanted, Value value) {
  lw_u32 low = 0;
  lw_u32 high = (1U << (bits - 1U)) - 1U;  // never taken
  while (high - low > 1) {
    const lw_u32 middle = low + (high - low) / 2;
    if (value(middle) <= wanted) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The fields of a block, for writing.
template <class T>
struct Fields {
  static constexpr auto d(lw_u32 dgroup) {
    return [dgroup](lw_u32 i) { return T::d_part(dgroup, i); };
  }
  static constexpr auto m(lw_u32 dgroup) {
    return [dgroup](lw_u32 i) { return T::m_part(dgroup, i); };
  }
  static constexpr auto sc(lw_u32 group) {
    return [group](lw_u32 i) { return T::sc_part(group, i); };
  }
  static constexpr auto mn(lw_u32 group) {
    return [group](lw_u32 i) { return T::mn_part(group, i); };
  }
  static constexpr lw_u32 groups = T::info.block_elements / T::info.group;
  static constexpr lw_u32 dgroups = T::info.block_elements / T::info.dgroup;

  static lw_u32 d_sign() { return 1U << (field_bits(T::d_parts, d(0)) - 1U); }

  /// d of a d-group: the nearest at or below |value| that the field can hold (above it, for what is too small), with
  /// the sign bit where the field has one; of a power of two, an EXP format's exponent.
  static void set_d(std::uint8_t* block, lw_u32 dgroup, double value) {
    lw_u32 raw = 0;
    if constexpr (T::info.kind == FormatKind::EXP) {
      const int exponent = std::ilogb(value);
      while (raw < 254 && T::exponent(raw) < exponent) ++raw;
    } else {
      raw = search_magnitude(field_bits(T::d_parts, d(0)), std::fabs(value),
                             [](lw_u32 r) { return static_cast<double>(T::d(r)); });
      if (raw == 0) raw = 1;
      if (value < 0) raw |= d_sign();
    }
    write_field(block, T::d_parts, d(dgroup), raw);
  }

  static void set_m(std::uint8_t* block, lw_u32 dgroup, double value) {
    const lw_u32 bits = field_bits(T::m_parts, m(0));
    lw_u32 raw =
        search_magnitude(bits, std::fabs(value), [](lw_u32 r) { return std::fabs(static_cast<double>(T::m(r))); });
    if ((T::m(raw) < 0) != (value < 0)) raw |= 1U << (bits - 1U);
    write_field(block, T::m_parts, m(dgroup), raw);
  }

  /// Finite; of an EXP format, far enough from the caps of 2^-126 and 2^90 for the exponents of x (up to 63 - 7).
  static bool d_is_tame(const std::uint8_t* block, lw_u32 dgroup) {
    const lw_u32 raw = Block<T>{block}.scale_bits(dgroup);
    if constexpr (T::info.kind == FormatKind::EXP)
      return T::exponent(raw) <= 30 && T::exponent(raw) >= -40;
    else
      return std::isfinite(T::d(raw));
  }
};

/// What random blocks of a format hold: what turns a wanted size of weights into d and m.
struct Spread {
  double deviation = 1;  ///< of a weight in units of d, its group's mean taken off where there is a min
  double mean_code = 0;
};

inline void random_bytes(std::uint8_t* to, std::size_t count, Random& random) {
  for (std::size_t i = 0; i < count; i += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(to + i, &word, std::min<std::size_t>(8, count - i));
  }
}

template <class T>
Spread spread_of() {
  Spread spread;
  if constexpr (!T::info.is_float()) {
    constexpr int sampled = 64;
    Random random(0);
    std::uint8_t bytes[sampled][T::info.block_bytes];
    double codes = 0;
    for (auto& block : bytes) {
      random_bytes(block, sizeof block, random);
      for (lw_u32 k = 0; k < T::info.block_elements; ++k) codes += quad_code(Block<T>{block}.quad(k / 4), k % 4);
    }
    spread.mean_code = codes / (sampled * T::info.block_elements);
    double squares = 0;
    for (auto& block : bytes) {
      for (lw_u32 k = 0; k < T::info.block_elements; ++k) {
        const double code = quad_code(Block<T>{block}.quad(k / 4), k % 4);
        const double centred = T::info.has_min ? code - spread.mean_code : code;
        const double weight = centred * Block<T>{block}.sub_scale(k / T::info.group);
        squares += weight * weight;
      }
    }
    spread.deviation = std::sqrt(squares / (sampled * T::info.block_elements));
  }
  return spread;
}

/// The size of weights that a fill wants, drawn anew for each d-group.
inline double wanted_size(Fill fill, Random& random) {
  constexpr double ordinary = 0.02;  // rms of a matrix of a model of some thousand columns
  switch (fill) {
    case Fill::gauss:
    case Fill::cancel:
      return ordinary * (1 + 0.4 * random.uniform());
    case Fill::spikes:
      return ordinary * (random.below(64) == 0 ? 100 : 1);
    case Fill::random:
      return random.magnitude(-8, -1);
    case Fill::wide:
      return random.magnitude(-23, 12);
    case Fill::exact:
    case Fill::extreme:
    case Fill::raw:
      break;
  }
  return 1;
}

template <class T>
bool codes_are_zero(const std::uint8_t* block) {
  for (lw_u32 i = 0; i < T::info.block_elements / 4; ++i) {
    if (Block<T>{block}.quad(i) != 0) return false;
  }
  return true;
}

/// Codes, sub-scales and sub-mins all at one end, or at the other, or a byte pattern between.
template <class T>
void make_extreme(std::uint8_t* block, Random& random) {
  constexpr std::uint8_t patterns[] = {0xFF, 0x00, 0x7F, 0x80, 0xF0, 0x0F, 0x55};
  const std::uint64_t pattern = random.below(std::size(patterns) + 1);
  if (pattern < std::size(patterns)) {
    std::memset(block, patterns[pattern], T::info.block_bytes);
  } else {
    random_bytes(block, T::info.block_bytes, random);
  }
  // Two patterns of eight (0x00, 0x80) are E2M1's two zeros throughout, and small scales add more: seldom, or most
  // outputs of a matrix of one block a row are zero and its case shows nothing. 0x7F is 12 and -12.
  if constexpr (T::info.kind == FormatKind::EXP) {
    if (codes_are_zero<T>(block) && random.below(8) != 0) std::memset(block, 0x7F, T::info.block_bytes);
  }
  // The largest sub-scale, or the smallest: where that is 0, seldom, as such groups add nothing.
  const lw_u32 sc_bits = field_bits(T::sc_parts, Fields<T>::sc(0));
  lw_u32 largest = 0;
  lw_u32 smallest = 0;
  for (lw_u32 raw = 0; raw < 1U << sc_bits; ++raw) {
    if (T::sc(raw) > T::sc(largest)) largest = raw;
    if (T::sc(raw) < T::sc(smallest)) smallest = raw;
  }
  const lw_u32 end = random.below(T::sc(smallest) == 0 ? 8 : 2) == 0 ? smallest : largest;
  for (lw_u32 group = 0; group < Fields<T>::groups; ++group) {
    write_field(block, T::sc_parts, Fields<T>::sc(group), end);
    write_field(block, T::mn_parts, Fields<T>::mn(group), 0xFFFFFFFFU);
  }
  const double scales[] = {1e30, 1e-30, 1.0, -1.0, 0x1p-14};
  for (lw_u32 dgroup = 0; dgroup < Fields<T>::dgroups; ++dgroup) {
    const double size = scales[random.below(std::size(scales))];
    if constexpr (T::info.kind == FormatKind::EXP) {
      Fields<T>::set_d(block, dgroup, std::fabs(std::clamp(size, -0x1p60, 0x1p60)));
    } else {
      Fields<T>::set_d(block, dgroup, size);
    }
    if constexpr (T::info.has_min) Fields<T>::set_m(block, dgroup, scales[random.below(std::size(scales))]);
  }
}

template <class T>
void make_codes(std::uint8_t* block, Fill fill, const Spread& spread, Random& random, std::uint64_t row) {
  if (fill == Fill::extreme) {
    make_extreme<T>(block, random);
    return;
  }
  random_bytes(block, T::info.block_bytes, random);
  if (fill == Fill::raw) {
    // Three rows of four keep to tame scales: with the others' NaN nearly every output would be one.
    for (lw_u32 dgroup = 0; dgroup < Fields<T>::dgroups && row % 4 != 3; ++dgroup) {
      if (!Fields<T>::d_is_tame(block, dgroup)) Fields<T>::set_d(block, dgroup, 1.0);
      if constexpr (T::info.has_min) {
        if (!std::isfinite(T::m(Block<T>{block}.min_bits(dgroup)))) Fields<T>::set_m(block, dgroup, 1.0);
      }
    }
    return;
  }
  if (fill == Fill::exact) {
    for (lw_u32 dgroup = 0; dgroup < Fields<T>::dgroups; ++dgroup) {
      Fields<T>::set_d(block, dgroup, std::ldexp(1.0, static_cast<int>(random.below(3)) - 1));
      if constexpr (T::info.has_min) {
        const double m = std::ldexp(1.0, static_cast<int>(random.below(3)) - 1);
        Fields<T>::set_m(block, dgroup, random.below(2) == 0 ? m : -m);
      }
    }
    return;
  }
  // A sub-min that follows its sub-scale, and m of the size of d: weights of mean zero, as quantisers make them.
  if constexpr (T::info.has_min && T::sc_parts != 0) {
    for (lw_u32 group = 0; group < Fields<T>::groups; ++group) {
      const lw_u32 raw = read_field(block, T::sc_parts, Fields<T>::sc(group));
      write_field(block, T::mn_parts, Fields<T>::mn(group), raw);
    }
  }
  for (lw_u32 dgroup = 0; dgroup < Fields<T>::dgroups; ++dgroup) {
    const double d = wanted_size(fill, random) / spread.deviation;
    Fields<T>::set_d(block, dgroup, T::info.kind == FormatKind::EXP ? std::fabs(d) : d);
    if constexpr (T::info.has_min) Fields<T>::set_m(block, dgroup, -d * spread.mean_code);
  }
}

/// A plain value, rounded towards zero to what the format holds.
template <class T>
void make_float(std::uint8_t* block, Fill fill, Random& random, std::uint64_t row) {
  constexpr lw_u32 bits = 8 * T::info.block_bytes;
  constexpr double huge = 0x1p40;
  double value = 0;
  lw_u32 raw = static_cast<lw_u32>(random.next()) >> (32U - bits);
  switch (fill) {
    case Fill::exact:
      value = static_cast<double>(random.below(17)) - 8;
      break;
    case Fill::random:
      value = random.uniform();
      value *= std::fabs(wanted_size(fill, random));
      break;
    case Fill::wide:
      value = random.magnitude(-23, 12);
      break;
    case Fill::extreme: {
      // Around 2^-63 and 2^63, where a weight starts to count as zero or as infinite; the latter in one row of four,
      // or nearly every output would be infinite.
      const double edges[] = {1e-38, 0x1p-63, 0x1p-64, 60000, -60000, 1.0, -1.0, 0x1p-24};
      value = row % 4 == 1 && random.below(16) == 0 ? 0x1p63 : edges[random.below(std::size(edges))];
      break;
    }
    case Fill::raw: {
      const auto held = static_cast<double>(T::value(raw));
      if ((std::fabs(held) < huge && std::fabs(held) > 1 / huge) || row % 4 == 3) {
        std::memcpy(block, &raw, T::info.block_bytes);
        return;
      }
      value = random.gauss();
      break;
    }
    default:
      value = random.gauss();
      value *= wanted_size(fill, random);
      break;
  }
  raw = search_magnitude(bits, std::fabs(value), [](lw_u32 r) { return static_cast<double>(T::value(r)); });
  if (value < 0) raw |= 1U << (bits - 1U);
  std::memcpy(block, &raw, T::info.block_bytes);
}

template <class T>
void make(std::uint8_t* block, Fill fill, const Spread& spread, Random& random, std::uint64_t row) {
  if constexpr (T::info.is_float()) {
    make_float<T>(block, fill, random, row);
  } else {
    make_codes<T>(block, fill, spread, random, row);
  }
}

}  // namespace lanewise::fill_block
