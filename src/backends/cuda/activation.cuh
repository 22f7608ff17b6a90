// Kernels that make the image of x (image.h), as docs/arithmetic.md, section 2, defines it. A warp takes a super-block
// of a slot of a slice, a lane eight elements of it. The super-blocks of a slot are spread over many small blocks of
// threads, since most of the time is stores; whether any is bad, which the slot's flag tells, is found by one more,
// which reads the whole token: nothing has to pass between blocks.
#pragma once

#include "backends/cuda/activation.h"
#include "backends/cuda/machine.cuh"

#if defined(__CUDACC__)
#define LW_MOST_THREADS(threads) __launch_bounds__(threads)
#else
#define LW_MOST_THREADS(threads)
#endif

namespace lanewise::cuda {

inline constexpr std::uint32_t image_part = 4;  ///< super-blocks of a block of threads
inline constexpr std::uint32_t image_threads = 32 * image_part;

/// Blocks of threads of a slot that make its super-blocks.
LW_BOTH std::uint32_t image_parts(std::uint32_t blocks) { return (blocks + image_part - 1) / image_part; }
/// Slots of all slices.
LW_BOTH std::uint64_t image_all_slots(std::uint64_t tokens) {
  const auto rest = static_cast<std::uint32_t>(tokens % image_slice);
  return tokens / image_slice * image_slice + (rest == 0 ? 0 : image_slots(rest));
}
/// Blocks of threads of image_kernel and of floats_kernel; 2^31 of them would make an image of terabytes.
LW_BOTH std::uint64_t image_grid(const ImageTask& task) {
  return image_all_slots(task.tokens) * (image_parts(task.blocks) + 1);
}
LW_BOTH std::uint64_t floats_grid(const ImageTask& task) {
  return image_all_slots(task.tokens) * image_parts(task.blocks);
}

// 2^exponent, -126 to 127.
LW_DEVICE float image_power(std::int32_t exponent) {
  return float_of(static_cast<std::uint32_t>(exponent + 127) << 23);
}

// The smallest e >= -80 with rint(amax * 2^-e) <= the limit of that many planes; amax, as bits, below 2^64. The limits
// lie between 2^(bits-1) and 2^bits, bits = 8 * planes - 1: e is that of 2^bits, or one more where the mantissa rounds
// past the limit. A subnormal amax is far below the least e.
LW_DEVICE std::int32_t image_exponent(std::uint32_t amax, std::uint32_t planes) {
  const std::int32_t bits = static_cast<std::int32_t>(8 * planes) - 1;
  const std::int32_t limit = planes == 1 ? 127 : planes == 2 ? 32512 : 8355711;
  std::int32_t e = static_cast<std::int32_t>(amax >> 23) - 126 - bits;
  if (e < -80) e = -80;
  return to_int(multiply(float_of(amax), image_power(-e))) > limit ? e + 1 : e;
}

// Which part of which slot of which slice a block of threads makes, of `parts` a slot.
struct ImageSlot {
  std::uint64_t slice;
  std::uint32_t slot;
  std::uint32_t slots;
  std::uint32_t part;
  bool present;
};
LW_DEVICE ImageSlot image_slot(const ImageTask& task, std::uint32_t parts) {
  const std::uint32_t index = block_index() / parts;
  const std::uint64_t slice = index / image_slice;
  const std::uint64_t left = task.tokens - slice * image_slice;
  const std::uint32_t tokens = left < image_slice ? static_cast<std::uint32_t>(left) : image_slice;
  const std::uint32_t slot = index % image_slice;
  return {slice, slot, image_slots(tokens), block_index() % parts, slot < tokens};
}

// Bits of x[k .. k+7] as fp32, zeros from `count` on. Nothing is read past the last element; volatile, so that no load
// moves above wait_for_previous().
LW_DEVICE void image_load(const ImageTask& task, std::uint64_t token, std::uint64_t k, std::uint32_t (&bits)[8]) {
  const std::uint64_t at = token * task.stride + k;
  const std::uint64_t count = k < task.cols ? task.cols - k : 0;
  if (task.dtype == 0) {
    const auto* p = static_cast<const std::uint32_t*>(task.x) + at;
    if (count >= 8 && reinterpret_cast<std::uintptr_t>(p) % 16 == 0) {
      const uint4 a = load4(p);
      const uint4 b = load4(p + 4);
      bits[0] = a.x, bits[1] = a.y, bits[2] = a.z, bits[3] = a.w;
      bits[4] = b.x, bits[5] = b.y, bits[6] = b.z, bits[7] = b.w;
      return;
    }
    LW_UNROLL
    for (std::uint32_t i = 0; i < 8; ++i) bits[i] = i < count ? load1(p + i) : 0;
    return;
  }
  const auto* p = static_cast<const std::uint16_t*>(task.x) + at;
  std::uint32_t pairs[4];
  if (count >= 8 && reinterpret_cast<std::uintptr_t>(p) % 16 == 0) {
    const uint4 a = load4(p);
    pairs[0] = a.x, pairs[1] = a.y, pairs[2] = a.z, pairs[3] = a.w;
  } else {
    const auto* q = static_cast<const volatile std::uint16_t*>(p);
    LW_UNROLL
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t low = 2 * i < count ? q[2 * i] : 0u;
      const std::uint32_t high = 2 * i + 1 < count ? q[2 * i + 1] : 0u;
      pairs[i] = low | high << 16;
    }
  }
  LW_UNROLL
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::uint32_t half = pairs[i / 2] >> (i % 2 * 16) & 0xFFFFu;
    bits[i] = task.dtype == 1 ? bits_of(half_value(half)) : half << 16;
  }
}

// The largest magnitude, as bits, of these and `largest`; of those of a warp.
LW_DEVICE std::uint32_t image_larger(std::uint32_t largest, const std::uint32_t (&bits)[8]) {
  LW_UNROLL
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::uint32_t magnitude = bits[i] & 0x7FFFFFFFu;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}
LW_DEVICE std::uint32_t image_largest(const std::uint32_t (&bits)[8]) { return warp_max(image_larger(0, bits)); }

// Four int8 planes' worth of q to words of four codes, lowest plane first: q is used up.
template <std::uint32_t P>
LW_DEVICE void image_split(std::int32_t (&q)[8], std::uint32_t (&words)[P][2]) {
  LW_UNROLL
  for (std::uint32_t p = 0; p < P; ++p) {
    LW_UNROLL
    for (std::uint32_t half = 0; half < 2; ++half) {
      std::uint32_t word = 0;
      LW_UNROLL
      for (std::uint32_t i = 0; i < 4; ++i) {
        std::int32_t& rest = q[half * 4 + i];
        // What is left of the highest plane fits it.
        const std::int32_t low = ((rest + 128) & 255) - 128;
        word |= (static_cast<std::uint32_t>(low) & 255u) << (8 * i);
        rest = (rest - low) >> 8;
      }
      words[p][half] = word;
    }
  }
}

// fp32 bits of no use: 2^64, an infinity, a NaN.
inline constexpr std::uint32_t image_bad = 0x5F800000U;

// The largest magnitude among a thread's share of a token, which all of a block's threads read, as fp32 bits. Without
// branches, so that K = 8192 is a single trip: this takes longer than the super-blocks do.
LW_DEVICE std::uint32_t image_largest_of(const ImageTask& task, std::uint64_t token) {
  const std::uint32_t size = task.dtype == 0 ? 4 : 2;
  const auto* const x = static_cast<const std::uint8_t*>(task.x) + token * task.stride * size;
  const std::uint64_t bytes = task.cols * size;
  std::uint32_t largest = 0;
  if ((reinterpret_cast<std::uintptr_t>(x) | bytes) % 16 != 0) {
    LW_NO_UNROLL
    for (std::uint64_t k = thread_index() * 8; k < task.cols; k += image_threads * 8) {
      std::uint32_t bits[8];
      image_load(task, token, k, bits);
      largest = image_larger(largest, bits);
    }
    return largest;
  }
  constexpr std::uint32_t many = 16;  // loads of a thread under way at once
  LW_NO_UNROLL
  for (std::uint64_t at = thread_index() * 16; at < bytes; at += many * image_threads * 16) {
    uint4 v[many];
    LW_UNROLL
    for (std::uint32_t n = 0; n < many; ++n) {
      v[n] = uint4{0, 0, 0, 0};
      if (at + n * image_threads * 16 < bytes) v[n] = load4(x + at + n * image_threads * 16);
    }
    LW_UNROLL
    for (std::uint32_t n = 0; n < many; ++n) {
      const std::uint32_t words[4] = {v[n].x, v[n].y, v[n].z, v[n].w};
      LW_UNROLL
      for (const std::uint32_t word : words) {
        if (task.dtype == 0) {
          largest = (word & 0x7FFFFFFFU) > largest ? word & 0x7FFFFFFFU : largest;
        } else {  // of 16 bits, the larger magnitude has the larger bits too
          largest = (word & 0x7FFFU) > largest ? word & 0x7FFFU : largest;
          largest = (word >> 16 & 0x7FFFU) > largest ? word >> 16 & 0x7FFFU : largest;
        }
      }
    }
  }
  if (task.dtype == 0) return largest;
  return task.dtype == 1 ? bits_of(half_value(largest)) : largest << 16;
}

// The flag of a slot, and those of the slots that its slice doesn't have.
LW_DEVICE void image_flag(const ImageTask& task, const ImageSlot& where, std::uint32_t* poisoned) {
  LW_SHARED_MEMORY(memory);
  auto* const bad = reinterpret_cast<std::uint32_t*>(memory);
  if (thread_index() == 0) *bad = 0;
  sync_block();
  let_next_start();
  wait_for_previous();
  if (where.present && image_largest_of(task, where.slice * image_slice + where.slot) >= image_bad) {
    *static_cast<volatile std::uint32_t*>(bad) = 1;
  }
  sync_block();
  if (thread_index() == 0) poisoned[where.slot] = *bad;
  if (where.slot == 0 && thread_index() >= where.slots && thread_index() < image_slice) poisoned[thread_index()] = 0;
}

template <std::uint32_t P>
LW_KERNEL_TEXT void LW_MOST_THREADS(image_threads) image_kernel(const ImageTask task) {
  const std::uint32_t parts = image_parts(task.blocks);
  const ImageSlot where = image_slot(task, parts + 1);
  const ImageOffsets at(where.slots, P, task.blocks);
  std::uint8_t* const image = task.image + image_slice_at(where.slice, P, task.blocks);
  const std::uint32_t columns = where.slots * P;
  const std::uint64_t token = where.slice * image_slice + where.slot;
  const std::uint32_t lane = thread_index() % 32;
  if (where.part == parts) {
    image_flag(task, where, reinterpret_cast<std::uint32_t*>(image + at.poisoned));
    return;
  }
  let_next_start();
  wait_for_previous();

  const auto put_digits = [&](std::uint64_t array, std::uint32_t b, std::uint32_t p, std::uint32_t group,
                              std::int32_t sum) {
    std::uint8_t* const to = image + array + ((std::uint64_t{b} * P + p) * 2 * where.slots + where.slot) * 16 + group;
    to[0] = static_cast<std::uint8_t>(image_digit(sum, false));
    to[std::uint64_t{where.slots} * 16] = static_cast<std::uint8_t>(image_digit(sum, true));
  };
  const std::uint32_t b = where.part * image_part + thread_index() / 32;
  if (b < task.blocks) {
    std::uint32_t bits[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    if (where.present) image_load(task, token, std::uint64_t{b} * 256 + lane * 8, bits);
    std::uint32_t amax = image_largest(bits);
    if (amax >= image_bad) {
      amax = 0;
      LW_UNROLL
      for (std::uint32_t i = 0; i < 8; ++i) bits[i] = 0;
    }
    const std::int32_t e = image_exponent(amax, P);
    const float inverse = image_power(-e);
    std::int32_t q[8];
    LW_UNROLL
    for (std::uint32_t i = 0; i < 8; ++i) q[i] = to_int(multiply(float_of(bits[i]), inverse));
    std::uint32_t words[P][2];
    image_split<P>(q, words);
    LW_UNROLL
    for (std::uint32_t p = 0; p < P; ++p) {
      const std::uint32_t column = image_column(where.slots, P, where.slot, p);
      std::uint8_t* const codes = image + at.codes + ((std::uint64_t{b} * 8 + lane / 4) * columns + column) * 32;
      *reinterpret_cast<uint2*>(codes + lane % 4 * 8) = uint2{words[p][0], words[p][1]};
      auto* const halves =
          reinterpret_cast<std::uint32_t*>(codes + (at.halves - at.codes)) + lane % 2 * 4 + lane % 4 / 2;
      halves[0] = words[p][0];
      halves[2] = words[p][1];
      std::int32_t sum = dot4(words[p][0], 0x01010101u, dot4(words[p][1], 0x01010101u, 0));
      sum += shuffle_xor(sum, 1);
      auto* const sums16 = reinterpret_cast<std::int32_t*>(image + at.sums16);
      if (lane % 2 == 0) {
        sums16[(std::uint64_t{b} * 16 + lane / 2) * columns + column] = sum;
        put_digits(at.digits16, b, p, lane / 2, sum);
      }
      sum += shuffle_xor(sum, 2);
      auto* const sums32 = reinterpret_cast<std::int32_t*>(image + at.sums32);
      if (lane % 4 == 0) {
        sums32[(std::uint64_t{b} * 8 + lane / 4) * columns + column] = sum;
        put_digits(at.digits32, b, p, lane / 4, sum);
        put_digits(at.digits32, b, p, 8 + lane / 4, 0);  // sixteen places, as of groups of 16
      }
    }
    if (lane == 0) {
      const std::uint64_t index = std::uint64_t{b} * where.slots + where.slot;
      reinterpret_cast<float*>(image + at.powers)[index] = where.present ? image_power(e) : 0.0F;
      reinterpret_cast<std::int32_t*>(image + at.exponents)[index] = where.present ? e : 0;
    }
    std::uint8_t* const x = image + at.x + ((std::uint64_t{where.slot} * task.blocks + b) * 256 + lane * 8) * 4;
    *reinterpret_cast<uint4*>(x) = uint4{bits[0], bits[1], bits[2], bits[3]};
    *reinterpret_cast<uint4*>(x + 16) = uint4{bits[4], bits[5], bits[6], bits[7]};
  }
}

// xq[index] = rint(x * 2^-e') * 2^e', section 6: for F16 weights e' is two more than that of x16, so that products are
// exact; for BF16 that of x16, for F32 that of x24; never below -40.
LW_KERNEL_TEXT void LW_MOST_THREADS(image_threads) floats_kernel(const ImageTask task, std::uint32_t index) {
  const ImageSlot where = image_slot(task, image_parts(task.blocks));
  const ImageOffsets at(where.slots, task.planes, task.blocks);
  std::uint8_t* const image = task.image + image_slice_at(where.slice, task.planes, task.blocks);
  const std::uint32_t lane = thread_index() % 32;
  let_next_start();
  wait_for_previous();
  const std::uint32_t b = where.part * image_part + thread_index() / 32;
  if (b < task.blocks) {
    const std::uint64_t k = (std::uint64_t{where.slot} * task.blocks + b) * 256 + lane * 8;
    const uint4 low = load4(image + at.x + k * 4);
    const uint4 high = load4(image + at.x + k * 4 + 16);
    const std::uint32_t bits[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    std::int32_t e = image_exponent(image_largest(bits), index == 2 ? 3 : 2) + (index == 0 ? 2 : 0);
    if (e < -40) e = -40;
    const float power = image_power(e);
    const float inverse = image_power(-e);
    std::uint32_t out[8];
    LW_UNROLL
    for (std::uint32_t i = 0; i < 8; ++i) {
      const float value = multiply(to_float(to_int(multiply(float_of(bits[i]), inverse))), power);
      out[i] = bits_of(value) | (bits[i] & 0x80000000u);  // a zero keeps its sign
    }
    std::uint8_t* const xq = image + at.xq + (std::uint64_t{index} * where.slots * task.blocks * 256 + k) * 4;
    *reinterpret_cast<uint4*>(xq) = uint4{out[0], out[1], out[2], out[3]};
    *reinterpret_cast<uint4*>(xq + 16) = uint4{out[4], out[5], out[6], out[7]};
  }
}

}  // namespace lanewise::cuda
