#include "arithmetic/scalar.h"

#include <algorithm>

#include "arithmetic/scalar_steps.h"
#include "base/float_env.h"
#include "base/half.h"

namespace lanewise {
namespace {

template <class T>
LW_NOINLINE void gemv_rows(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t row_begin,
                           std::uint64_t row_end) {
  scalar::Nobody nobody;
  const std::uint64_t stride = w.row_bytes();
  for (std::uint64_t r = row_begin; r < row_end; ++r) {
    const std::uint8_t* row = w.data + r * stride;
    if constexpr (T::info.is_float()) {
      for (std::uint64_t t = 0; t < x.tokens(); ++t) {
        store_output(y, t, r, scalar::float_row<T>(row, x.floats(scalar::float_image<T>(), t), x.cols(), nobody));
      }
    } else {
      for (std::uint64_t t = 0; t < x.tokens(); t += scalar::window) {
        const std::uint64_t count = std::min(scalar::window, x.tokens() - t);
        std::array<float, scalar::window> values{};
        scalar::code_row<T>(row, x, t, count, values.data(), nobody);
        for (std::uint64_t i = 0; i < count; ++i) store_output(y, t + i, r, values[i]);
      }
    }
  }
}

}  // namespace

void gemv_scalar(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t row_begin,
                 std::uint64_t row_end) {
  const FloatEnvironment environment;
  with_format(w.format, [&]<class T>(T) { gemv_rows<T>(w, x, y, row_begin, row_end); });
}

void store_output(const OutputView& y, std::uint64_t token, std::uint64_t row, float value) {
  const std::uint64_t at = token * y.stride + row;
  switch (y.dtype) {
    case Dtype::f32:
      static_cast<float*>(y.data)[at] = value;
      return;
    case Dtype::f16:
      static_cast<std::uint16_t*>(y.data)[at] = float_to_half(value);
      return;
    case Dtype::bf16:
      static_cast<std::uint16_t*>(y.data)[at] = float_to_bfloat(value);
      return;
  }
}

}  // namespace lanewise
