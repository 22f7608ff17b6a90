#version 450
// y of float weights: a workgroup of 64 has a row, invocation v of it the chain a[g][v] of each eighth in turn, so that a
// subgroup reads neighbours. The chains of an eighth are folded by halves in shared memory.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "machine.glsl"
#include "format.glsl"

#define LW_FLOAT_CHAINS 64u
shared float chains[PARTIALS * 8u];  // [slot][eighth][64]

uint load_raw(uint at) {
#if LW_BLOCK_BYTES == 4
  return w_words[at >> 2u];
#else
  return (w_words[at >> 2u] >> (8u * (at & 2u))) & 0xFFFFu;
#endif
}

// Tiny weights count as zero, huge ones as infinite, so that no product is subnormal and none of finite values overflows.
float limited(float weight) {
  uint bits = floatBitsToUint(weight);
  uint magnitude = bits & 0x7FFFFFFFu;
  if (magnitude < 0x20000000u) return 0.0;                                       // 2^-63
  if (magnitude >= 0x5F000000u && magnitude <= 0x7F800000u) bits = (bits & 0x80000000u) | 0x7F800000u;  // 2^63
  return uintBitsToFloat(bits);
}

void main() {
  uint row = group_index();
  if (row >= launch.rows || !is_asked()) return;
  uint v = gl_LocalInvocationID.x;
  uint row_at = launch.w_at + row * launch.row_bytes;
  uint padded = launch.blocks * 256u;
  [[dont_unroll]] for (uint g = 0u; g < 8u; ++g) {
    float a[SLOTS];
    [[unroll]] for (uint t = 0u; t < SLOTS; ++t) a[t] = 0.0;
    uint stop = min(eighth_begin(g + 1u) * 256u, launch.cols);
    for (uint k = eighth_begin(g) * 256u + v; k < stop; k += LW_FLOAT_CHAINS) {
      float weight = limited(LW_value(load_raw(row_at + k * uint(LW_BLOCK_BYTES))));
      [[unroll]] for (uint t = 0u; t < SLOTS; ++t) {
        a[t] = add(a[t], multiply(weight, uintBitsToFloat(x_words[launch.xq_at + t * padded + k])));
      }
    }
    [[unroll]] for (uint t = 0u; t < SLOTS; ++t) chains[(t * 8u + g) * LW_FLOAT_CHAINS + v] = a[t];
  }
  barrier();
  [[dont_unroll]] for (uint halves = LW_FLOAT_CHAINS / 2u; halves != 0u; halves /= 2u) {
    for (uint i = v; i < SLOTS * 8u * halves; i += LW_FLOAT_CHAINS) {
      uint at = i / halves * LW_FLOAT_CHAINS + i % halves;
      chains[at] = add(chains[at], chains[at + halves]);
    }
    barrier();
  }
  if (v >= launch.tokens) return;
  uint at = v * 8u * LW_FLOAT_CHAINS;
  store_output(row, v, fold_eighths(chains[at], chains[at + 64u], chains[at + 128u], chains[at + 192u], chains[at + 256u],
                                    chains[at + 320u], chains[at + 384u], chains[at + 448u]));
}
