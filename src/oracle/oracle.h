// The independent oracle: a second implementation of the GGUF weight formats and of the Lanewise
// arithmetic, version 1, written from their two descriptions alone. It judges the product, so it shares no
// header, table or code with it, and it prefers the literal reading of a definition to speed.
#pragma once

#include <cstdint>
#include <vector>

namespace lanewise::oracle {

inline constexpr int kSuperBlock = 256;  // elements that share one activation exponent
inline constexpr int kEighths = 8;       // contiguous parts of K, each with accumulators of its own
inline constexpr int kFormatCount = 28;  // 25 quantised formats, F32, F16, BF16

// ---- formats -----------------------------------------------------------------------------------------

struct Facts {
  const char* name;
  int id;  // the ggml id
  int block_elements;
  int block_bytes;
  int group;   // elements that share sub_scale (and sub_min)
  int dgroup;  // elements that share d (and m)
  bool has_min;
  bool is_float;
  bool exponent_scale;  // d is a bare power of two (MXFP4)
};

// Null for an id that is not a weight format.
const Facts* facts(int ggml_id);
// All kFormatCount formats, by ascending id.
const Facts* all_facts();
// Bytes of a row; -1 for an unknown id or when cols is not a positive multiple of the block.
std::int64_t row_bytes(int id, std::int64_t cols);

// ---- decoding ----------------------------------------------------------------------------------------

// One element: weight = d * sub_scale * code (+ m * sub_min). Float formats hold the weight in d, with
// code and sub_scale 1. Formats without a min have m and sub_min 0.
struct Element {
  int code;
  int sub_scale;
  int sub_min;
  double d;
  double m;
};

// `row` is the first byte of a row and `k` the element inside it. The id must be known.
Element element(int id, const std::uint8_t* row, std::int64_t k);
// The exact real value (no weight of any format needs more than 53 bits).
double weight(int id, const std::uint8_t* row, std::int64_t k);
// The fp32 value that the references give: the exact sum rounded once, any NaN as 0x7FC00000.
float dequantized(int id, const std::uint8_t* row, std::int64_t k);
void dequantize_row(int id, const std::uint8_t* row, std::int64_t cols, float* out);

// ---- number formats ----------------------------------------------------------------------------------

// Exact widening and once-rounded narrowing by integer operations, whatever the floating-point environment.
double fp16_value(std::uint16_t bits);
double bf16_value(std::uint16_t bits);
double fp32_value(std::uint32_t bits);
float round_to_fp32(double value);
std::uint16_t round_to_fp16(float value);
std::uint16_t round_to_bf16(float value);

// ---- activations -------------------------------------------------------------------------------------

enum class Input { fp32, fp16, bf16 };

struct Activation {
  int plane_count = 0;  // 1 = x8, 2 = x16, 3 = x24
  std::int64_t tokens = 0;
  std::int64_t cols = 0;
  std::int64_t blocks = 0;             // super-blocks a token
  std::vector<double> x;               // [tokens][cols], widened
  std::vector<std::uint8_t> poisoned;  // [tokens]: holds a NaN, an infinity or an |x| >= 2^64
  std::vector<int> e;                  // [tokens][blocks] for plane_count; -80 in a poisoned token
  std::vector<std::int32_t> q;         // [tokens][cols]; 0 in a poisoned token
  std::vector<std::int8_t> planes;     // [plane_count][tokens][cols], lowest plane first
  std::vector<int> e16;                // [tokens][blocks]: the e of x16, for F16 and BF16 weights
  std::vector<int> e24;                // [tokens][blocks]: the e of x24, for F32 weights
};

// The largest |q| allowed: 127, 32512, 8355711.
std::int32_t activation_limit(int plane_count);
// The smallest integer, not below -80, with rint(amax * 2^-e) <= limit.
int activation_exponent(double amax, std::int32_t limit);
// `x` is [tokens][cols] of the given type. cols > 0; a format's block must divide it where it is used.
Activation activate(const void* x, Input type, std::int64_t tokens, std::int64_t cols, int plane_count);

// ---- the product -------------------------------------------------------------------------------------

// What the integer sums reached: version 1 promises that every |J_p| and |M_p| is below 2^31.
struct SumRange {
  std::int64_t largest = 0;
  bool fits = true;
};

// F of a sum held in planes, lowest plane first.
float joined(const std::int64_t* plane_sums, int plane_count);

// y is [tokens][rows]; only columns row_begin <= row < row_end of it are written. cols must be the
// activation's. Any NaN is written as 0x7FC00000.
SumRange gemv(int id, const std::uint8_t* w, std::int64_t rows, std::int64_t cols, const Activation& x, float* y,
              std::int64_t row_begin, std::int64_t row_end);
inline SumRange gemv(int id, const std::uint8_t* w, std::int64_t rows, std::int64_t cols, const Activation& x,
                     float* y) {
  return gemv(id, w, rows, cols, x, y, 0, rows);
}

// One addition to an accumulator.
struct Step {
  std::int64_t k;  // first element of the d-group; the element itself for float weights
  int g;           // eighth
  int v;           // accumulator inside the eighth
  bool is_min;     // the m * F(M) term
  float addend;
  float after;  // the accumulator's value after this step
};

struct Trace {
  bool poisoned = false;
  std::vector<int> e;               // [blocks]; e' for float weights
  std::vector<std::int32_t> q;      // [cols]; rint(x * 2^-e') for float weights
  std::vector<std::int8_t> planes;  // [plane_count][cols]; empty for float weights
  std::vector<std::int64_t> J;      // [dgroup][plane_count]
  std::vector<std::int64_t> M;      // [dgroup][plane_count], empty without a min
  std::vector<float> FJ;            // [dgroup]
  std::vector<float> FM;            // [dgroup], empty without a min
  std::vector<double> d;            // [dgroup]
  std::vector<double> m;            // [dgroup], empty without a min
  std::vector<Step> steps;          // in ascending k
  int accumulators = 0;             // an eighth: 4, or 64 for float weights
  std::vector<float> a;             // [8][accumulators]
  float r[kEighths] = {};
  float y = 0;
  SumRange sums;
};

// Every stage for one row and token.
Trace trace(int id, const std::uint8_t* row, std::int64_t cols, const Activation& x, std::int64_t token);

// ---- the float64 reference ---------------------------------------------------------------------------

struct Exact {
  double y;      // sum of w * x
  double terms;  // sum of |w * x|
  double bound;  // |gemv's y - y| is at most this; infinite where the inputs or the result are not finite
};

// The bound is derived per case (see exact.cpp) for the activation's plane count.
Exact exact(int id, const std::uint8_t* row, std::int64_t cols, const Activation& x, std::int64_t token);

}  // namespace lanewise::oracle
