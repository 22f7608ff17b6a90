#include "arithmetic/fills.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "formats/block.h"

namespace lanewise::trial {
namespace {

// ---- weights ----

// Values of a field's part: all of them, or, for a part that holds a field in each byte, each value in all four at
// once.
std::vector<lw_u32> part_values(lw_u32 mask) {
  std::vector<lw_u32> values;
  const bool narrow = (mask & (mask + 1)) == 0 && mask < 0x1000;
  for (lw_u32 v = 0; v <= (narrow ? mask : 255u); ++v) {
    const lw_u32 value = narrow ? v : (v * 0x01010101u) & mask;
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return values;
}

template <class T>
lw_u32 field_width(lw_u32 parts, LwPart (*where)(lw_u32, lw_u32), lw_u32 index) {
  int width = 0;
  for (lw_u32 i = 0; i < parts; ++i) width += std::popcount(where(index, i).mask);
  return static_cast<lw_u32>(width);
}

using Parts = std::array<lw_u32, 3>;

// For each quad of a block the parts with the largest and smallest sum of codes and the largest sum of magnitudes, and
// the raw sub-scales and sub-mins likewise.
template <class T>
struct Field {
  struct Quad {
    Parts largest{}, smallest{}, widest{};
  };
  std::array<Quad, T::info.block_elements / 4> quads{};
  lw_u32 sc_largest = 0, sc_smallest = 0, sc_widest = 0, mn_largest = 0;
  Extremes extremes;

  Field() {
    for (lw_u32 q = 0; q < quads.size(); ++q) search_quad(q);
    lw_i32 high = std::numeric_limits<lw_i32>::min(), low = std::numeric_limits<lw_i32>::max();
    for (lw_u32 raw = 0; raw < (1u << field_width<T>(T::sc_parts, T::sc_part, 0)); ++raw) {
      const lw_i32 sc = T::sc(raw);
      if (sc > high) high = sc, sc_largest = raw;
      if (sc < low) low = sc, sc_smallest = raw;
    }
    sc_widest = std::abs(low) > std::abs(high) ? sc_smallest : sc_largest;
    extremes.sub_scale = std::abs(T::sc(sc_widest));
    for (lw_u32 raw = 0; raw < (1u << field_width<T>(T::mn_parts, T::mn_part, 0)); ++raw) {
      if (std::abs(T::mn(raw)) <= extremes.sub_min) continue;
      extremes.sub_min = std::abs(T::mn(raw));
      mn_largest = raw;
    }
  }

 private:
  void search_quad(lw_u32 q) {
    std::array<std::vector<lw_u32>, 3> values = {std::vector<lw_u32>{0}, {0}, {0}};
    for (lw_u32 i = 0; i < T::quad_parts; ++i) values[i] = part_values(T::quad_part(q, i).mask);
    lw_i32 high = std::numeric_limits<lw_i32>::min(), low = std::numeric_limits<lw_i32>::max(), wide = -1;
    for (const lw_u32 p0 : values[0]) {
      for (const lw_u32 p1 : values[1]) {
        for (const lw_u32 p2 : values[2]) {
          const lw_u32 quad = T::quad(q, p0, p1, p2);
          lw_i32 sum = 0, magnitude = 0;
          for (lw_u32 i = 0; i < 4; ++i) {
            const lw_i32 code = quad_code(quad, i);
            sum += code;
            magnitude += std::abs(code);
            extremes.code = std::max<std::int64_t>(extremes.code, std::abs(code));
          }
          if (sum > high) high = sum, quads[q].largest = {p0, p1, p2};
          if (sum < low) low = sum, quads[q].smallest = {p0, p1, p2};
          if (magnitude > wide) wide = magnitude, quads[q].widest = {p0, p1, p2};
        }
      }
    }
  }
};

template <class T>
const Field<T>& field() {
  static const Field<T> made;
  return made;
}

// An ordinary half: magnitude 2^-7 to 2^-4, either sign.
lw_u32 tame_half(Random& random) {
  return 0x2000u + static_cast<lw_u32>(random.below(0x0C00)) + (random.coin() ? 0x8000u : 0u);
}

template <class T>
void tame_scales(std::uint8_t* block, Random& random) {
  for (lw_u32 g = 0; g < T::info.block_elements / T::info.dgroup; ++g) {
    lw_u32 d = tame_half(random);
    if (T::info.kind == FormatKind::EXP) d = 115u + static_cast<lw_u32>(random.below(8));
    if (T::info.kind == FormatKind::HALF && field_width<T>(T::d_parts, T::d_part, g) == 8) {
      d = 0x20u + static_cast<lw_u32>(random.below(32));
    }
    write_field(
        block, T::d_parts, [g](lw_u32 i) { return T::d_part(g, i); }, d);
    write_field(
        block, T::m_parts, [g](lw_u32 i) { return T::m_part(g, i); }, tame_half(random));
  }
}

template <class T>
void extreme_fields(std::uint8_t* block, WeightFill fill, Random& random) {
  const Field<T>& f = field<T>();
  constexpr std::array kinds = {WeightFill::largest, WeightFill::smallest, WeightFill::widest};
  for (lw_u32 g = 0; g < T::info.block_elements / T::info.group; ++g) {
    const WeightFill kind = fill == WeightFill::mixed ? kinds[random.below(kinds.size())] : fill;
    lw_u32 sc = f.sc_largest;
    if (kind == WeightFill::smallest) sc = f.sc_smallest;
    if (kind == WeightFill::widest) sc = f.sc_widest;
    write_field(
        block, T::sc_parts, [g](lw_u32 i) { return T::sc_part(g, i); }, sc);
    write_field(
        block, T::mn_parts, [g](lw_u32 i) { return T::mn_part(g, i); }, f.mn_largest);
    for (lw_u32 q = g * T::info.group / 4; q < (g + 1) * T::info.group / 4; ++q) {
      const Parts* parts = &f.quads[q].largest;
      if (kind == WeightFill::smallest) parts = &f.quads[q].smallest;
      if (kind == WeightFill::widest) parts = &f.quads[q].widest;
      for (lw_u32 i = 0; i < T::quad_parts; ++i) write_part(block, T::quad_part(q, i), (*parts)[i]);
    }
  }
}

template <class T>
void fill_weights(std::vector<std::uint8_t>& bytes, WeightFill fill, Random& random) {
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.bits());
  if (fill == WeightFill::random_bytes) return;
  for (std::size_t at = 0; at < bytes.size(); at += T::info.block_bytes) {
    std::uint8_t* block = bytes.data() + at;
    if constexpr (T::info.is_float()) {
      // The extremes of a float format are the edges of what counts: 2^-63 and 2^63.
      float w = random.gauss() * 0.05F;
      if (fill == WeightFill::largest)
        w = std::ldexp(1.0F + std::fabs(random.uniform()), static_cast<int>(random.between(58, 63)));
      if (fill == WeightFill::smallest)
        w = -std::ldexp(1.0F + std::fabs(random.uniform()), static_cast<int>(random.between(-66, -61)));
      if (fill == WeightFill::widest) w = random.coin() ? 0x1p63F : -0x1.fffffep62F;
      if (fill == WeightFill::mixed) w = std::ldexp(random.uniform(), static_cast<int>(random.between(-70, 60)));
      if constexpr (T::info.format == Format::F16) {
        const std::uint16_t half = oracle::round_to_fp16(w);
        std::memcpy(block, &half, 2);
      } else if constexpr (T::info.format == Format::BF16) {
        const std::uint16_t bfloat = oracle::round_to_bf16(w);
        std::memcpy(block, &bfloat, 2);
      } else {
        std::memcpy(block, &w, 4);
      }
    } else {
      if (fill != WeightFill::tame) extreme_fields<T>(block, fill, random);
      tame_scales<T>(block, random);
    }
  }
}

// ---- activations ----

float next_float(float x, int steps) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) + static_cast<std::uint32_t>(steps));
}

float random_below_2_64(Dtype dtype, Random& random) {
  for (;;) {
    const std::uint64_t bits = random.bits();
    float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (dtype == Dtype::f16) x = static_cast<float>(oracle::fp16_value(static_cast<std::uint16_t>(bits)));
    if (dtype == Dtype::bf16) x = static_cast<float>(oracle::bf16_value(static_cast<std::uint16_t>(bits)));
    if (std::fabs(x) < 0x1p64F) return x;
  }
}

// One super-block's worth of x.
void fill_block(InputFill fill, Planes planes, Dtype dtype, float* x, std::uint64_t count, Random& random) {
  const auto limit = static_cast<float>(oracle::activation_limit(static_cast<int>(plane_count(planes))));
  // A half holds 2^-24 to 65504; the fills of x8 .. x24 at the limit stand for what their leading bits leave.
  const int bits = static_cast<int>(8 * plane_count(planes)) - 1;
  const int power = dtype == Dtype::f16 ? static_cast<int>(random.between(-8, 0)) + 15 - bits
                                        : static_cast<int>(random.between(-20, 20));
  const float scale = std::ldexp(1.0F, power);
  const std::uint64_t kind = random.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    switch (fill) {
      case InputFill::gauss:
      case InputFill::poisoned:
        x[i] = random.gauss();
        break;
      case InputFill::wide:
        x[i] = std::ldexp(random.uniform(),
                          static_cast<int>(dtype == Dtype::f16 ? random.between(-24, 15) : random.between(-95, 60)));
        break;
      case InputFill::random_bits:
        x[i] = random_below_2_64(dtype, random);
        break;
      case InputFill::limit_plus:
        x[i] = limit * scale;
        break;
      case InputFill::limit_minus:
        x[i] = -limit * scale;
        break;
      case InputFill::limit_signs:
        x[i] = (random.coin() ? limit : -limit) * scale;
        break;
      case InputFill::low_byte: {
        const std::int64_t high = planes == Planes::x8 ? 0 : random.between(-126, 126);
        const std::int64_t low = random.coin() ? -128 : 127;
        std::int64_t q = planes == Planes::x24 ? (high * 256 + low) * 256 + low : high * 256 + low;
        if (planes == Planes::x8) q = std::max<std::int64_t>(low, -127);
        x[i] = (i == 0 ? limit : static_cast<float>(q)) * scale;
        break;
      }
      case InputFill::boundary:
        x[i] = i == 0 ? next_float(limit + 0.5F, static_cast<int>(kind) - 2) * scale : random.uniform() * limit * scale;
        break;
      case InputFill::near_power:
        x[i] = (i == 0 ? 1.0F + 0.01F * random.uniform() : 0.99F * random.uniform()) * scale;
        break;
      case InputFill::zeros:
        x[i] = kind == 0 ? 0.0F
                         : (kind == 1 ? -0.0F
                                      : (random.coin() ? -0.0F : random.gauss() * static_cast<float>(random.below(2))));
        break;
      case InputFill::subnormal:
        x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits() & 0x807FFFFFu));
        break;
      case InputFill::tiny: {
        constexpr std::array<float, 8> values = {0x1p-81F,        -0x1p-81F,  0x1.000002p-81F, -0x1.000002p-81F,
                                                 0x1.fffffep-82F, 0x1.8p-80F, 0x1.4p-79F,      0x1p-100F};
        x[i] = values[random.below(kind == 0 ? 2 : values.size())];
        break;
      }
      case InputFill::huge:
        x[i] =
            std::ldexp(1.0F + std::fabs(random.uniform()) * 0x1.fffffcp-1F, static_cast<int>(random.between(50, 63))) *
            (random.coin() ? 1.0F : -1.0F);
        break;
    }
  }
}

}  // namespace

float Random::gauss() {
  float sum = 0;
  for (int i = 0; i < 12; ++i) sum += static_cast<float>(between(0, 0xFFFF)) * 0x1p-16F;
  return sum - 6.0F;
}

std::vector<Format> all_formats() {
  std::vector<Format> list;
  for (const FormatInfo& info : formats()) list.push_back(info.format);
  return list;
}

std::vector<Format> code_formats() {
  std::vector<Format> list = all_formats();
  std::erase_if(list, [](Format format) { return format_info(format).is_float(); });
  return list;
}

std::string test_name(Format format) { return std::string(format_info(format).name); }

std::vector<std::uint8_t> make_weights(Format format, std::uint64_t rows, std::uint64_t cols, WeightFill fill,
                                       Random& random) {
  std::vector<std::uint8_t> bytes(rows * row_bytes(format_info(format), cols));
  with_format(format, [&]<class T>(T) { fill_weights<T>(bytes, fill, random); });
  return bytes;
}

std::vector<std::uint8_t> Input::packed() const {
  const std::uint64_t row = cols * dtype_bytes(dtype);
  std::vector<std::uint8_t> out(tokens * row);
  for (std::uint64_t t = 0; t < tokens; ++t) {
    std::memcpy(out.data() + t * row, bytes.data() + t * stride * dtype_bytes(dtype), row);
  }
  return out;
}

Input make_input(InputFill fill, Planes planes, Dtype dtype, std::uint64_t tokens, std::uint64_t cols,
                 std::uint64_t stride, Random& random) {
  Input out{dtype, tokens, cols, stride, std::vector<std::uint8_t>(tokens * stride * dtype_bytes(dtype), 0xFF)};
  for (std::uint64_t t = 0; t < tokens; ++t) {
    std::vector<float> row(cols);
    for (std::uint64_t k = 0; k < cols; k += super_block) {
      fill_block(fill, planes, dtype, row.data() + k, std::min(super_block, cols - k), random);
    }
    if (fill == InputFill::poisoned && random.below(tokens == 1 ? 2 : 3) == 0) {
      constexpr std::array<float, 6> poisons = {
          __builtin_nanf(""), -__builtin_nanf(""), __builtin_inff(), -__builtin_inff(), 0x1p64F, -0x1p64F};
      row[random.below(cols)] = poisons[random.below(poisons.size())];
    }
    for (std::uint64_t k = 0; k < cols; ++k) {
      std::uint8_t* at = out.bytes.data() + (t * stride + k) * dtype_bytes(dtype);
      if (dtype == Dtype::f32) {
        std::memcpy(at, &row[k], 4);
      } else {
        const std::uint16_t narrow =
            dtype == Dtype::f16 ? oracle::round_to_fp16(row[k]) : oracle::round_to_bf16(row[k]);
        std::memcpy(at, &narrow, 2);
      }
    }
  }
  return out;
}

Input input_of(const std::vector<float>& x, std::uint64_t tokens) {
  const std::uint64_t cols = x.size() / tokens;
  Input out{Dtype::f32, tokens, cols, cols, std::vector<std::uint8_t>(x.size() * 4)};
  std::memcpy(out.bytes.data(), x.data(), out.bytes.size());
  return out;
}

oracle::Activation oracle_activation(const Input& x, Planes planes) {
  constexpr std::array types = {oracle::Input::fp32, oracle::Input::fp16, oracle::Input::bf16};
  const std::vector<std::uint8_t> packed = x.packed();
  return oracle::activate(packed.data(), types[static_cast<std::size_t>(x.dtype)], static_cast<std::int64_t>(x.tokens),
                          static_cast<std::int64_t>(x.cols), static_cast<int>(plane_count(planes)));
}

Extremes extremes(Format format) {
  return with_format(format, []<class T>(T) {
    if constexpr (T::info.is_float()) {
      return Extremes{};
    } else {
      return field<T>().extremes;
    }
  });
}

}  // namespace lanewise::trial
