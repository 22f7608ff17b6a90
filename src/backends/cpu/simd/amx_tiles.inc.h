// Tiles of AMX: eight registers of up to 16 rows of 64 bytes, and the product that adds, for each row of A and column
// of B, the dot products of four bytes. Written as assembly: the compilers' own words for it don't say what they read,
// so that products were moved before the stores of what they multiply. Every one keeps its place in the program.
//
// With LW_EMULATED_TILES the same in plain C++, for the tests: a machine that has AVX-512 alone shows what the kernels
// do on one that has AMX too.

namespace lanewise::LW_TARGET {

/// Both 16-bit halves of each lane, times.
LW_AI Word halves_times(Word a, Word b) { return _mm512_mullo_epi16(a.raw(), b.raw()); }
LW_AI Word halves_left8(Word a) { return _mm512_slli_epi16(a.raw(), 8); }
LW_AI Word halves_right8(Word a) { return _mm512_srli_epi16(a.raw(), 8); }
/// Unsigned bytes times signed ones, two neighbours added, in 16 bits.
LW_AI Word byte_products(Word a, Word b) { return _mm512_maddubs_epi16(a.raw(), b.raw()); }
/// Each byte, or its negative where the other's top bit says so.
LW_AI Word negate_where(Word signs, Word bytes) {
  return _mm512_mask_sub_epi8(bytes.raw(), _mm512_movepi8_mask(signs.raw()), _mm512_setzero_si512(), bytes.raw());
}
LW_AI Word bytes_less(Word a, Word b) { return _mm512_sub_epi8(a.raw(), b.raw()); }

/// Rows and bytes a row of each register.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
  constexpr void set(int tile, int count, int bytes) {
    rows[tile] = (std::uint8_t)count;
    row_bytes[tile] = (std::uint16_t)bytes;
  }
};

#if LW_EMULATED_TILES
struct Emulated {
  TileShapes shapes;
  std::uint8_t tile[8][16][64];
};
inline thread_local Emulated emulated;

inline void tiles_begin(const TileShapes& shapes) { emulated.shapes = shapes; }
inline void tiles_end() { emulated.shapes = TileShapes(); }
template <int Tile>
void tile_zero() {
  __builtin_memset(emulated.tile[Tile], 0, sizeof emulated.tile[Tile]);
}
template <int Tile>
void tile_load(const void* at, std::ptrdiff_t stride) {
  tile_zero<Tile>();
  for (int r = 0; r < emulated.shapes.rows[Tile]; ++r) {
    __builtin_memcpy(emulated.tile[Tile][r], (const char*)at + r * stride, emulated.shapes.row_bytes[Tile]);
  }
}
template <int Tile>
void tile_store(void* at, std::ptrdiff_t stride) {
  for (int r = 0; r < emulated.shapes.rows[Tile]; ++r) {
    __builtin_memcpy((char*)at + r * stride, emulated.tile[Tile][r], emulated.shapes.row_bytes[Tile]);
  }
}
/// C += A's signed bytes times B's, unsigned or signed.
template <int C, int A, int B, bool Unsigned>
void tile_products() {
  const TileShapes& shapes = emulated.shapes;
  // Shapes that don't fit each other are a fault of the instruction.
  if (shapes.rows[C] != shapes.rows[A] || shapes.row_bytes[C] != shapes.row_bytes[B] ||
      shapes.row_bytes[A] != 4 * shapes.rows[B]) {
    __builtin_trap();
  }
  for (int m = 0; m < shapes.rows[C]; ++m) {
    for (int n = 0; n < shapes.row_bytes[C] / 4; ++n) {
      std::int32_t sum;
      __builtin_memcpy(&sum, emulated.tile[C][m] + 4 * n, 4);
      for (int k = 0; k < shapes.row_bytes[A]; ++k) {
        const std::uint8_t code = emulated.tile[B][k / 4][4 * n + k % 4];
        sum += (std::int8_t)emulated.tile[A][m][k] * (Unsigned ? (int)code : (int)(std::int8_t)code);
      }
      __builtin_memcpy(emulated.tile[C][m] + 4 * n, &sum, 4);
    }
  }
}
#else
LW_AI void tiles_begin(const TileShapes& shapes) { asm volatile("ldtilecfg %0" : : "m"(shapes) : "memory"); }
LW_AI void tiles_end() { asm volatile("tilerelease" : : : "memory"); }
template <int Tile>
LW_AI void tile_zero() {
  asm volatile("tilezero %%tmm%c0" : : "i"(Tile) : "memory");
}
template <int Tile>
LW_AI void tile_load(const void* at, std::ptrdiff_t stride) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(Tile), "r"(at), "r"(stride) : "memory");
}
template <int Tile>
LW_AI void tile_store(void* at, std::ptrdiff_t stride) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(Tile), "r"(at), "r"(stride) : "memory");
}
template <int C, int A, int B, bool Unsigned>
LW_AI void tile_products() {
  if constexpr (Unsigned) {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B) : "memory");
  } else {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B) : "memory");
  }
}
#endif

}  // namespace lanewise::LW_TARGET
