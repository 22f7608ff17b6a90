// What each target puts in place of a primitive, against the portable text: exhaustive where a lane has at most 16 bits
// that count, else every byte in every place and random words.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string_view>
#include <vector>

#include "arithmetic/canonical.h"
#include "backends/cpu/cpu.h"
#include "formats/primitives.h"
#include "formats/runs.h"
#include "kernels/overrides.h"

namespace lanewise::test {

#define LW_OVERRIDES(target)                 \
  extern const Overrides overrides_##target; \
  extern const RunOverrides* const run_overrides_##target;
#include "kernels/overrides_units.inc"
#undef LW_OVERRIDES

namespace {

using Words = std::vector<std::uint32_t>;

struct Target {
  std::string_view name;
  const Overrides* overrides;
  const RunOverrides* runs;  ///< nullptr: it takes none
};
const std::vector<Target>& targets() {
  static const std::vector<Target> all = {
#define LW_OVERRIDES(target) Target{#target, &overrides_##target, run_overrides_##target},
#include "kernels/overrides_units.inc"
#undef LW_OVERRIDES
  };
  return all;
}

// Those whose kernels this processor can run.
std::vector<Target> able() {
  std::vector<Target> chosen;
  for (const Target& target : targets()) {
    for (const KernelDesc& kernel : cpu_kernels()) {
      if (kernel.name != target.name) continue;
      if ((kernel.needs & ~cpu_capabilities()) == 0) chosen.push_back(target);
      break;
    }
  }
  return chosen;
}

Words range(std::uint32_t count) {
  Words words(count);
  for (std::uint32_t i = 0; i < count; ++i) words[i] = i;
  return words;
}

Words samples() {
  Words words;
  std::mt19937 random(1);
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    words.push_back(byte * 0x01010101u);
    for (std::uint32_t at = 0; at < 32; at += 8) {
      words.push_back(byte << at);
      words.push_back(~(byte << at));
    }
  }
  for (int i = 0; i < 100'000; ++i) words.push_back(static_cast<std::uint32_t>(random()));
  return words;
}

// Sixteen words at a time, each in a lane of its own.
template <class Got, class Expected>
void compare(std::string_view what, const Words& words, Got got, Expected expected) {
  for (std::size_t first = 0; first < words.size(); first += 16) {
    Lanes in;
    Lanes out;
    for (std::size_t i = 0; i < 16; ++i) in[i] = words[(first + i) % words.size()];
    got(in, out);
    for (std::size_t i = 0; i < 16; ++i) ASSERT_EQ(out[i], expected(in[i])) << what << " of " << in[i] << " lane " << i;
  }
}

bool is_nan(std::uint32_t bits) { return (bits & 0x7FFFFFFFu) > 0x7F800000u; }

TEST(Overrides, AreThePortableText) {
  if (able().empty()) GTEST_SKIP() << "this processor or build has none of the targets";
  const Words words = samples();
  Words others = words;
  std::ranges::reverse(others);
  for (const Target& target : able()) {
    SCOPED_TRACE(target.name);
    const Overrides& o = *target.overrides;
    compare("spread_bits", words, o.spread_bits, [](lw_u32 a) { return lw_spread_bits(a); });
    compare("spread_crumbs", words, o.spread_crumbs, [](lw_u32 a) { return lw_spread_crumbs(a); });
    for (lw_u32 i = 0; i < 5; ++i) {
      const SpreadPlace place = spread_places[i];
      compare("spread_bits_to", words, o.spread_bits_to[i],
              [place](lw_u32 a) { return lw_spread_bits_to(a, place.first, place.to); });
    }
    for (lw_u32 i = 0; i < 4; ++i) {
      compare("spread_crumbs_from", words, o.spread_crumbs_from[i],
              [i](lw_u32 a) { return lw_spread_crumbs_from(a, crumb_places[i]); });
    }
    for (lw_u32 place = 0; place < 5; ++place) {
      compare("trits", words, o.trits[place], [place](lw_u32 a) { return lw_trits(a, place); });
    }
    compare("sign_index", range(128), o.sign_index, [](lw_u32 a) { return lw_sign_index(a); });
    Words nibbles = words;
    for (lw_u32& word : nibbles) word &= 0x0F0F0F0Fu;
    compare("table16", nibbles, o.table16, [](lw_u32 a) {
      return lw_table16(a, table16_words[0], table16_words[1], table16_words[2], table16_words[3]);
    });
    // The processor's conversion keeps a NaN's payload; a kernel's outputs have the one NaN all the same.
    const auto one_nan = [](lw_u32 bits) { return is_nan(bits) ? 0x7FC00000u : bits; };
    compare(
        "half_to_float", range(65536),
        [&](const Lanes& in, Lanes& out) {
          o.half_to_float(in, out);
          for (std::uint32_t& bits : out) bits = one_nan(bits);
        },
        [](lw_u32 a) { return std::bit_cast<lw_u32>(lw_half_to_float(a)); });
    compare("ue4m3_halved", range(256), o.ue4m3_halved,
            [](lw_u32 a) { return std::bit_cast<lw_u32>(lw_ue4m3_halved(a)); });
    compare("sign_extend8", words, o.sign_extend8, [](lw_u32 a) { return static_cast<lw_u32>(lw_sign_extend8(a)); });
    Words exponents = range(1201);
    for (lw_u32& word : exponents) word -= 600u;
    compare("biased_power", exponents, o.biased_power,
            [](lw_u32 a) { return std::bit_cast<lw_u32>(capped_power(static_cast<lw_i32>(a) - 127)); });
    for (std::size_t first = 0; first + 16 <= words.size(); first += 16) {
      Lanes a;
      Lanes b;
      Lanes sum;
      Lanes negated;
      for (std::size_t i = 0; i < 16; ++i) {
        a[i] = words[first + i];
        b[i] = others[first + i];
      }
      o.bytes_add(a, b, sum);
      o.negate(a, b, negated);
      for (std::size_t i = 0; i < 16; ++i) {
        ASSERT_EQ(sum[i], lw_bytes_add(a[i], b[i])) << "bytes_add of " << a[i] << " and " << b[i];
        ASSERT_EQ(negated[i], lw_negate(a[i], b[i])) << "negate of " << a[i] << " by " << b[i];
      }
    }
  }
}

// Sixteen pairs of words at a time: what each of `Count` variants gives, against expected(variant, a, b).
template <std::size_t Count, class Got, class Expected>
void compare_variants(std::string_view what, const Words& words, Got got, Expected expected,
                      std::uint32_t mask = 0xFFFFFFFFu) {
  for (std::size_t first = 0; first + 16 <= words.size(); first += 16) {
    Lanes a;
    Lanes b;
    Lanes out[Count];
    for (std::size_t i = 0; i < 16; ++i) {
      a[i] = words[first + i] & mask;
      b[i] = words[words.size() - 1 - first - i];
    }
    got(a, b, out);
    for (lw_u32 v = 0; v < Count; ++v) {
      for (std::size_t i = 0; i < 16; ++i) {
        ASSERT_EQ(out[v][i], expected(v, a[i], b[i])) << what << " " << v << " of " << a[i] << " and " << b[i];
      }
    }
  }
}

TEST(Overrides, OfRunsAreThePortableText) {
  bool any = false;
  const Words words = samples();
  std::uint8_t table64[64];
  std::uint8_t table256[256];
  std::copy_n(run_table.byte, 64, table64);
  std::copy_n(run_table.byte, 256, table256);
  for (const Target& target : able()) {
    if (target.runs == nullptr) continue;
    any = true;
    SCOPED_TRACE(target.name);
    const RunOverrides& o = *target.runs;
    compare_variants<4>(
        "byte_of", words, [&](const Lanes& a, const Lanes&, auto& out) { o.byte_of(a, out); },
        [](lw_u32 i, lw_u32 a, lw_u32) { return lw_byte_of(a, i); });
    compare("look_up64", words, o.look_up64, [&](lw_u32 a) { return lw_look_up64(table64, a); });
    compare("look_up256", words, o.look_up256, [&](lw_u32 a) { return lw_look_up256(table256, a); });
    compare_variants<8>("look_up512", words, o.look_up512, [](lw_u32 i, lw_u32 a, lw_u32 ninths) {
      return lw_look_up512(run_table.byte, a, ninths, 4 * i);
    });
    compare("bytes_sign_index", words, o.bytes_sign_index, [](lw_u32 a) { return lw_bytes_sign_index(a); });
    compare("four_sign_indices", words, o.four_sign_indices, [](lw_u32 a) { return lw_four_sign_indices(a); });
    compare_variants<4>(
        "put_signs", words, o.put_signs, [](lw_u32 i, lw_u32 a, lw_u32 signs) { return lw_put_signs(a, signs, 8 * i); },
        0xDDDDDDDDu);
    compare_variants<32>(
        "put_bit", words, o.put_bit, [](lw_u32 i, lw_u32 a, lw_u32 word) { return lw_put_bit(a, word, i, 2u); },
        0xFBFBFBFBu);
    compare_variants<2>(
        "nibbles_apart", words,
        [&](const Lanes& a, const Lanes&, auto& out) {
          o.nibbles_apart(a, out);
          for (Lanes& lanes : out) {
            for (std::uint32_t& word : lanes) word &= 0x0F0F0F0Fu;
          }
        },
        [](lw_u32 i, lw_u32 a, lw_u32) { return lw_nibbles_apart(a, i) & 0x0F0F0F0Fu; });
    compare_variants<8>("put_bits", words, o.put_bits, [](lw_u32 i, lw_u32 a, lw_u32 bits) {
      return i < 4 ? lw_put_bits(a, 15u, bits, 2 * i, 4u, 5u) : lw_put_bits(a, 0x77u, bits, 2 * (i - 4), 3u, 7u);
    });
    compare_variants<2>(
        "look_up_lanes", words, [&](const Lanes& a, const Lanes&, auto& out) { o.look_up_lanes(a, out); },
        [](lw_u32 i, lw_u32 a, lw_u32) {
          const lw_u32 square = (a & 15u) * (a & 15u);
          return i == 0 ? square : std::bit_cast<lw_u32>(static_cast<float>(square));
        });
  }
  if (!any) GTEST_SKIP() << "this processor or build has no target that takes runs";
}

}  // namespace
}  // namespace lanewise::test
