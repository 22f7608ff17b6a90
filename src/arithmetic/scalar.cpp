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
  const std::uint64_t outputs = y.count(x.tokens());
  for (std::uint64_t r = row_begin; r < row_end; ++r) {
    const std::uint8_t* row = w.data + r * stride;
    if constexpr (T::info.is_float()) {
      for (std::uint64_t i = 0; i < outputs; ++i) {
        const OutputSlot slot = y.slot(i);
        const FloatToken token = x.floats(scalar::float_image<T>(), slot.token);
        store_output(y, slot.vector, r, scalar::float_row<T>(row, token, x.cols(), nobody));
      }
    } else {
      for (std::uint64_t i = 0; i < outputs; i += scalar::window) {
        const std::uint64_t count = std::min(scalar::window, outputs - i);
        std::array<NaturalToken, scalar::window> tokens{};
        std::array<float, scalar::window> values{};
        for (std::uint64_t j = 0; j < count; ++j) tokens[j] = x.natural(y.slot(i + j).token);
        scalar::code_row<T>(row, x, tokens.data(), count, values.data(), nobody);
        for (std::uint64_t j = 0; j < count; ++j) store_output(y, y.slot(i + j).vector, r, values[j]);
      }
    }
  }
}

}  // namespace

Image float_image(Format format) {
  return with_format(format, []<class T>(T) {
    if constexpr (T::info.is_float()) return scalar::float_image<T>();
    return Image::natural;
  });
}

void gemv_scalar(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t row_begin,
                 std::uint64_t row_end) {
  const FloatEnvironment environment;
  with_format(w.format, [&]<class T>(T) { gemv_rows<T>(w, x, y, row_begin, row_end); });
}

void store_output(const OutputView& y, std::uint64_t vector, std::uint64_t row, float value) {
  const std::uint64_t at = vector * y.stride + row;
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
