// The float formats' kernels: along a row, a vector of it at a time. One entry a target and format.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lanewise {

struct MatrixView;
class Activation;
struct OutputView;

inline constexpr int most_float_tokens = 4;
inline constexpr int most_float_rows = 16;

/// Some rows times up to four tokens, eighth by eighth of K.
struct FloatsCall {
  const std::uint8_t* rows;
  std::uint64_t row_bytes;
  std::uint32_t count;                                ///< of rows
  const float* x[most_float_tokens];                  ///< each padded to whole super-blocks with zeros
  const std::uint64_t* bounds;                        ///< eighth g: elements bounds[g] to bounds[g + 1]
  std::uint32_t first, last;                          ///< the eighths from `first` to before `last`
  std::ptrdiff_t far, near;                           ///< what to prefetch, from where it reads
  float (*sums)[most_float_tokens][most_float_rows];  ///< of eighth g, token t and row r at [g][t][r]
};
using FloatsRows = void (*)(const FloatsCall& call);

struct FloatKernels {
  FloatsRows rows[3];             ///< 1, 2 and 4 tokens
  std::uint32_t side_by_side[3];  ///< of 1, 2 and 4 tokens: rows that it walks together
};

/// A kernel of kernels.def (see CpuLaunch), on GGUF's rows.
#define LW_LAUNCH_CODES(target)
#define LW_LAUNCH_FLOATS(target)                                                                                    \
  void gemv_floats_##target(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t row_begin, \
                            std::uint64_t row_end);
#define LW_TARGET_ROW(target, architecture, floats, flags) LW_LAUNCH_##floats(target)
#include "backends/cpu/targets.def"
#undef LW_TARGET_ROW
#undef LW_LAUNCH_FLOATS
#undef LW_LAUNCH_CODES

}  // namespace lanewise
