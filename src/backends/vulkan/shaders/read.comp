#version 450
// Reads memory and does nothing else: how fast any product over the same bytes could be. Groups of 16 bytes, `UNROLL` of
// them in flight an invocation.
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint UNROLL = 4u;
layout(std430, set = 0, binding = 1) readonly restrict buffer From { uvec4 x_quads[]; };
layout(std430, set = 0, binding = 3) writeonly restrict buffer Sink { uint y_words[]; };
layout(push_constant) uniform Launch {
  uint groups;    // of 16 bytes
  uint from_at;   // the first
  uint never;     // what no sum is, as far as chance allows: the sink is hardly ever written
  uint threads;   // invocations of the dispatch
} launch;

void main() {
  uint index = gl_GlobalInvocationID.x;
  uint sum = 0u;
  uint i = index;
  for (; i + (UNROLL - 1u) * launch.threads < launch.groups; i += UNROLL * launch.threads) {
    uvec4 found[UNROLL];
    [[unroll]] for (uint j = 0u; j < UNROLL; ++j) found[j] = x_quads[launch.from_at + i + j * launch.threads];
    [[unroll]] for (uint j = 0u; j < UNROLL; ++j) sum ^= found[j].x ^ found[j].y ^ found[j].z ^ found[j].w;
  }
  for (; i < launch.groups; i += launch.threads) {
    uvec4 found = x_quads[launch.from_at + i];
    sum ^= found.x ^ found.y ^ found.z ^ found.w;
  }
  if (sum == launch.never) y_words[0] = sum;
}
