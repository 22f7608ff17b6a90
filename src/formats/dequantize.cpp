// The generic decoder: any format's blocks to fp32, through its decode file.
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/float_env.h"
#include "formats/block.h"
#include "formats/formats.h"

namespace lanewise {
namespace {

float without_payload(float value) { return value != value ? std::bit_cast<float>(0x7FC00000u) : value; }

// The scales are found once a group, which is what makes the loop over quads cheap.
template <class T>
LW_NOINLINE void dequantize_blocks(const std::uint8_t* bytes, std::uint64_t count, float* out) {
  constexpr lw_u32 dgroup_groups = T::info.dgroup / T::info.group;
  constexpr lw_u32 group_quads = T::info.group / 4;
  for (std::uint64_t b = 0; b < count; ++b, bytes += T::info.block_bytes) {
    const Block<T> block{bytes};
    for (lw_u32 dgroup = 0; dgroup < T::info.block_elements / T::info.dgroup; ++dgroup) {
      float d = 0;
      float m = 0;
      lw_i32 exponent = 0;
      if constexpr (T::info.kind == FormatKind::EXP) {
        exponent = T::exponent(block.scale_bits(dgroup));
      } else {
        d = T::d(block.scale_bits(dgroup));
      }
      if constexpr (T::info.has_min) m = T::m(block.min_bits(dgroup));
      for (lw_u32 g = 0; g < dgroup_groups; ++g) {
        const lw_u32 group = dgroup * dgroup_groups + g;
        const float scale = d * static_cast<float>(block.sub_scale(group));
        const float min = T::info.has_min ? m * static_cast<float>(block.sub_min(group)) : 0.0F;
        for (lw_u32 q = 0; q < group_quads; ++q) {
          const lw_u32 codes = block.quad(group * group_quads + q);
          for (lw_u32 i = 0; i < 4; ++i) {
            const lw_i32 code = quad_code(codes, i);
            if constexpr (T::info.kind == FormatKind::EXP) {
              *out++ = lw_code_times_power(code, exponent);
            } else {
              float value = scale * static_cast<float>(code);
              if constexpr (T::info.has_min) value += min;
              *out++ = without_payload(value);
            }
          }
        }
      }
    }
  }
}

template <class T>
LW_NOINLINE void widen(const std::uint8_t* bytes, std::uint64_t count, float* out) {
  for (std::uint64_t k = 0; k < count; ++k, bytes += T::info.block_bytes) {
    lw_u32 raw = 0;
    std::memcpy(&raw, bytes, T::info.block_bytes);
    out[k] = without_payload(T::value(raw));
  }
}

}  // namespace

void dequantize_row(Format format, const std::uint8_t* row, std::uint64_t cols, float* out) {
  const FloatEnvironment environment;
  with_format(format, [&]<class T>(T) {
    if constexpr (T::info.is_float()) {
      widen<T>(row, cols, out);
    } else {
      dequantize_blocks<T>(row, cols / T::info.block_elements, out);
    }
  });
}

}  // namespace lanewise
