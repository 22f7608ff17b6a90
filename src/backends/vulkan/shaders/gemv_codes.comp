#version 450
// y of quantised weights. Each chain a[g][v] of a row is one invocation's, all of it in registers, so that no order of
// additions is left to a device; an invocation has the same chain of LANE_ROWS rows, which share each load of x. Invocations
// side by side have rows side by side, so that a subgroup of any size reads words that stand together in the layout rows16.
// The chains of a row meet in shared memory; where a row is split among workgroups, its eighths meet in reduce.comp.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#if defined(LW_DOT)
#extension GL_EXT_spirv_intrinsics : require
// OpSDot of two words of four signed bytes each.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int signed_dot(uint a, uint b, spirv_literal int packed);
#endif
#include "machine.glsl"
#define LW_ENDS_ELSEWHERE
#include "format.glsl"
#include "ends.glsl"
#define LW_LANE_ROWS LANE_ROWS
#include "blocks.glsl"

#define LW_STRETCH (LW_DGROUP < 32u ? LW_DGROUP : 32u)  // elements that are decoded at once
#define LW_QUADS (LW_STRETCH / 4u)
#define LW_DGROUPS (256u / LW_DGROUP)
// Where a block is a d-group, all positions in it are known when a shader is compiled: compilers don't see that from
// remainders.
#define LW_BLOCK_IS_DGROUP (LW_ELEMENTS == LW_DGROUP)

shared float partials[PARTIALS];  // [output][invocation]

int dot4(uint a, uint b, int sum) {
#if defined(LW_DOT)
  return sum + signed_dot(a, b, 0);
#else
  return lw_dot4(a, b, sum);
#endif
}

uint column_of(uint token, uint plane) { return SLOTS == 8u ? plane * 8u + token : token * PLANES + plane; }

float a[OUTPUTS];  // [row][token]
int sums[SUMS];    // of a d-group: [row][token][plane]
int mins[MINS];    // [row][token], of three planes [row][token][plane]

// 256 and 65536 times an integer, and anything times a power of two, are exact: fused or not, the bits are the same.
float exactly_added(float value, float factor, float sum) {
  precise float result = fma(value, factor, sum);
  return result;
}

// Planes of a sum that fit an integer together are joined there, which rounds as joining them as floats does.
float joined(int low, int high) { return float(low + 256 * high); }
float plane_value(uint at) {
#if LW_JOINS
  if (PLANES == 2u) return joined(sums[at], sums[at + 1u]);
#endif
  float value = float(sums[at]);
  if (PLANES >= 2u) value = exactly_added(float(sums[at + 1u]), 256.0, value);
  if (PLANES == 3u) value = exactly_added(float(sums[at + 2u]), 65536.0, value);
  return value;
}

float capped_power(int exponent) {
  uint bits = uint(exponent + 127) << 23u;
  if (exponent > 90) bits = 0x7F800000u;
  return uintBitsToFloat(exponent < -126 ? 0u : bits);
}

uint codes[LANE_ROWS][LW_QUADS];
int first[LANE_ROWS];  // sub-scales of a stretch, `second` of its upper half
int second[LANE_ROWS];
#if LW_KIND == LW_FORMAT_EXP
int d[LANE_ROWS];
#else
float d[LANE_ROWS];
#endif

void load_stretch(uint block, uint at) {
  [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
    [[unroll]] for (uint i = 0u; i < LW_QUADS; ++i) codes[r][i] = load_quad(r, block, at / 4u + i);
    first[r] = LW_SC_PARTS != 0 ? LW_sc(sc_field(r, block, at / LW_GROUP)) : 1;
    second[r] = LW_GROUP < LW_STRETCH && LW_SC_PARTS != 0 ? LW_sc(sc_field(r, block, at / LW_GROUP + 1u)) : first[r];
  }
}

// The products of a stretch, which starts at that group of sixteen elements, with a plane of a token are added to `sums`.
// An offset that its codes lack is made up for by the sums of x.
void add_products(uint sixteen, uint token, uint plane) {
  uint column = column_of(token, plane);
#if LW_DGROUP < 32
  uint x_at = (sixteen / 2u * COLUMNS + column) * 2u + sixteen % 2u;
#else
  uint x_at = sixteen * COLUMNS + column * 2u;
#endif
  uvec4 x = x_quads[x_at];
#if LW_DGROUP >= 32
  uvec4 z = x_quads[x_at + 1u];
#endif
  int low_start = 0;
  int high_start = 0;
#if LW_OFFSET != 0
#if LW_GROUP < 32
  uint sum_at = launch.sums16_at + sixteen * COLUMNS + column;
  low_start = LW_OFFSET * int(x_words[sum_at]);
  high_start = LW_OFFSET * int(x_words[sum_at + COLUMNS]);
#else
  low_start = LW_OFFSET * int(x_words[launch.sums32_at + sixteen / 2u * COLUMNS + column]);
#endif
#endif
  [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
    uint at = (r * SLOTS + token) * PLANES + plane;
    int low = dot4(codes[r][3], x.w, dot4(codes[r][2], x.z, dot4(codes[r][1], x.y, dot4(codes[r][0], x.x, low_start))));
#if LW_DGROUP < 32
    sums[at] += LW_SC_PARTS != 0 ? first[r] * low : low;
#elif LW_GROUP < 32
    int high = dot4(codes[r][7], z.w, dot4(codes[r][6], z.z, dot4(codes[r][5], z.y, dot4(codes[r][4], z.x, high_start))));
    sums[at] += first[r] * low + second[r] * high;
#else
    int all = dot4(codes[r][7], z.w, dot4(codes[r][6], z.z, dot4(codes[r][5], z.y, dot4(codes[r][4], z.x, low))));
    sums[at] += LW_SC_PARTS != 0 ? first[r] * all : all;
#endif
  }
}

float power_of(uint b, uint token) { return uintBitsToFloat(x_words[launch.powers_at + b * SLOTS + token]); }

// a + (d * F(J)) * 2^e of a token, of every row.
void add_terms(uint b, uint token) {
#if LW_KIND == LW_FORMAT_EXP
  int e = int(x_words[launch.exponents_at + b * SLOTS + token]);
#else
  float power = power_of(b, token);
#endif
  [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
    uint at = r * SLOTS + token;
    float value = plane_value(at * PLANES);
#if LW_KIND == LW_FORMAT_EXP
    a[at] = exactly_added(value, capped_power(d[r] + e), a[at]);
#else
    a[at] = exactly_added(multiply(d[r], value), power, a[at]);
#endif
  }
}

#if LW_HAS_MIN
// The sums of x of a group, times the sub-min of each row, are added to `mins`.
void add_group_mins(uint block, uint in_block, uint sixteen) {
  int mn[LANE_ROWS];
  [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) mn[r] = LW_mn(mn_field(r, block, in_block / LW_GROUP));
  uint sum_at = LW_GROUP < 32 ? launch.sums16_at + sixteen * COLUMNS : launch.sums32_at + sixteen / 2u * COLUMNS;
  [[unroll]] for (uint t = 0u; t < SLOTS; ++t) {
    int low = int(x_words[sum_at + column_of(t, 0u)]);
    // Every sum with sub-mins may be joined.
    if (PLANES == 2u) low += 256 * int(x_words[sum_at + column_of(t, 1u)]);
    [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
      uint at = r * SLOTS + t;
      if (PLANES != 3u) {
        mins[at] += mn[r] * low;
      } else {
        mins[at * 3u] += mn[r] * low;
        mins[at * 3u + 1u] += mn[r] * int(x_words[sum_at + column_of(t, 1u)]);
        mins[at * 3u + 2u] += mn[r] * int(x_words[sum_at + column_of(t, 2u)]);
      }
    }
  }
}

void add_mins(uint b, uint block, uint in_block, uint sixteen) {
  [[unroll]] for (uint i = 0u; i < MINS; ++i) mins[i] = 0;
  if (LW_UNROLLS) {
    [[unroll]] for (uint i = 0u; i < LW_DGROUP; i += LW_GROUP) add_group_mins(block, in_block + i, sixteen + i / 16u);
  } else {
    [[dont_unroll]] for (uint i = 0u; i < LW_DGROUP; i += LW_GROUP) {
      add_group_mins(block, in_block + i, sixteen + i / 16u);
    }
  }
  float m[LANE_ROWS];
  [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) m[r] = LW_m(m_field(r, block, in_block / LW_DGROUP));
  [[unroll]] for (uint t = 0u; t < SLOTS; ++t) {
    float power = power_of(b, t);
    [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
      uint at = r * SLOTS + t;
      float value;
      if (PLANES != 3u) {
        value = float(mins[at]);
      } else {
        value = exactly_added(float(mins[at * 3u + 1u]), 256.0, float(mins[at * 3u]));
        value = exactly_added(float(mins[at * 3u + 2u]), 65536.0, value);
      }
      a[at] = exactly_added(multiply(m[r], value), power, a[at]);
    }
  }
}
#endif

void add_dgroup(uint b, uint dgroup) {
#if LW_BLOCK_IS_DGROUP
  uint block = b * LW_DGROUPS + dgroup;
  const uint in_block = 0u;
#else
  uint block = b * (256u / LW_ELEMENTS) + dgroup / (LW_ELEMENTS / LW_DGROUP);
  uint in_block = dgroup % (LW_ELEMENTS / LW_DGROUP) * LW_DGROUP;
#endif
  uint sixteen = b * 16u + dgroup * (LW_DGROUP / 16u);
  [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
#if LW_KIND == LW_FORMAT_EXP
    d[r] = LW_exponent(d_field(r, block, in_block / LW_DGROUP));
#else
    d[r] = LW_d(d_field(r, block, in_block / LW_DGROUP));
#endif
  }
  [[unroll]] for (uint i = 0u; i < SUMS; ++i) sums[i] = 0;
#if LW_DGROUP <= 32
  load_stretch(block, in_block);
  [[unroll]] for (uint t = 0u; t < SLOTS; ++t) {
    [[unroll]] for (uint p = 0u; p < PLANES; ++p) add_products(sixteen, t, p);
    add_terms(b, t);
  }
#else
#define LW_ADD_STRETCH(s)                                                                      \
  load_stretch(block, in_block + (s) * LW_STRETCH);                                                     \
  [[unroll]] for (uint t = 0u; t < SLOTS; ++t) {                                                        \
    [[unroll]] for (uint p = 0u; p < PLANES; ++p) add_products(sixteen + (s) * (LW_STRETCH / 16u), t, p); \
  }
  if (LW_UNROLLS) {
    [[unroll]] for (uint s = 0u; s < LW_DGROUP / LW_STRETCH; ++s) { LW_ADD_STRETCH(s) }
  } else {
    [[dont_unroll]] for (uint s = 0u; s < LW_DGROUP / LW_STRETCH; ++s) { LW_ADD_STRETCH(s) }
  }
  [[unroll]] for (uint t = 0u; t < SLOTS; ++t) add_terms(b, t);
#endif
#if LW_HAS_MIN
  add_mins(b, block, in_block, sixteen);
#endif
}

// The chains of outputs `from` .. from + MEET - 1 of all invocations meet. No loop goes over them in main(): one with a barrier
// is hardly ever unrolled, and an index that isn't known when a shader is compiled would put all sums into memory.
void finish(uint from, uint first_row, uint lanes) {
  uint me = gl_LocalInvocationID.x;
  if (from != 0u) barrier();  // all have read the sums of the outputs before
  [[unroll]] for (uint o = 0u; o < MEET; ++o) partials[o * gl_WorkGroupSize.x + me] = a[from + o];
  barrier();
  // The chains of an eighth.
  [[dont_unroll]] for (uint i = me; i < lanes * launch.eighths * MEET; i += gl_WorkGroupSize.x) {
    uint lane = i & (lanes - 1u);
    uint e = (i >> launch.lane_bits) & (launch.eighths - 1u);
    uint o = (i >> launch.lane_bits) / launch.eighths;
    uint at = o * gl_WorkGroupSize.x + e * LW_CHAINS * lanes + lane;
#if LW_CHAINS == 4
    float sum = add(add(partials[at], partials[at + lanes]), add(partials[at + 2u * lanes], partials[at + 3u * lanes]));
#elif LW_CHAINS == 2
    float sum = add(partials[at], partials[at + lanes]);
#else
    float sum = partials[at];
#endif
    uint row = first_row + (from + o) / SLOTS * lanes + lane;
    if (launch.eighths == 8u) {
      partials[at] = sum;  // read by nobody else
    } else if (row < launch.rows) {
      store_eighth(gl_WorkGroupID.z * launch.eighths + e, (from + o) % SLOTS, row, sum);
    }
  }
  if (launch.eighths != 8u) return;
  barrier();
  [[dont_unroll]] for (uint i = me; i < lanes * MEET; i += gl_WorkGroupSize.x) {
    uint lane = i & (lanes - 1u);
    uint o = i >> launch.lane_bits;
    uint t = (from + o) % SLOTS;
    uint row = first_row + (from + o) / SLOTS * lanes + lane;
    if (t >= launch.tokens || row >= launch.rows) continue;
    uint at = o * gl_WorkGroupSize.x + lane;
    uint step = LW_CHAINS * lanes;
    store_output(row, t,
                 fold_eighths(partials[at], partials[at + step], partials[at + 2u * step], partials[at + 3u * step],
                              partials[at + 4u * step], partials[at + 5u * step], partials[at + 6u * step],
                              partials[at + 7u * step]));
  }
}

void main() {
  uint lanes = 1u << launch.lane_bits;
  uint first_row = group_index() * lanes * LANE_ROWS;
  if (first_row >= launch.rows || !is_asked()) return;
  uint me = gl_LocalInvocationID.x;
  uint lane = me & (lanes - 1u);
  uint chain = me >> launch.lane_bits;
  uint v = chain % LW_CHAINS;
  uint g = gl_WorkGroupID.z * launch.eighths + chain / LW_CHAINS;
  fill_table();
  // Rows past the last are walked as the last: nothing of them is stored.
  [[unroll]] for (uint r = 0u; r < LANE_ROWS; ++r) {
    find_row(r, min(first_row + r * lanes + lane, launch.rows - 1u), launch.w_at, launch.row_bytes,
             launch.cols / LW_ELEMENTS);
  }
  [[unroll]] for (uint i = 0u; i < OUTPUTS; ++i) a[i] = 0.0;
  uint stop = eighth_begin(g + 1u);
  [[dont_unroll]] for (uint b = eighth_begin(g); b < stop; ++b) {
    // A row ends with a block, perhaps in the midst of its last super-block.
#define LW_ADD_TURN(turn)                                                                      \
  uint dgroup = (turn) * LW_CHAINS + v;                                                        \
  if (LW_DGROUPS == 1u || b * 256u + dgroup * LW_DGROUP < launch.cols) add_dgroup(b, dgroup);
    if (LW_UNROLLS) {
      [[unroll]] for (uint turn = 0u; turn < LW_DGROUPS / LW_CHAINS; ++turn) { LW_ADD_TURN(turn) }
    } else {
      [[dont_unroll]] for (uint turn = 0u; turn < LW_DGROUPS / LW_CHAINS; ++turn) { LW_ADD_TURN(turn) }
    }
  }

  finish(0u, first_row, lanes);
  if (OUTPUTS > 8u) finish(8u, first_row, lanes);
  if (OUTPUTS > 16u) finish(16u, first_row, lanes);
  if (OUTPUTS > 16u) finish(24u, first_row, lanes);
}
