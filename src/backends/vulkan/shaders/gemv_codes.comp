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
#define LW_LANE_ROWS LANE_ROWS
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

int sums[SUMS];  // [row][column]
int mins[SUMS];

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
  uint codes[LANE_ROWS][LW_QUADS];
  int first[LANE_ROWS];
  int second[LANE_ROWS];
  [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
    [[unroll]] for (uint i = 0u; i < LW_QUADS; ++i) codes[r][i] = load_quad(r, block, at / 4u + i);
    first[r] = LW_SC_PARTS != 0 ? LW_sc(sc_field(r, block, at / LW_GROUP)) : 1;
    second[r] = LW_GROUP < LW_STRETCH && LW_SC_PARTS != 0 ? LW_sc(sc_field(r, block, at / LW_GROUP + 1u)) : first[r];
  }
  uint x_at = ((b * 8u + in_super / 32u) * COLUMNS) * 2u + in_super % 32u / 16u;
  [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
    uvec4 x = x_quads[x_at + c * 2u];
#if LW_DGROUP >= 32
    uvec4 z = x_quads[x_at + c * 2u + 1u];
#endif
    [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
      int low = dot4(codes[r][3], x.w, dot4(codes[r][2], x.z, dot4(codes[r][1], x.y, dot4(codes[r][0], x.x, 0))));
#if LW_DGROUP < 32
      sums[r * COLUMNS + c] += first[r] * low;
#elif LW_GROUP < 32
      int high = dot4(codes[r][7], z.w, dot4(codes[r][6], z.z, dot4(codes[r][5], z.y, dot4(codes[r][4], z.x, 0))));
      sums[r * COLUMNS + c] += first[r] * low + second[r] * high;
#else
      int all = dot4(codes[r][7], z.w, dot4(codes[r][6], z.z, dot4(codes[r][5], z.y, dot4(codes[r][4], z.x, low))));
      sums[r * COLUMNS + c] += LW_SC_PARTS != 0 ? first[r] * all : all;
#endif
    }
  }
#if LW_HAS_MIN
  [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
    int first_min = LW_mn(mn_field(r, block, at / LW_GROUP));
#if LW_GROUP < 32
    int second_min = LW_mn(mn_field(r, block, at / LW_GROUP + 1u));
    uint sum_at = launch.sums16_at + (b * 16u + in_super / 16u) * COLUMNS;
    [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
      mins[r * COLUMNS + c] +=
          first_min * int(x_words[sum_at + c]) + second_min * int(x_words[sum_at + COLUMNS + c]);
    }
#else
    uint sum_at = launch.sums32_at + (b * 8u + in_super / 32u) * COLUMNS;
    [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) mins[r * COLUMNS + c] += first_min * int(x_words[sum_at + c]);
#endif
  }
#endif
}

void main() {
  uint rows = gl_WorkGroupSize.x / 8u;
  uint first_row = group_index() * rows * LANE_ROWS;
  if (first_row >= launch.rows || !is_asked()) return;
  uint lane = gl_LocalInvocationID.x % rows;
  uint g = gl_LocalInvocationID.x / rows;
  // Rows past the last are walked as the last: nothing of them is stored.
  [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
    find_row(r, min(first_row + r * rows + lane, launch.rows - 1u), launch.w_at, launch.row_bytes,
             launch.cols / LW_ELEMENTS);
  }

  float a[LANE_ROWS][SLOTS][LW_CHAINS];
  [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
    [[unroll]] for (uint t = 0u; t < SLOTS; ++t) {
      [[unroll]] for (uint v = 0u; v < LW_CHAINS; ++v) a[r][t][v] = 0.0;
    }
  }
  uint stop = eighth_begin(g + 1u);
  [[dont_unroll]] for (uint b = eighth_begin(g); b < stop; ++b) {
    [[dont_unroll]] for (uint turn = 0u; turn < LW_DGROUPS / LW_CHAINS; ++turn) {
      [[unroll]] for (uint v = 0u; v < LW_CHAINS; ++v) {
        uint in_super = (turn * LW_CHAINS + v) * LW_DGROUP;
        if (LW_DGROUPS > 1u && b * 256u + in_super >= launch.cols) break;
        uint block = b * (256u / LW_ELEMENTS) + in_super / LW_ELEMENTS;
        uint in_block = in_super % LW_ELEMENTS;
        [[unroll]] for (uint c = 0u; c < SUMS; ++c) {
          sums[c] = 0;
          mins[c] = 0;
        }
        LW_STRETCHES for (uint s = 0u; s < LW_DGROUP / LW_STRETCH; ++s) {
          add_stretch(b, block, in_block + s * LW_STRETCH, in_super + s * LW_STRETCH);
        }
        uint dgroup = in_block / LW_DGROUP;
        [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
#if LW_KIND == LW_FORMAT_EXP
          int exponent = LW_exponent(d_field(r, block, dgroup));
#else
          float d = LW_d(d_field(r, block, dgroup));
#endif
#if LW_HAS_MIN
          float m = LW_m(m_field(r, block, dgroup));
#endif
          [[unroll]] for (uint t = 0u; t < SLOTS; ++t) {
            uint c0 = r * COLUMNS + column_of(t, 0u);
            uint c1 = r * COLUMNS + column_of(t, PLANES >= 2u ? 1u : 0u);
            uint c2 = r * COLUMNS + column_of(t, PLANES == 3u ? 2u : 0u);
            float value = plane_value(sums[c0], sums[c1], sums[c2]);
#if LW_KIND == LW_FORMAT_EXP
            int e = int(x_words[launch.exponents_at + b * SLOTS + t]);
            a[r][t][v] = add(a[r][t][v], multiply(value, capped_power(exponent + e)));
#else
            float power = uintBitsToFloat(x_words[launch.powers_at + b * SLOTS + t]);
            a[r][t][v] = add(a[r][t][v], multiply(multiply(d, value), power));
#endif
#if LW_HAS_MIN
            float min_value = plane_value(mins[c0], mins[c1], mins[c2]);
            a[r][t][v] = add(a[r][t][v], multiply(multiply(m, min_value), power));
#endif
          }
        }
      }
    }
  }

  [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
    if (r != 0u) barrier();  // all have read the sums of the rows before
    [[unroll]] for (uint t = 0u; t < SLOTS; ++t) {
#if LW_DGROUP >= 256
      float folded = a[r][t][0];
#elif LW_DGROUP >= 128
      float folded = add(a[r][t][0], a[r][t][1]);
#else
      float folded = add(add(a[r][t][0], a[r][t][1]), add(a[r][t][2], a[r][t][3]));
#endif
      partials[(t * 8u + g) * rows + lane] = folded;
    }
    barrier();
    [[dont_unroll]] for (uint i = gl_LocalInvocationID.x; i < rows * SLOTS; i += gl_WorkGroupSize.x) {
      uint t = i / rows;
      uint at = t * 8u * rows + i % rows;
      uint row = first_row + r * rows + i % rows;
      if (t >= launch.tokens || row >= launch.rows) continue;
      store_output(row, t,
                   fold_eighths(partials[at], partials[at + rows], partials[at + 2u * rows], partials[at + 3u * rows],
                                partials[at + 4u * rows], partials[at + 5u * rows], partials[at + 6u * rows],
                                partials[at + 7u * rows]));
    }
  }
}
