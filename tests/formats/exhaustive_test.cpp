// Exhaustion of the finite domains, field by field. A value is d * sc * code (+ m * mn), so the fields are exhausted
// one by one against the oracle (every scale bits, every stored sub-scale and sub-min of every group, every stored
// quad), and then the product: every half x every sub-scale x every code through dequantize_row, against the same
// product in double precision, where it is exact.
#include <algorithm>
#include <cmath>

#include "formats/support.h"
#include "oracle/oracle.h"

namespace lanewise::test {
namespace {

class Exhaustive : public testing::TestWithParam<FormatInfo> {};
INSTANTIATE_TEST_SUITE_P(Formats, Exhaustive, testing::ValuesIn(quantised_formats()), test_name);

constexpr lw_u32 ones(int width) { return width >= 32 ? 0xFFFFFFFFu : (1u << width) - 1; }

template <class Where>
int width_of(lw_u32 parts, Where where) {
  int width = 0;
  for (lw_u32 i = 0; i < parts; ++i) width += std::popcount(where(i).mask);
  return width;
}

template <class T>
oracle::Element by_oracle(const Bytes& block, lw_u32 k) {
  return oracle::element(static_cast<int>(T::info.id), block.data(), k);
}

TEST_P(Exhaustive, EveryScaleAndMin) {
  with_quantised(GetParam(), [&]<class T>(T) {
    Random random(41);
    Bytes block = random_bytes(T::info.block_bytes, random);
    for (lw_u32 g = 0; g < T::info.block_elements / T::info.dgroup; ++g) {
      const auto d_part = [g](lw_u32 i) { return T::d_part(g, i); };
      const auto m_part = [g](lw_u32 i) { return T::m_part(g, i); };
      const lw_u32 k = g * T::info.dgroup + static_cast<lw_u32>(random() % T::info.dgroup);
      for (lw_u32 raw = 0; raw <= ones(width_of(T::d_parts, d_part)); ++raw) {
        write_field(block.data(), T::d_parts, d_part, raw);
        if constexpr (T::info.kind == FormatKind::EXP) {
          ASSERT_EQ(std::ldexp(1.0, T::exponent(raw)), by_oracle<T>(block, k).d) << raw;
        } else {
          ASSERT_EQ(bits(static_cast<double>(T::d(raw))), bits(by_oracle<T>(block, k).d)) << raw;
        }
      }
      if constexpr (T::m_parts != 0) {
        for (lw_u32 raw = 0; raw <= 0xFFFFu; ++raw) {
          write_field(block.data(), T::m_parts, m_part, raw);
          ASSERT_EQ(bits(static_cast<double>(T::m(raw))), bits(by_oracle<T>(block, k).m)) << raw;
        }
      }
    }
  });
}

TEST_P(Exhaustive, EverySubScaleAndSubMinOfEveryGroup) {
  with_quantised(GetParam(), [&]<class T>(T) {
    Random random(42);
    Bytes block = random_bytes(T::info.block_bytes, random);
    for (lw_u32 g = 0; g < T::info.block_elements / T::info.group; ++g) {
      const auto sc_part = [g](lw_u32 i) { return T::sc_part(g, i); };
      const auto mn_part = [g](lw_u32 i) { return T::mn_part(g, i); };
      const lw_u32 k = g * T::info.group + static_cast<lw_u32>(random() % T::info.group);
      for (lw_u32 raw = 0; raw <= ones(width_of(T::sc_parts, sc_part)); ++raw) {
        if constexpr (T::sc_parts != 0) write_field(block.data(), T::sc_parts, sc_part, raw);
        ASSERT_EQ(Block<T>{block.data()}.sub_scale(g), by_oracle<T>(block, k).sub_scale) << "group " << g << " " << raw;
      }
      for (lw_u32 raw = 0; raw <= ones(width_of(T::mn_parts, mn_part)); ++raw) {
        if constexpr (T::mn_parts != 0) write_field(block.data(), T::mn_parts, mn_part, raw);
        ASSERT_EQ(Block<T>{block.data()}.sub_min(g), by_oracle<T>(block, k).sub_min) << "group " << g << " " << raw;
      }
    }
  });
}

template <class T>
void compare_codes(const Bytes& block, lw_u32 first, lw_u32 last) {
  for (lw_u32 k = first; k < last; ++k) {
    ASSERT_EQ(quad_code(Block<T>{block.data()}.quad(k / 4), k % 4), by_oracle<T>(block, k).code)
        << T::info.name << " element " << k << " of " << hex(block);
  }
}

// Formats whose codes stand alone. A part of a quad holds an equal share of the bits of its four codes, lowest part
// first: in the bytes of a word, or side by side in the low bits.
template <class T>
int stored_width() {
  return width_of(T::quad_parts, [](lw_u32 i) { return T::quad_part(0, i); }) / 4;
}

template <class T>
void write_codes(std::uint8_t* block, lw_u32 quad, std::array<lw_u32, 4> stored) {
  for (lw_u32 i = 0; i < T::quad_parts; ++i) {
    const LwPart part = T::quad_part(quad, i);
    const int width = std::popcount(part.mask) / 4;
    const int step = part.mask > 0xFFFFu ? 8 : width;
    lw_u32 value = 0;
    for (std::size_t lane = 0; lane < 4; ++lane) {
      value |= (stored[lane] & ones(width)) << (step * static_cast<int>(lane));
      stored[lane] >>= width;
    }
    write_part(block, part, value);
  }
}

// Different codes that a format can give.
lw_u32 code_count(const FormatInfo& info) {
  if (info.format == Format::TQ1_0) return 3;
  if (info.format == Format::MXFP4 || info.format == Format::NVFP4) return 15;  // two zeros
  return 1u << info.code_bits;
}

// Every stored code of every element.
template <class T>
void every_code_of_every_element() {
  Random random(43);
  std::vector<std::array<bool, 256>> seen(T::info.block_elements);
  Bytes block = random_bytes(T::info.block_bytes, random);
  for (lw_u32 q = 0; q < T::info.block_elements / 4; ++q) {
    for (lw_u32 stored = 0; stored <= ones(stored_width<T>()); ++stored) {
      write_codes<T>(block.data(), q, {stored, stored + 1, stored * 5, ~stored});
      ASSERT_NO_FATAL_FAILURE(compare_codes<T>(block, 4 * q, 4 * q + 4));
      for (lw_u32 i = 0; i < 4; ++i) {
        seen[4 * q + i][static_cast<std::uint8_t>(quad_code(Block<T>{block.data()}.quad(q), i))] = true;
      }
    }
  }
  for (lw_u32 k = 0; k < T::info.block_elements; ++k) {
    ASSERT_EQ(std::count(seen[k].begin(), seen[k].end(), true), code_count(T::info)) << "codes of element " << k;
  }
}

// Grid formats: every combination of the bits that give four codes (entry, signs, shift), in quads of even and of odd
// index, since those take different halves of an entry of eight.
template <class T>
void every_combination_of_a_quad() {
  Random random(44);
  const int width = width_of(T::quad_parts, [](lw_u32 i) { return T::quad_part(0, i); });
  ASSERT_LE(width, 16);
  for (lw_u32 odd = 0; odd < 2; ++odd) {
    Bytes block = random_bytes(T::info.block_bytes, random);
    for (lw_u32 raw = 0; raw <= ones(width); ++raw) {
      const lw_u32 q = 2 * (raw % (T::info.block_elements / 8)) + odd;
      const auto part = [q](lw_u32 i) { return T::quad_part(q, i); };
      write_field(block.data(), T::quad_parts, part, raw);
      ASSERT_EQ(read_field(block.data(), T::quad_parts, part), raw);
      ASSERT_NO_FATAL_FAILURE(compare_codes<T>(block, 4 * q, 4 * q + 4));
    }
  }
}

TEST_P(Exhaustive, EveryStoredCode) {
  with_quantised(GetParam(), [&]<class T>(T) {
    if constexpr (T::info.has_grid) {
      every_combination_of_a_quad<T>();
    } else {
      every_code_of_every_element<T>();
    }
  });
}

// (d * sc) * c + m * mn in double precision: below 53 bits, so exact, and rounded once.
float product(double d, int sc, int code, double m, int mn, bool has_min) {
  double value = d * sc * code;
  if (has_min) value += m * mn;
  return value != value ? std::bit_cast<float>(0x7FC00000u) : static_cast<float>(value);
}

// Blocks that between them hold every pair of stored sub-scale and code, and each element's integers.
template <class T>
struct AllPairs {
  static constexpr lw_u32 groups = T::info.block_elements / T::info.group;
  Bytes bytes;
  std::vector<int> sc;
  std::vector<int> mn;
  std::vector<int> code;

  AllPairs() {
    Random random(45);
    const lw_u32 scales = ones(width_of(T::sc_parts, [](lw_u32 i) { return T::sc_part(0, i); })) + 1;
    const lw_u32 mins = ones(width_of(T::mn_parts, [](lw_u32 i) { return T::mn_part(0, i); })) + 1;
    // Groups that share a sub-scale: enough for every stored code; of a grid format, whose codes are random here, more.
    const lw_u32 stored = T::info.has_grid ? 32 * T::info.group : 1u << stored_width<T>();
    const lw_u32 repeat = std::max(1u, stored / T::info.group);
    const lw_u32 count = (scales * repeat + groups - 1) / groups;
    bytes = random_bytes(std::size_t{count} * T::info.block_bytes, random);
    std::vector<std::array<bool, 256>> pairs(scales);
    for (lw_u32 b = 0; b < count; ++b) {
      std::uint8_t* at = bytes.data() + b * T::info.block_bytes;
      for (lw_u32 g = 0; g < groups; ++g) {
        const lw_u32 n = b * groups + g;
        const auto sc_part = [g](lw_u32 i) { return T::sc_part(g, i); };
        const auto mn_part = [g](lw_u32 i) { return T::mn_part(g, i); };
        if constexpr (T::sc_parts != 0) write_field(at, T::sc_parts, sc_part, n / repeat % scales);
        if constexpr (T::mn_parts != 0) write_field(at, T::mn_parts, mn_part, n * 7 % mins);
        for (lw_u32 k = 0; k < T::info.group && !T::info.has_grid; k += 4) {
          const lw_u32 first = n % repeat * T::info.group + k;
          write_codes<T>(at, (g * T::info.group + k) / 4, {first, first + 1, first + 2, first + 3});
        }
      }
      const Block<T> block{at};
      for (lw_u32 k = 0; k < T::info.block_elements; ++k) {
        const lw_u32 group = k / T::info.group;
        sc.push_back(block.sub_scale(group));
        mn.push_back(block.sub_min(group));
        code.push_back(quad_code(block.quad(k / 4), k % 4));
        pairs[(b * groups + group) / repeat % scales][static_cast<std::uint8_t>(code.back())] = true;
      }
    }
    std::array<bool, 256> codes{};
    for (const auto& row : pairs) {
      for (std::size_t c = 0; c < 256; ++c) codes[c] = codes[c] || row[c];
    }
    for (const auto& row : pairs) EXPECT_EQ(row, codes) << "a sub-scale lacks some codes";
    if (!T::info.has_grid) {
      EXPECT_EQ(std::count(codes.begin(), codes.end(), true), code_count(T::info));
    }
  }
};

// Sanitizers make the billions of products take minutes: there every 61st scale (a prime, so all kinds are met).
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr lw_u32 scale_step = 61;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr lw_u32 scale_step = 61;
#else
constexpr lw_u32 scale_step = 1;
#endif
#else
constexpr lw_u32 scale_step = 1;
#endif

// Every scale (or, `sweep_min`, every min) beside a random one of the other.
template <class T>
void every_half_under(AllPairs<T>& all, bool sweep_min) {
  Random random(46);
  const std::size_t count = all.bytes.size() / T::info.block_bytes;
  std::vector<float> values(all.code.size());
  const int width = width_of(T::d_parts, [](lw_u32 i) { return T::d_part(0, i); });
  for (lw_u32 raw = 0; raw <= ones(width); raw += scale_step) {
    const lw_u32 other = static_cast<lw_u32>(random()) & ones(width);
    for (std::size_t b = 0; b < count; ++b) {
      std::uint8_t* at = all.bytes.data() + b * T::info.block_bytes;
      for (lw_u32 g = 0; g < T::info.block_elements / T::info.dgroup; ++g) {
        write_field(
            at, T::d_parts, [g](lw_u32 i) { return T::d_part(g, i); }, sweep_min ? other : raw);
        write_field(
            at, T::m_parts, [g](lw_u32 i) { return T::m_part(g, i); }, sweep_min ? raw : other);
      }
    }
    const oracle::Element first = oracle::element(static_cast<int>(T::info.id), all.bytes.data(), 0);
    dequantize_row(T::info.format, all.bytes.data(), values.size(), values.data());
    for (std::size_t k = 0; k < values.size(); ++k) {
      const float wanted = product(first.d, all.sc[k], all.code[k], first.m, all.mn[k], T::info.has_min);
      ASSERT_EQ(std::bit_cast<lw_u32>(values[k]), std::bit_cast<lw_u32>(wanted))
          << T::info.name << " d " << first.d << " sc " << all.sc[k] << " code " << all.code[k] << " m " << first.m
          << " mn " << all.mn[k];
    }
  }
}

TEST_P(Exhaustive, EveryScaleUnderEverySubScaleAndCode) {
  with_quantised(GetParam(), [&]<class T>(T) {
    AllPairs<T> all;
    every_half_under(all, false);
  });
}

std::vector<FormatInfo> formats_with_a_min() {
  std::vector<FormatInfo> chosen = quantised_formats();
  std::erase_if(chosen, [](const FormatInfo& info) { return !info.has_min; });
  return chosen;
}

class ExhaustiveMins : public testing::TestWithParam<FormatInfo> {};
INSTANTIATE_TEST_SUITE_P(Formats, ExhaustiveMins, testing::ValuesIn(formats_with_a_min()), test_name);

TEST_P(ExhaustiveMins, EveryMinUnderEverySubScaleAndCode) {
  with_quantised(GetParam(), [&]<class T>(T) {
    AllPairs<T> all;
    every_half_under(all, true);
  });
}

}  // namespace
}  // namespace lanewise::test
