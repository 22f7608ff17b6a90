#version 450
// xq of a slice, for float weights, from the x that its image holds: a workgroup of 64 has a super-block of a slot.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 3) restrict buffer Image { uint y_words[]; };
layout(push_constant) uniform Launch {
  uint blocks;
  uint wide_at;
  uint xq_at;
  uint planes;   // whose e it starts from
  uint coarser;  // by how much it is larger
  uint groups_x;
} launch;
#include "whole.glsl"

shared uint amax;

void main() {
  uint b = gl_WorkGroupID.y * launch.groups_x + gl_WorkGroupID.x;
  if (b >= launch.blocks) return;
  uint at = (gl_WorkGroupID.z * launch.blocks + b) * 256u + gl_LocalInvocationID.x * 4u;
  if (gl_LocalInvocationID.x == 0u) amax = 0u;
  barrier();
  uint bits[4];
  uint largest = 0u;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    bits[i] = y_words[launch.wide_at + at + i];
    largest = max(largest, bits[i] & 0x7FFFFFFFu);
  }
  atomicMax(amax, largest);
  barrier();
  int e = max(block_exponent(amax, launch.planes) + int(launch.coarser), -40);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    // Exact: at most 23 bits, times a power of two; a zero keeps its sign.
    precise float value = float(scaled(bits[i] & 0x7FFFFFFFu, e)) * power_of_two(e);
    y_words[launch.xq_at + at + i] = floatBitsToUint(value) | (bits[i] & 0x80000000u);
  }
}
