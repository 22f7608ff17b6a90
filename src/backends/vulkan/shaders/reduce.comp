#version 450
// y of rows that were split among workgroups, from their eighths: [eighth][token][row], an invocation an output.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "machine.glsl"

void main() {
  uint i = group_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (i >= launch.rows * launch.tokens || !is_asked()) return;
  float r[8];
  [[unroll]] for (uint g = 0u; g < 8u; ++g) {
    r[g] = uintBitsToFloat(w_words[(launch.w_at >> 2u) + g * SLOTS * launch.rows + i]);
  }
  store_output(i % launch.rows, i / launch.rows, fold_eighths(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]));
}
