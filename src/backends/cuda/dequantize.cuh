// Decoding GGUF's bytes to fp32 on the device, with the bits of formats/dequantize.cpp.
#pragma once

#include "backends/cuda/simt_format.cuh"
#include "backends/cuda/simt_shape.h"
#include "backends/cuda/start.cuh"

namespace lanewise {
inline namespace LW_DECODE_SPACE {
namespace dequantize {

using namespace cuda;  // the machine's words

inline constexpr std::uint32_t threads = 128;
inline constexpr std::uint32_t stretch = 1024;  // elements that a block takes at a time

LW_DEVICE float without_payload(float value) { return value != value ? float_of(0x7FC00000u) : value; }

/// Codes 4*quad .. of a block.
template <class T>
LW_DEVICE void decode_quad(const std::uint8_t* bytes, std::uint32_t quad, float (&out)[4]) {
  const BlockWords<T> block(bytes);
  const std::uint32_t group = quad / (T::info.group / 4);
  const std::uint32_t dgroup = quad / (T::info.dgroup / 4);
  const std::uint32_t codes = block.quad(quad);
  if constexpr (T::info.kind == FormatKind::EXP) {
    const std::int32_t exponent = T::exponent(block.scale_bits(dgroup));
    for (std::uint32_t i = 0; i < 4; ++i) out[i] = lw_code_times_power(lw_sign_extend8(codes >> (8 * i)), exponent);
  } else {
    const float scale = multiply(T::d(block.scale_bits(dgroup)), to_float(block.sub_scale(group)));
    float min = 0;
    if constexpr (T::info.has_min) min = multiply(T::m(block.min_bits(dgroup)), to_float(block.sub_min(group)));
    for (std::uint32_t i = 0; i < 4; ++i) {
      float value = multiply(scale, to_float(lw_sign_extend8(codes >> (8 * i))));
      if constexpr (T::info.has_min) value = add(value, min);
      out[i] = without_payload(value);
    }
  }
}

template <class T, class Grid>
LW_KERNEL_TEXT void codes_kernel(const std::uint8_t* w, std::uint64_t elements, float* out) {
  constexpr std::uint32_t bytes = stretch / T::info.block_elements * T::info.block_bytes;
  LW_SHARED_MEMORY(memory);
  auto* const table = reinterpret_cast<std::uint32_t*>(memory);
  if constexpr (Grid::words != 0) {
    for (std::uint32_t i = thread_index(); i < Grid::words; i += threads) table[i] = Grid::word(i);
  }
  std::uint8_t* const copies = memory + Grid::words * 4;
  const std::uint8_t* const end = w + elements / T::info.block_elements * T::info.block_bytes;
  const std::uint64_t stretches = (elements + stretch - 1) / stretch;
  for (std::uint64_t s = block_index(); s < stretches; s += grid_blocks()) {
    const std::uint8_t* const from = w + s * bytes;
    const auto skew = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) & 15);
    for (std::uint32_t i = thread_index(); 16 * i < skew + bytes; i += threads) {
      const std::uint8_t* const at = from - skew + 16 * i;
      if (at >= end) continue;
      const auto left = static_cast<std::uint64_t>(end - at);
      copy_async(copies + 16 * i, at, left < 16 ? static_cast<std::uint32_t>(left) : 16);
    }
    copy_commit();
    copy_wait<0>();
    sync_block();
    for (std::uint32_t i = thread_index(); i < stretch / 4; i += threads) {
      const std::uint64_t at = s * stretch + 4 * i;
      if (at >= elements) continue;
      float values[4];
      decode_quad<T>(copies + skew + 4 * i / T::info.block_elements * T::info.block_bytes,
                     i % (T::info.block_elements / 4), values);
      for (std::uint32_t j = 0; j < 4; ++j) out[at + j] = values[j];
    }
    sync_block();
  }
}

template <class T>
LW_KERNEL_TEXT void floats_kernel(const std::uint8_t* w, std::uint64_t elements, float* out) {
  const std::uint64_t step = std::uint64_t{grid_blocks()} * threads;
  for (std::uint64_t i = std::uint64_t{block_index()} * threads + thread_index(); i < elements; i += step) {
    std::uint32_t raw;
    if constexpr (T::info.block_bytes == 4) {
      raw = reinterpret_cast<const std::uint32_t*>(w)[i];
    } else {
      raw = reinterpret_cast<const std::uint16_t*>(w)[i];
    }
    out[i] = without_payload(T::value(raw));
  }
}

inline std::uint32_t grid_of(std::uint64_t items) {
  constexpr std::uint64_t most = std::uint64_t{1} << 20;
  return static_cast<std::uint32_t>(items < most ? items : most);
}

/// `w` and `out` in device memory, `w` aligned to 16 bytes; `elements` are whole blocks. A cudaError_t.
template <class T, class Grid>
int launch(const std::uint8_t* w, std::uint64_t elements, float* out, void* stream) {
  if (elements == 0) return 0;
  if constexpr (T::info.is_float()) {
    return start(floats_kernel<T>, grid_of((elements + threads - 1) / threads), threads, 0, false, stream, w, elements,
                 out);
  } else {
    constexpr std::uint32_t bytes = stretch / T::info.block_elements * T::info.block_bytes;
    return start(codes_kernel<T, Grid>, grid_of((elements + stretch - 1) / stretch), threads,
                 Grid::words * 4 + bytes + 32, false, stream, w, elements, out);
  }
}

}  // namespace dequantize
}  // namespace LW_DECODE_SPACE
}  // namespace lanewise
