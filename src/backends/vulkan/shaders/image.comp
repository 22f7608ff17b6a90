#version 450
// A slice of the image of x (backends/gpu/image.h): a workgroup of 64 has a super-block of a token, an invocation a quad.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 2) readonly restrict buffer Input { uint x_words[]; };
layout(std430, set = 0, binding = 3) restrict buffer Image { uint y_words[]; };
layout(push_constant) uniform Launch {
  uint cols;
  uint blocks;
  uint tokens;  // of the slice
  uint slots;
  uint planes;
  uint dtype;
  uint x_at;    // element of the binding at which the slice's first token starts
  uint stride;  // elements
  uint sums16_at;
  uint sums32_at;
  uint powers_at;
  uint exponents_at;
  uint poisoned_at;
  uint wide_at;  // x widened
  uint groups_x;
} launch;
#include "whole.glsl"

shared uint amax;
shared int quad_sums[64];

// fp16 to fp32 by integer operations.
uint widened(uint value) {
  uint sign = (value & 0x8000u) << 16u;
  uint exponent = (value >> 10u) & 31u;
  uint significand = value & 0x3FFu;
  if (exponent == 31u) return sign | 0x7F800000u | (significand << 13u);
  if (exponent != 0u) return sign | ((exponent + 112u) << 23u) | (significand << 13u);
  if (significand == 0u) return sign;
  uint top = uint(findMSB(significand));
  return sign | ((top + 103u) << 23u) | ((significand << (23u - top)) & 0x7FFFFFu);
}

uint load_x(uint token, uint k) {
  if (token >= launch.tokens || k >= launch.cols) return 0u;
  uint at = launch.x_at + token * launch.stride + k;
  if (launch.dtype == 0u) return x_words[at];
  uint value = (x_words[at >> 1u] >> (16u * (at & 1u))) & 0xFFFFu;
  return launch.dtype == 1u ? widened(value) : value << 16u;
}

uint column_of(uint token, uint plane) {
  return launch.slots == 8u ? plane * 8u + token : token * launch.planes + plane;
}

void main() {
  uint quad = gl_LocalInvocationID.x;
  uint b = gl_WorkGroupID.y * launch.groups_x + gl_WorkGroupID.x;
  uint slot = gl_WorkGroupID.z;
  if (b >= launch.blocks) return;
  if (quad == 0u) amax = 0u;
  barrier();
  uint bits[4];
  uint largest = 0u;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    bits[i] = load_x(slot, b * 256u + quad * 4u + i);
    largest = max(largest, bits[i] & 0x7FFFFFFFu);
  }
  atomicMax(amax, largest);
  barrier();
  largest = amax;
  if (largest >= LW_POISON) {
    largest = 0u;
    [[unroll]] for (uint i = 0u; i < 4u; ++i) bits[i] = 0u;
    if (quad == 0u) atomicOr(y_words[launch.poisoned_at + slot], 1u);
  }
  int e = block_exponent(largest, launch.planes);
  int q[4];
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    int whole = int(scaled(bits[i] & 0x7FFFFFFFu, e));
    q[i] = (bits[i] & 0x80000000u) != 0u ? -whole : whole;
    y_words[launch.wide_at + (slot * launch.blocks + b) * 256u + quad * 4u + i] = bits[i];
  }
  uint columns = launch.slots * launch.planes;
  for (uint p = 0u; p < launch.planes; ++p) {
    uint column = column_of(slot, p);
    uint word = 0u;
    int sum = 0;
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      // What is left of the highest plane fits it.
      int low = ((q[i] + 128) & 255) - 128;
      word |= (uint(low) & 255u) << (8u * i);
      sum += low;
      q[i] = (q[i] - low) >> 8;
    }
    y_words[((b * 8u + quad / 8u) * columns + column) * 8u + quad % 8u] = word;
    quad_sums[quad] = sum;
    barrier();
    if (quad < 16u) {
      int four = quad_sums[4u * quad] + quad_sums[4u * quad + 1u] + quad_sums[4u * quad + 2u] + quad_sums[4u * quad + 3u];
      y_words[launch.sums16_at + (b * 16u + quad) * columns + column] = uint(four);
    }
    if (quad >= 32u && quad < 40u) {
      int eight = 0;
      [[unroll]] for (uint i = 0u; i < 8u; ++i) eight += quad_sums[8u * (quad - 32u) + i];
      y_words[launch.sums32_at + (b * 8u + quad - 32u) * columns + column] = uint(eight);
    }
    barrier();
  }
  if (quad == 0u) {
    bool present = slot < launch.tokens;
    y_words[launch.powers_at + b * launch.slots + slot] = present ? floatBitsToUint(power_of_two(e)) : 0u;
    y_words[launch.exponents_at + b * launch.slots + slot] = present ? uint(e) : 0u;
  }
}
