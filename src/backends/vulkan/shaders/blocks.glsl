// How a word of a block is read, at any byte of it: LW_ROWS16 defined, from the layout rows16, where the words of sixteen
// rows stand side by side; otherwise from GGUF's own bytes. Fields are read by the parts that the decode file names.

// uint w_words[], format.glsl and LW_LANE_ROWS, the rows that an invocation has, come before.
uint row_at[LW_LANE_ROWS];     // raw: the byte at which a row starts; rows16: its word in the tile's first sixteen
uint beside_at[LW_LANE_ROWS];  // rows16: the byte where its first bytes beside words would stand, were there no words
uint blocks_of_row;            // rows16

#if defined(LW_ROWS16)
// Four bytes of each block stand in words, from byte `lead` on; bytes % 4 beside them: see layout/rows16.h.
#define LW_WORDS (LW_BLOCK_BYTES / 4u)
#define LW_BESIDE (LW_BLOCK_BYTES % 4u)
#define LW_LEAD (LW_quad_part(0u, 0u).byte % 4u)

// Blocks whose words stand together, the bytes beside them behind: a power of two.
#if LW_BLOCK_BYTES % 4 * (256 / LW_ELEMENTS) % 4 == 0
#define LW_RUN (256u / LW_ELEMENTS)
#else
#define LW_RUN (512u / LW_ELEMENTS)
#endif

void find_row(uint r, uint row, uint base, uint row_bytes, uint row_blocks) {
  uint tile = base + (row / 16u) * 16u * row_bytes;
  row_at[r] = tile / 4u + row % 16u;
  beside_at[r] = tile + row % 16u * LW_BESIDE;
  blocks_of_row = row_blocks;
}
uint tile_word(uint r, uint block, uint index) {
  uint beside_words = block / LW_RUN * (LW_RUN * LW_BESIDE * 4u);
  return w_words[row_at[r] + (block * LW_WORDS + index) * 16u + beside_words];
}
uint beside(uint r, uint block) {
  // Behind the words of its run, which is shorter at the end of a row.
  uint words_before = min((block / LW_RUN + 1u) * LW_RUN, blocks_of_row) * LW_WORDS;
  uint at = beside_at[r] + words_before * 64u + block * 16u * LW_BESIDE;
  return (w_words[at >> 2u] >> (8u * (at & 3u))) & ((1u << (8u * LW_BESIDE)) - 1u);
}
uint load_word(uint r, uint block, uint byte) {
#if LW_BLOCK_BYTES % 4 != 0
  if (byte < LW_LEAD) return (beside(r, block) >> (8u * byte)) | (tile_word(r, block, 0u) << (8u * (LW_LEAD - byte)));
#endif
  uint at = byte - LW_LEAD;
  uint index = at >> 2u;
  uint shift = 8u * (at & 3u);
  uint low = tile_word(r, block, index);
  if (shift == 0u) return low;
#if LW_BLOCK_BYTES % 4 != 0
  uint high = index + 1u < LW_WORDS ? tile_word(r, block, index + 1u) : beside(r, block);
#else
  uint high = tile_word(r, block, index + 1u);
#endif
  return (low >> shift) | (high << (32u - shift));
}
#else
void find_row(uint r, uint row, uint base, uint row_bytes, uint row_blocks) { row_at[r] = base + row * row_bytes; }
uint load_word(uint r, uint block, uint byte) {
  uint at = row_at[r] + block * LW_BLOCK_BYTES + byte;
  uint index = at >> 2u;
  uint shift = 8u * (at & 3u);
  uint low = w_words[index];
  // The second word only where the first isn't all: nothing past a block is read.
  uint high = w_words[index + (shift != 0u ? 1u : 0u)];
  return (low >> shift) | ((high << (31u - shift)) << 1u);
}
#endif

uint load_part(uint r, uint block, LwPart part) { return (load_word(r, block, part.byte) >> part.shift) & part.mask; }

#define LW_FIELD(role, ROLE)                                   \
  uint role##_field(uint r, uint block, uint index) {          \
    uint raw = 0u;                                             \
    uint width = 0u;                                           \
    [[unroll]] for (uint i = 0u; i < uint(ROLE); ++i) {        \
      LwPart part = LW_##role##_part(index, i);                \
      if (part.mask == 0u) continue;                           \
      raw |= load_part(r, block, part) << width;               \
      width += uint(bitCount(part.mask));                      \
    }                                                          \
    return raw;                                                \
  }
LW_FIELD(sc, LW_SC_PARTS)
LW_FIELD(mn, LW_MN_PARTS)
LW_FIELD(d, LW_D_PARTS)
LW_FIELD(m, LW_M_PARTS)

uint load_quad(uint r, uint block, uint quad) {
  uint p0 = load_part(r, block, LW_quad_part(quad, 0u));
  uint p1 = LW_QUAD_PARTS > 1 ? load_part(r, block, LW_quad_part(quad, 1u)) : 0u;
  uint p2 = LW_QUAD_PARTS > 2 ? load_part(r, block, LW_quad_part(quad, 2u)) : 0u;
  return LW_quad(quad, p0, p1, p2);
}
