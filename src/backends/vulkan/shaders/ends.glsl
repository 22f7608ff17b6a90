// How products take the last step of a quad (LW_..._QUAD_ENDS) elsewhere: an offset of all codes is left out and made up
// for by the sums of x; codes of a table of sixteen are looked up two at a time in shared memory, where a kernel has room.

// machine.glsl and format.glsl come before, with LW_ENDS_ELSEWHERE.
uint lw_bytes_add(uint a, uint b) {
#if LW_OFFSET != 0
  return a;
#else
  return ((a & 0x7F7F7F7Fu) + (b & 0x7F7F7F7Fu)) ^ ((a ^ b) & 0x80808080u);
#endif
}

#if LW_BY_TABLE && defined(LW_FLAT)
// Entry i: the codes of nibbles i % 16 and i / 16. In as many copies as there are banks, where there is room: one a lane,
// so that lanes that look up different entries don't wait for each other.
shared uint pairs[256u * COPIES];
bool is_filled = false;

uint table16_one(uint n, uint t0, uint t1, uint t2, uint t3) {
  uint low = (n & 4u) != 0u ? t1 : t0;
  uint high = (n & 4u) != 0u ? t3 : t2;
  return (((n & 8u) != 0u ? high : low) >> (8u * (n & 3u))) & 255u;
}
uint lw_table16(uint n, uint t0, uint t1, uint t2, uint t3) {
  if (!is_filled) return table16_one(n & 15u, t0, t1, t2, t3) | (table16_one((n >> 8u) & 15u, t0, t1, t2, t3) << 8u);
  uint both = n | (n >> 4u);
  uint copy = gl_LocalInvocationID.x % COPIES;
  return pairs[(both & 255u) * COPIES + copy] | (pairs[((both >> 16u) & 255u) * COPIES + copy] << 16u);
}
void fill_table() {
  for (uint i = gl_LocalInvocationID.x; i < 256u * COPIES; i += gl_WorkGroupSize.x) {
    uint entry = i / COPIES;
    pairs[i] = LW_quad(0u, (entry & 15u) | ((entry >> 4u) << 8u), 0u, 0u);
  }
  barrier();
  is_filled = true;
}
#else
void fill_table() {}
#endif
