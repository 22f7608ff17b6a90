#version 450
// GGUF's blocks to fp32: an invocation has a quad of codes, or a float weight.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) readonly restrict buffer Weights { uint w_words[]; };
layout(std430, set = 0, binding = 3) writeonly restrict buffer Outputs { uint y_words[]; };
layout(std430, set = 0, binding = 4) readonly restrict buffer Grid { uint grid_words[]; };
layout(push_constant) uniform Launch {
  uint count;     // of quads, or of weights
  uint w_at;      // byte of the binding at which the blocks start
  uint y_at;      // element at which the weights do
  uint groups_x;  // workgroups in a row of the grid
} launch;
#include "format.glsl"

uint without_payload(float value) {
  uint bits = floatBitsToUint(value);
  return (bits & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FC00000u : bits;
}

#if LW_KIND != LW_FORMAT_FLOAT
#define LW_LANE_ROWS 1
#include "blocks.glsl"
float product(float a, float b) {
  precise float both = a * b;
  return both;
}
#endif

void main() {
  uint index = (gl_WorkGroupID.y * launch.groups_x + gl_WorkGroupID.x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (index >= launch.count) return;
#if LW_KIND == LW_FORMAT_FLOAT
  uint at = launch.w_at + index * uint(LW_BLOCK_BYTES);
  uint raw = w_words[at >> 2u];
#if LW_BLOCK_BYTES == 2
  raw = (raw >> (8u * (at & 2u))) & 0xFFFFu;
#endif
  y_words[launch.y_at + index] = without_payload(LW_value(raw));
#else
  find_row(0u, 0u, launch.w_at, 0u, 0u);
  uint block = index / uint(LW_ELEMENTS / 4);
  uint quad = index % uint(LW_ELEMENTS / 4);
  uint codes = load_quad(0u, block, quad);
  uint dgroup = 4u * quad / LW_DGROUP;
#if LW_KIND == LW_FORMAT_EXP
  int exponent = LW_exponent(d_field(0u, block, dgroup));
#else
  float scale = product(LW_d(d_field(0u, block, dgroup)), float(LW_sc(sc_field(0u, block, 4u * quad / LW_GROUP))));
#endif
#if LW_HAS_MIN
  float low = product(LW_m(m_field(0u, block, dgroup)), float(LW_mn(mn_field(0u, block, 4u * quad / LW_GROUP))));
#endif
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    int code = lw_sign_extend8(codes >> (8u * i));
#if LW_KIND == LW_FORMAT_EXP
    float value = lw_code_times_power(code, exponent);
#else
    precise float value = product(scale, float(code));
#if LW_HAS_MIN
    value = value + low;
#endif
#endif
    y_words[launch.y_at + 4u * index + i] = without_payload(value);
  }
#endif
}
