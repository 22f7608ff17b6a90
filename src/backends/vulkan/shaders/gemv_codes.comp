#version 450
// y of quantised weights. An invocation has an eighth of a row's K and walks it a d-group at a time, all chains of that
// eighth in its registers; neighbours have neighbouring rows, so that a subgroup of any size reads words that stand side
// by side in the layout rows16. The eighths of a row meet in shared memory. x is read by all rows alike: from a cache.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#if defined(LW_DOT)
#extension GL_EXT_spirv_intrinsics : require
// OpSDot of two words of four signed bytes each.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int signed_dot(uint a, uint b, spirv_literal int packed);
#endif
#include "machine.glsl"
#include "format.glsl"
#include "blocks.glsl"

#define LW_STRETCH (LW_DGROUP < 32u ? LW_DGROUP : 32u)  // elements that are decoded at once
#define LW_QUADS (LW_STRETCH / 4u)
#define LW_DGROUPS (256u / LW_DGROUP)
#define LW_CHAINS (LW_DGROUPS < 4u ? LW_DGROUPS : 4u)

shared float partials[PARTIALS];

int dot4(uint a, uint b, int sum) {
#if defined(LW_DOT)
  return sum + signed_dot(a, b, 0);
#else
  return lw_dot4(a, b, sum);
#endif
}

uint column_of(uint token, uint plane) { return SLOTS == 8u ? plane * 8u + token : token * PLANES + plane; }

int sums[COLUMNS];
int mins[COLUMNS];

float plane_value(int low, int middle, int high) {
  float value = float(low);
  if (PLANES >= 2u) value = add(value, multiply(256.0, float(middle)));
  if (PLANES == 3u) value = add(value, multiply(65536.0, float(high)));
  return value;
}

float capped_power(int exponent) {
  if (exponent < -126) return 0.0;
  if (exponent > 90) return uintBitsToFloat(0x7F800000u);
  return uintBitsToFloat(uint(exponent + 127) << 23u);
}

// A stretch of a d-group: elements from `at` on of block `block`, from `in_super` on of super-block b.
void add_stretch(uint b, uint block, uint at, uint in_super) {
  uint codes[LW_QUADS];
  [[unroll]] for (uint i = 0u; i < LW_QUADS; ++i) codes[i] = load_quad(block, at / 4u + i);
  int first = LW_SC_PARTS != 0 ? LW_sc(sc_field(block, at / LW_GROUP)) : 1;
  int second = LW_GROUP < LW_STRETCH && LW_SC_PARTS != 0 ? LW_sc(sc_field(block, at / LW_GROUP + 1u)) : first;
  uint x_at = ((b * 8u + in_super / 32u) * COLUMNS) * 2u + in_super % 32u / 16u;
  [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
    uvec4 x = x_quads[x_at + c * 2u];
    int low = dot4(codes[3], x.w, dot4(codes[2], x.z, dot4(codes[1], x.y, dot4(codes[0], x.x, 0))));
#if LW_DGROUP >= 32
    uvec4 z = x_quads[x_at + c * 2u + 1u];
#if LW_GROUP < 32
    int high = dot4(codes[7], z.w, dot4(codes[6], z.z, dot4(codes[5], z.y, dot4(codes[4], z.x, 0))));
    sums[c] += first * low + second * high;
#else
    int all = dot4(codes[7], z.w, dot4(codes[6], z.z, dot4(codes[5], z.y, dot4(codes[4], z.x, low))));
    sums[c] += LW_SC_PARTS != 0 ? first * all : all;
#endif
#else
    sums[c] += first * low;
#endif
  }
#if LW_HAS_MIN
#if LW_GROUP < 32
  int first_min = LW_mn(mn_field(block, at / LW_GROUP));
  int second_min = LW_mn(mn_field(block, at / LW_GROUP + 1u));
  uint sum_at = launch.sums16_at + (b * 16u + in_super / 16u) * COLUMNS;
  [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
    mins[c] += first_min * int(x_words[sum_at + c]) + second_min * int(x_words[sum_at + COLUMNS + c]);
  }
#else
  int min = LW_mn(mn_field(block, at / LW_GROUP));
  uint sum_at = launch.sums32_at + (b * 8u + in_super / 32u) * COLUMNS;
  [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) mins[c] += min * int(x_words[sum_at + c]);
#endif
#endif
}

void main() {
  uint rows = gl_WorkGroupSize.x / 8u;
  uint first_row = group_index() * rows;
  if (first_row >= launch.rows || !is_asked()) return;
  uint lane = gl_LocalInvocationID.x % rows;
  uint g = gl_LocalInvocationID.x / rows;
  // Rows past the last are walked as the last: nothing of them is stored.
  find_row(min(first_row + lane, launch.rows - 1u), launch.w_at, launch.row_bytes, launch.cols / LW_ELEMENTS);

  float a[SLOTS][LW_CHAINS];
  [[unroll]] for (uint t = 0u; t < SLOTS; ++t) {
    [[unroll]] for (uint v = 0u; v < LW_CHAINS; ++v) a[t][v] = 0.0;
  }
  uint stop = eighth_begin(g + 1u);
  [[dont_unroll]] for (uint b = eighth_begin(g); b < stop; ++b) {
    [[dont_unroll]] for (uint turn = 0u; turn < LW_DGROUPS / LW_CHAINS; ++turn) {
      [[unroll]] for (uint v = 0u; v < LW_CHAINS; ++v) {
        uint in_super = (turn * LW_CHAINS + v) * LW_DGROUP;
        if (LW_DGROUPS > 1u && b * 256u + in_super >= launch.cols) break;
        uint block = b * (256u / LW_ELEMENTS) + in_super / LW_ELEMENTS;
        uint in_block = in_super % LW_ELEMENTS;
        [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
          sums[c] = 0;
          mins[c] = 0;
        }
        LW_STRETCHES for (uint s = 0u; s < LW_DGROUP / LW_STRETCH; ++s) {
          add_stretch(b, block, in_block + s * LW_STRETCH, in_super + s * LW_STRETCH);
        }
        uint dgroup = in_block / LW_DGROUP;
#if LW_KIND == LW_FORMAT_EXP
        int exponent = LW_exponent(d_field(block, dgroup));
#else
        float d = LW_d(d_field(block, dgroup));
#endif
#if LW_HAS_MIN
        float m = LW_m(m_field(block, dgroup));
#endif
        [[unroll]] for (uint t = 0u; t < SLOTS; ++t) {
          uint c0 = column_of(t, 0u);
          uint c1 = column_of(t, PLANES >= 2u ? 1u : 0u);
          uint c2 = column_of(t, PLANES == 3u ? 2u : 0u);
          float value = plane_value(sums[c0], sums[c1], sums[c2]);
#if LW_KIND == LW_FORMAT_EXP
          int e = int(x_words[launch.exponents_at + b * SLOTS + t]);
          a[t][v] = add(a[t][v], multiply(value, capped_power(exponent + e)));
#else
          float power = uintBitsToFloat(x_words[launch.powers_at + b * SLOTS + t]);
          a[t][v] = add(a[t][v], multiply(multiply(d, value), power));
#endif
#if LW_HAS_MIN
          float min_value = plane_value(mins[c0], mins[c1], mins[c2]);
          a[t][v] = add(a[t][v], multiply(multiply(m, min_value), power));
#endif
        }
      }
    }
  }

  [[unroll]] for (uint t = 0u; t < SLOTS; ++t) {
#if LW_DGROUP >= 256
    float r = a[t][0];
#elif LW_DGROUP >= 128
    float r = add(a[t][0], a[t][1]);
#else
    float r = add(add(a[t][0], a[t][1]), add(a[t][2], a[t][3]));
#endif
    partials[(t * 8u + g) * rows + lane] = r;
  }
  barrier();
  [[dont_unroll]] for (uint i = gl_LocalInvocationID.x; i < rows * SLOTS; i += gl_WorkGroupSize.x) {
    uint t = i / rows;
    uint at = t * 8u * rows + i % rows;
    if (t >= launch.tokens || first_row + i % rows >= launch.rows) continue;
    store_output(first_row + i % rows, t,
                 fold_eighths(partials[at], partials[at + rows], partials[at + 2u * rows], partials[at + 3u * rows],
                              partials[at + 4u * rows], partials[at + 5u * rows], partials[at + 6u * rows],
                              partials[at + 7u * rows]));
  }
}
