// What all products share: how they are specialised, what they are bound to and told, and the arithmetic's steps. Each
// float operation here is rounded once, in the order written: `precise` keeps drivers from joining or reordering them.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint SLOTS = 1u;      // tokens of the slice that there is room for: 1, 4 or 8
layout(constant_id = 2) const uint PLANES = 2u;     // of x
layout(constant_id = 3) const uint COLUMNS = 2u;    // SLOTS * PLANES
layout(constant_id = 4) const uint PARTIALS = 256u; // chains of a workgroup that meet at once: local_size_x * MEET
layout(constant_id = 5) const uint LANE_ROWS = 1u;  // of an invocation
layout(constant_id = 6) const uint SUMS = 2u;       // LANE_ROWS * COLUMNS
layout(constant_id = 7) const uint OUTPUTS = 1u;    // LANE_ROWS * SLOTS
layout(constant_id = 8) const uint MINS = 1u;       // OUTPUTS, of three planes OUTPUTS * 3
const uint MEET = OUTPUTS < 8u ? OUTPUTS : 8u;      // outputs whose chains meet at once
layout(constant_id = 9) const uint COPIES = 1u;     // of a table in shared memory

layout(std430, set = 0, binding = 0) readonly restrict buffer Weights { uint w_words[]; };
layout(std430, set = 0, binding = 1) readonly restrict buffer XQuads { uvec4 x_quads[]; };  // the slice, as quads of codes
layout(std430, set = 0, binding = 2) readonly restrict buffer XWords { uint x_words[]; };   // the same, as words
layout(std430, set = 0, binding = 3) restrict buffer Outputs { uint y_words[]; };
layout(std430, set = 0, binding = 4) readonly restrict buffer Grid { uint grid_words[]; };

layout(std430, set = 0, binding = 5) readonly restrict buffer Route { uint route_words[]; };  // see route.comp

layout(push_constant) uniform Launch {
  uint rows;
  uint cols;        // K
  uint blocks;      // super-blocks of K
  uint row_bytes;   // of a row in GGUF's bytes
  uint w_at;        // byte of the binding at which W starts
  uint y_at;        // element of the binding at which y starts
  uint y_stride;    // elements from a token's y to the next's
  uint dtype;       // of y: 0 fp32, 1 fp16, 2 bf16
  uint tokens;      // 1..SLOTS
  uint groups_x;    // workgroups in a row of the grid
  uint sums16_at;   // arrays of the slice of x, in words (backends/gpu/image.h)
  uint sums32_at;
  uint powers_at;
  uint exponents_at;
  uint poisoned_at;
  uint xq_at;       // of the weights' format
  uint used;        // experts a token; 0: this is no product with experts
  uint expert;      // that W is
  uint route_at;    // word of the binding
  uint eighths;     // of a row that a workgroup has: 8, or fewer where rows are split among workgroups (z of the grid)
  uint lane_bits;   // of a workgroup's 2^lane_bits invocations side by side, which have a chain of neighbouring rows
} launch;

uint group_index() { return gl_WorkGroupID.y * launch.groups_x + gl_WorkGroupID.x; }

float add(float a, float b) {
  precise float sum = a + b;
  return sum;
}
float multiply(float a, float b) {
  precise float product = a * b;
  return product;
}

// The super-blocks of an eighth: those b with floor(8 * b / blocks) == g.
uint eighth_begin(uint g) { return (g * launch.blocks + 7u) / 8u; }

// y from the eighths, as bits: -0 becomes +0, every NaN the canonical one.
uint fold_eighths(float r0, float r1, float r2, float r3, float r4, float r5, float r6, float r7) {
  uint bits = floatBitsToUint(add(add(add(r0, r1), add(r2, r3)), add(add(r4, r5), add(r6, r7))));
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) bits = 0x7FC00000u;
  return bits == 0x80000000u ? 0u : bits;
}

// fp32 to fp16 and bf16, ties to even, by integer operations; subnormals are kept, what is too large becomes infinite.
uint to_half(uint bits) {
  uint sign = (bits >> 16u) & 0x8000u;
  uint magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return 0x7E00u;
  if (magnitude >= 0x477FF000u) return sign | 0x7C00u;  // 65520: half way to 2^16
  if (magnitude < 0x33000000u) return sign;             // below 2^-25
  uint exponent = magnitude >> 23u;
  uint significand = (magnitude & 0x7FFFFFu) | 0x800000u;
  uint shift = exponent < 113u ? 126u - exponent : 13u;
  uint whole = significand >> shift;
  uint rest = significand & ((1u << shift) - 1u);
  uint middle = 1u << (shift - 1u);
  if (rest > middle || (rest == middle && (whole & 1u) != 0u)) ++whole;
  // A carry out of the significand raises the exponent, as it should.
  return sign | (exponent < 113u ? whole : whole + ((exponent - 113u) << 10u));
}
uint to_bfloat(uint bits) {
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FC0u;
  return (bits + 0x7FFFu + ((bits >> 16u) & 1u)) >> 16u;
}

// Whether the product is to be computed: of an expert, whether a token of the slice has it, and all ids are sound.
bool is_asked() {
  if (launch.used == 0u) return true;
  if (route_words[launch.route_at] != 0u) return false;
  bool asked = false;
  for (uint i = 1u; i <= launch.tokens * launch.used; ++i) {
    asked = asked || route_words[launch.route_at + i] == launch.expert;
  }
  return asked;
}

// Two elements of 16 bits share a word, and may be two invocations': each changes its own half alone.
void store_element(uint at, uint bits) {
  if (launch.dtype == 0u) {
    y_words[at] = bits;
    return;
  }
  uint value = launch.dtype == 1u ? to_half(bits) : to_bfloat(bits);
  uint shift = (at & 1u) * 16u;
  atomicAnd(y_words[at >> 1u], ~(0xFFFFu << shift));
  atomicOr(y_words[at >> 1u], value << shift);
}

// Where rows are split, `y` is the place where their eighths meet: [eighth][token][row].
void store_eighth(uint g, uint token, uint row, float sum) {
  y_words[launch.y_at + (g * SLOTS + token) * launch.rows + row] = floatBitsToUint(sum);
}

void store_output(uint row, uint token, uint bits) {
  if (x_words[launch.poisoned_at + token] != 0u) bits = 0x7FC00000u;
  if (launch.used == 0u) store_element(launch.y_at + token * launch.y_stride + row, bits);
  for (uint i = token * launch.used; i < (token + 1u) * launch.used; ++i) {
    if (route_words[launch.route_at + 1u + i] != launch.expert) continue;
    store_element(launch.y_at + i * launch.y_stride + row, bits);
  }
}
