#version 450
// y of float weights. An invocation has four neighbouring chains of an eighth's 64, of LANE_ROWS rows, which share each load
// of x; sixteen of them have an eighth, a workgroup of 128 eight eighths: of one set of rows, or of as many sets as rows are
// split. The chains of an eighth are folded by halves in shared memory.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "machine.glsl"
#include "format.glsl"

#define LW_FLOAT_CHAINS 64u
#define LW_LANES 16u
#define LW_HELD 8u                       // eighths of all sets of rows that a workgroup has
shared float chains[PARTIALS * 4u];      // [output][set][eighth][64]
float a[OUTPUTS][4];                     // [row][token][chain]

// Tiny weights count as zero, huge ones as infinite, so that no product is subnormal and none of finite values overflows.
float limited(float weight) {
  uint bits = floatBitsToUint(weight);
  uint magnitude = bits & 0x7FFFFFFFu;
  if (magnitude < 0x20000000u) return 0.0;                                       // 2^-63
  if (magnitude >= 0x5F000000u && magnitude <= 0x7F800000u) bits = (bits & 0x80000000u) | 0x7F800000u;  // 2^63
  return uintBitsToFloat(bits);
}

// Weights k .. k + 3 of a row whose bytes start at `row_at`; those past the last are zero.
vec4 load_weights(uint row_at, uint k) {
  uint at = row_at + k * uint(LW_BLOCK_BYTES);
  uint left = launch.cols - k;
#if LW_BLOCK_BYTES == 4
  uint index = at >> 2u;
  return vec4(limited(LW_value(w_words[index])), left > 1u ? limited(LW_value(w_words[index + 1u])) : 0.0,
              left > 2u ? limited(LW_value(w_words[index + 2u])) : 0.0,
              left > 3u ? limited(LW_value(w_words[index + 3u])) : 0.0);
#else
  // Two words, or three where the row starts in the midst of one; none is read that holds nothing of the row.
  uint index = at >> 2u;
  uint shift = 8u * (at & 2u);
  uint words = (shift / 16u + left + 1u) / 2u;
  uint first = w_words[index];
  uint second = words > 1u ? w_words[index + 1u] : 0u;
  if (shift != 0u) {
    uint third = words > 2u ? w_words[index + 2u] : 0u;
    first = (first >> 16u) | (second << 16u);
    second = (second >> 16u) | (third << 16u);
  }
  if (left < 2u) first &= 0xFFFFu;
  if (left < 3u) second = 0u;
  if (left < 4u) second &= 0xFFFFu;
#if defined(LW_UNPACKED)
  // Halves by the device's own conversion: none is so small or so large that it is limited.
  return vec4(unpackHalf2x16(first), unpackHalf2x16(second));
#else
  return vec4(limited(LW_value(first & 0xFFFFu)), limited(LW_value(first >> 16u)), limited(LW_value(second & 0xFFFFu)),
              limited(LW_value(second >> 16u)));
#endif
#endif
}

float with_product(float sum, float weight, float x) {
#if LW_IS_F32
  return add(sum, multiply(weight, x));
#else
  // Exact products: fused or not, the bits are the same.
  precise float result = fma(weight, x, sum);
  return result;
#endif
}

// The chains of outputs `from` .. from + MEET - 1 of all invocations meet: see gemv_codes.comp.
void finish(uint from, uint first_row) {
  uint me = gl_LocalInvocationID.x;
  if (from != 0u) barrier();  // all have read the sums of the outputs before
  [[unroll]] for (uint o = 0u; o < MEET; ++o) {
    [[unroll]] for (uint v = 0u; v < 4u; ++v) {
      chains[(o * LW_HELD + me / LW_LANES) * LW_FLOAT_CHAINS + 4u * (me % LW_LANES) + v] = a[from + o][v];
    }
  }
  barrier();
  [[dont_unroll]] for (uint bits = 5u; bits < 6u; --bits) {
    uint halves = 1u << bits;
    [[dont_unroll]] for (uint i = me; i < MEET * LW_HELD * halves; i += gl_WorkGroupSize.x) {
      uint at = (i >> bits) * LW_FLOAT_CHAINS + (i & (halves - 1u));
      chains[at] = add(chains[at], chains[at + halves]);
    }
    barrier();
  }
  if (launch.eighths == LW_HELD) {
    uint t = (from + me) % SLOTS;
    uint row = first_row + (from + me) / SLOTS;
    uint at = me * LW_HELD * LW_FLOAT_CHAINS;
    if (me < MEET && t < launch.tokens && row < launch.rows) {
      store_output(row, t,
                   fold_eighths(chains[at], chains[at + 64u], chains[at + 128u], chains[at + 192u], chains[at + 256u],
                                chains[at + 320u], chains[at + 384u], chains[at + 448u]));
    }
  } else {
    [[dont_unroll]] for (uint i = me; i < MEET * LW_HELD; i += gl_WorkGroupSize.x) {
      uint of = i % LW_HELD;
      uint o = from + i / LW_HELD;
      uint row = first_row + of / launch.eighths * LANE_ROWS + o / SLOTS;
      if (row >= launch.rows) continue;
      store_eighth(gl_WorkGroupID.z * launch.eighths + of % launch.eighths, o % SLOTS, row, chains[i * LW_FLOAT_CHAINS]);
    }
  }
}

void main() {
  uint sets = LW_HELD / launch.eighths;
  uint first_row = group_index() * sets * LANE_ROWS;
  if (first_row >= launch.rows || !is_asked()) return;
  uint me = gl_LocalInvocationID.x;
  uint lane = me % LW_LANES;
  uint held = me / LW_LANES;
  uint g = gl_WorkGroupID.z * launch.eighths + held % launch.eighths;
  uint set_row = first_row + held / launch.eighths * LANE_ROWS;
  uint padded = launch.blocks * 256u;
  uint row_at[LANE_ROWS];
  // Rows past the last are walked as the last: nothing of them is stored.
  [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
    row_at[r] = launch.w_at + min(set_row + r, launch.rows - 1u) * launch.row_bytes;
  }
  [[unroll]] for (uint i = 0u; i < OUTPUTS; ++i) {
    [[unroll]] for (uint v = 0u; v < 4u; ++v) a[i][v] = 0.0;
  }
  uint stop = min(eighth_begin(g + 1u) * 256u, launch.cols);
  [[dont_unroll]] for (uint k = eighth_begin(g) * 256u + 4u * lane; k < stop; k += LW_FLOAT_CHAINS) {
    vec4 weights[LANE_ROWS];
    [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) weights[r] = load_weights(row_at[r], k);
    [[unroll]] for (uint t = 0u; t < SLOTS; ++t) {
      vec4 x = uintBitsToFloat(x_quads[(launch.xq_at + t * padded + k) / 4u]);
      [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
        [[unroll]] for (uint v = 0u; v < 4u; ++v) {
          a[r * SLOTS + t][v] = with_product(a[r * SLOTS + t][v], weights[r][v], x[v]);
        }
      }
    }
  }
  finish(0u, first_row);
  if (OUTPUTS > 8u) finish(8u, first_row);
  if (OUTPUTS > 16u) finish(16u, first_row);
  if (OUTPUTS > 16u) finish(24u, first_row);
}
