// The scalar kernel: the text that defines the bits of y = W * x for every format. Everything else is compared with it
// by memcmp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "arithmetic/activation.h"
#include "arithmetic/canonical.h"
#include "formats/matrix_view.h"

namespace lanewise {

/// Rows row_begin .. row_end-1 of y = W * x for every output of `y`; x.cols() equals w.cols, a multiple of the format's
/// block. Allocates nothing; the host's rounding mode and flush-to-zero settings change nothing. Inputs are as checked
/// by the caller: this has no errors.
void gemv_scalar(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t row_begin,
                 std::uint64_t row_end);

/// One addition to an accumulator, with what led to it.
struct TraceStep {
  std::uint64_t k;                   ///< first element of the d-group (quantised) or the element (float)
  std::uint32_t g, v;                ///< the accumulator
  bool is_min;                       ///< the m * F(M) addition of a format with a min
  std::array<std::int32_t, 3> sums;  ///< J_p or M_p, lowest plane first (quantised)
  float value;                       ///< F(J) or F(M); xq for a float format
  float scale;                       ///< d or m; the weight for a float format; 2^(E-128+e) for an EXP format
  float term;                        ///< what is added
  float accumulator;                 ///< after the addition
};

/// Every stage of one output, as `gemv_scalar` takes it.
struct Trace {
  bool poisoned = false;
  std::vector<std::int32_t> exponents;  ///< e, one a super-block
  std::vector<std::int32_t> q;          ///< the planes joined, one an element (empty for a float format)
  std::vector<float> xq;                ///< the float image, one an element (empty for a quantised format)
  std::vector<TraceStep> steps;
  std::array<float, eighths> eighth_sums{};  ///< r
  float y = 0;
};

/// The image of x that a float format reads.
Image float_image(Format format);

Trace trace_scalar(const MatrixView& w, const Activation& x, std::uint64_t row, std::uint64_t token);

}  // namespace lanewise
