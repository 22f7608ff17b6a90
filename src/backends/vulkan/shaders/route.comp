#version 450
// The ids of a product with experts, checked and laid beside each slice: word 0 of a slice's route is 1 where any id of
// the call is that of no expert, then stand the slice's ids. One workgroup: a few thousand ids at most.
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 2) readonly restrict buffer Ids { uint x_words[]; };
layout(std430, set = 0, binding = 3) writeonly restrict buffer Routes { uint y_words[]; };
layout(push_constant) uniform Launch {
  uint tokens;
  uint used;     // ids a token
  uint experts;
  uint ids_at;   // word of the binding
  uint routes_at;
  uint stride;   // words from a slice's route to the next's
} launch;

shared uint bad;

void main() {
  uint all = launch.tokens * launch.used;
  if (gl_LocalInvocationID.x == 0u) bad = 0u;
  barrier();
  for (uint i = gl_LocalInvocationID.x; i < all; i += 64u) {
    uint id = x_words[launch.ids_at + i];
    if (id >= launch.experts) atomicOr(bad, 1u);
    uint slice = i / (8u * launch.used);
    y_words[launch.routes_at + slice * launch.stride + 1u + i % (8u * launch.used)] = id;
  }
  barrier();
  for (uint slice = gl_LocalInvocationID.x; slice * 8u < launch.tokens; slice += 64u) {
    y_words[launch.routes_at + slice * launch.stride] = bad;
  }
}
