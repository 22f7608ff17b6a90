// The float formats' kernels: one row at a time, a vector along it. One entry a target and format.
#pragma once

#include <cstdint>

namespace lanewise {

struct MatrixView;
class Activation;
struct OutputView;

inline constexpr int most_float_tokens = 4;

/// One row times up to four tokens.
struct FloatsCall {
  const std::uint8_t* row;
  std::uint64_t cols;
  const float* x[most_float_tokens];  ///< each padded to whole super-blocks with zeros
  float y[most_float_tokens];
};
using FloatsRow = void (*)(FloatsCall& call);

struct FloatKernels {
  FloatsRow row[3];  ///< 1, 2 and 4 tokens
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
