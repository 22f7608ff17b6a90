// The generic decoder: any format's blocks to fp32, through its decode file.
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/float_env.h"
#include "formats/block.h"
#include "formats/formats.h"

namespace lanewise {
namespace {

// code * 2^exponent by integer operations, since the result may be subnormal (rounding never takes part: a code has at
// most four significant bits and the least exponent is -128).
float scaled_code(lw_i32 code, lw_i32 exponent) {
  if (code == 0) return 0.0F;
  const auto magnitude = static_cast<lw_u32>(code < 0 ? -code : code);
  const auto sign = code < 0 ? 0x80000000u : 0u;
  const auto width = static_cast<lw_i32>(std::bit_width(magnitude));
  const lw_i32 biased = exponent + width - 1 + 127;
  if (biased >= 255) return std::bit_cast<float>(sign | 0x7F800000u);
  if (biased <= 0) return std::bit_cast<float>(sign | (magnitude << (exponent + 149)));
  return std::bit_cast<float>(sign | (static_cast<lw_u32>(biased) << 23) | ((magnitude << (24 - width)) & 0x7FFFFFu));
}

float without_payload(float value) { return value != value ? std::bit_cast<float>(0x7FC00000u) : value; }

template <class T>
LW_NOINLINE void dequantize_block(const std::uint8_t* bytes, float* out) {
  const Block<T> block{bytes};
  for (lw_u32 quad = 0; quad < T::info.block_elements / 4; ++quad) {
    const lw_u32 codes = block.quad(quad);
    const lw_u32 group = quad * 4 / T::info.group;
    const lw_u32 dgroup = quad * 4 / T::info.dgroup;
    for (lw_u32 i = 0; i < 4; ++i) {
      const lw_i32 code = quad_code(codes, i);
      float value = 0;
      if constexpr (T::info.kind == FormatKind::EXP) {
        value = scaled_code(code, T::exponent(block.scale_bits(dgroup)));
      } else {
        value = T::d(block.scale_bits(dgroup)) * static_cast<float>(block.sub_scale(group)) * static_cast<float>(code);
        if constexpr (T::info.has_min) {
          value += T::m(block.min_bits(dgroup)) * static_cast<float>(block.sub_min(group));
        }
      }
      out[quad * 4 + i] = without_payload(value);
    }
  }
}

}  // namespace

void dequantize_row(Format format, const std::uint8_t* row, std::uint64_t cols, float* out) {
  const FloatEnvironment environment;
  with_format(format, [&]<class T>(T) {
    for (std::uint64_t k = 0; k < cols;
         k += T::info.block_elements, row += T::info.block_bytes, out += T::info.block_elements) {
      if constexpr (T::info.is_float()) {
        lw_u32 raw = 0;
        std::memcpy(&raw, row, T::info.block_bytes);
        *out = without_payload(T::value(raw));
      } else {
        dequantize_block<T>(row, out);
      }
    }
  });
}

}  // namespace lanewise
